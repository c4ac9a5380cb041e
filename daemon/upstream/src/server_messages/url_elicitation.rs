//! The URLs that users were asked to open, until their server reports completion.
//!
//! Invariant: only the client that was asked is notified; if there are too many, the oldest are forgotten.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::calls::CallingClient;
use mux_caller::{CallCause, Caller, Mailbox};

const MAX_URL_ELICITATIONS: usize = 64;
/// The maximum length of an elicitation id in bytes; a longer one is not kept.
const MAX_ELICITATION_ID_BYTES: usize = 1 << 10;

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
        let mut entries = self.entries();
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
        let mut entries = self.entries();
        let index = entries.iter().position(|entry| entry.id == id)?;
        let entry = entries.remove(index)?;
        Some((entry.mailbox, entry.cause))
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<UrlElicitationEntry>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mux_caller::ListChangeNotifier;

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
