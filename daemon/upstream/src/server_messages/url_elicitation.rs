//! The URLs that users were asked to open, until their server reports completion.
//!
//! Invariants: a client gets only web pages ([`page_of`]), in whatever way a server names them. Only the client that
//! was asked is notified. If there are too many, the oldest are forgotten.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use reqwest::Url;
use serde_json::Value;

use crate::calls::CallingClient;
use mux_caller::{CallCause, Caller, Mailbox};
use mux_text::sanitize;

const MAX_URL_ELICITATIONS: usize = 64;
/// The maximum length of a scheme in a message.
const MAX_SCHEME_CHARS: usize = 20;
/// The maximum length of an elicitation id in bytes. Longer ids are not kept.
const MAX_ELICITATION_ID_BYTES: usize = 1 << 10;

/// The reason a server's page is not opened.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PageRefusal {
    #[error("its page has no valid address")]
    Invalid,
    #[error("the address of its page begins with `{0}:`; only http and https are opened")]
    Scheme(String),
    #[error(
        "the address of its page has a user name before the host, like addresses that imitate others"
    )]
    UserInfo,
}

/// The page that an elicitation asks the user to open. `None` if it asks for something else.
pub(super) fn page_of(params: &Value) -> Option<Result<Url, PageRefusal>> {
    (params["mode"] == "url").then(|| page_address(params["url"].as_str().unwrap_or_default()))
}

/// Only web addresses reach a client, which may open anything it gets: http or https, a host, and nothing before the
/// host.
fn page_address(text: &str) -> Result<Url, PageRefusal> {
    let text = sanitize::clean(text);
    let page = Url::parse(text.trim()).map_err(|_| PageRefusal::Invalid)?;
    if !matches!(page.scheme(), "http" | "https") {
        let scheme = page.scheme().chars().take(MAX_SCHEME_CHARS).collect();
        return Err(PageRefusal::Scheme(scheme));
    }
    if !page.username().is_empty() || page.password().is_some() {
        return Err(PageRefusal::UserInfo);
    }
    match page.host_str() {
        Some(host) if !host.is_empty() => Ok(page),
        _ => Err(PageRefusal::Invalid),
    }
}

/// Removes the pages that are not opened from the error of a call that requires pages. Returns the reasons, each once.
pub(crate) fn remove_refused_pages(data: &mut Value) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(Value::Array(elicitations)) = data.get_mut("elicitations") {
        elicitations.retain_mut(|params| match page_of(params) {
            None => true,
            Some(Ok(page)) => {
                params["url"] = String::from(page).into();
                true
            }
            Some(Err(why)) => {
                let why = why.to_string();
                if !reasons.contains(&why) {
                    reasons.push(why);
                }
                false
            }
        });
    }
    reasons
}

#[derive(Debug, Default)]
pub(crate) struct UrlElicitations(Mutex<VecDeque<UrlElicitationEntry>>);

#[derive(Debug)]
struct UrlElicitationEntry {
    id: String,
    mailbox: Arc<Mailbox>,
    cause: CallCause,
}

impl UrlElicitations {
    /// Records a question if it is a URL elicitation. `params` are those of `elicitation/create`.
    pub(super) fn record_asked(&self, params: &Value, client: &CallingClient) {
        self.remember_elicitation(params, &client.mailbox, &client.caller.cause);
    }

    /// Records the URLs that a refused call requires. `data` is the error's.
    pub(crate) fn record_required(&self, data: &Value, caller: &Caller) {
        let Some(mailbox) = &caller.mailbox else {
            return;
        };
        for params in data["elicitations"].as_array().into_iter().flatten() {
            self.remember_elicitation(params, mailbox, &caller.cause);
        }
    }

    fn remember_elicitation(&self, params: &Value, mailbox: &Arc<Mailbox>, cause: &CallCause) {
        let id = params["elicitationId"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > MAX_ELICITATION_ID_BYTES || params["mode"] != "url" {
            return;
        }
        let mut entries = self.0.lock();
        if entries.len() == MAX_URL_ELICITATIONS {
            entries.pop_front();
        }
        entries.push_back(UrlElicitationEntry {
            id: id.to_owned(),
            mailbox: Arc::clone(mailbox),
            cause: cause.clone(),
        });
    }

    /// Removes the entry and returns the client that was asked.
    pub(super) fn take_completed(&self, id: &str) -> Option<(Arc<Mailbox>, CallCause)> {
        let mut entries = self.0.lock();
        let index = entries.iter().position(|entry| entry.id == id)?;
        let entry = entries.remove(index)?;
        Some((entry.mailbox, entry.cause))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mux_caller::ListChangeNotifier;

    #[test]
    fn only_pages_of_the_web_are_opened() {
        for (address, opened) in [
            ("https://example.com", Some("https://example.com/")),
            ("http://[::1]:8080/a?b#c", Some("http://[::1]:8080/a?b#c")),
            (" https://x.test/\u{202e}a", Some("https://x.test/a")),
            (
                "HTTPS://b\u{fc}cher.test",
                Some("https://xn--bcher-kva.test/"),
            ),
            ("https:\\\\evil.test\\a", Some("https://evil.test/a")),
            ("javascript:alert(1)", None),
            ("java\tscript:alert(1)", None),
            ("file:///etc/passwd", None),
            ("data:text/html,x", None),
            ("vscode://x", None),
            ("https://github.com@evil.test/login", None),
            ("https://:p@evil.test/", None),
            ("https://", None),
            ("//example.com", None),
            ("example.com", None),
            ("", None),
        ] {
            let params = json!({ "mode": "url", "url": address });
            let page = page_of(&params).unwrap().ok().map(String::from);
            assert_eq!(page.as_deref(), opened, "{address}");
        }
        assert_eq!(page_of(&json!({ "mode": "form", "url": "file:///" })), None);
        assert!(
            page_of(&json!({ "mode": "url", "url": 7 }))
                .unwrap()
                .is_err()
        );
    }

    #[test]
    fn required_pages_that_are_not_opened_are_removed() {
        let page = |url: &str| json!({ "mode": "url", "url": url });
        let mut data = json!({
            "elicitations": [page("https://a.test"), page("file:///"), page("file:///x"), {}],
            "other": 1,
        });
        let reasons = remove_refused_pages(&mut data);
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert!(reasons[0].contains("`file:`"), "{reasons:?}");
        let left = json!({ "elicitations": [page("https://a.test/"), {}], "other": 1 });
        assert_eq!(data, left);
        for mut other in [json!(null), json!([]), json!({ "elicitations": 1 })] {
            assert!(remove_refused_pages(&mut other).is_empty());
        }
    }

    #[test]
    fn completion_is_reported_once_to_the_client_that_was_asked() {
        let entries = UrlElicitations::default();
        let caller = Caller {
            mailbox: Some(Mailbox::new(
                7,
                Arc::default(),
                &ListChangeNotifier::default(),
            )),
            ..Caller::default()
        };
        let entry = |n: usize| json!({ "mode": "url", "url": "u", "elicitationId": n.to_string() });
        let form = json!({ "mode": "form", "elicitationId": "f" });
        let all: Vec<_> = (0..=MAX_URL_ELICITATIONS)
            .map(entry)
            .chain([form])
            .collect();
        entries.record_required(&json!({ "elicitations": all }), &caller);
        assert!(
            entries.take_completed("0").is_none(),
            "the oldest is forgotten"
        );
        assert!(entries.take_completed("f").is_none());
        assert_eq!(entries.take_completed("1").unwrap().0.connection(), 7);
        assert!(entries.take_completed("1").is_none());
    }
}
