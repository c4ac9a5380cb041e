//! What a person is told of a failure, and no secret.
//!
//! Invariant: nothing is shown that went through [`Secrets::clean`] and holds a header's value, a
//! password or the value of a query.

use std::fmt;

use url::Url;

pub(super) use crate::causes::{causes, excerpt, fix_of};
use crate::settings::{Confidential, Remote};

/// A shorter one is none, and stands in many a word.
const SHORTEST: usize = 6;

/// What must not stand in an error, though a server may say it. The longest come first.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(remote: &Remote) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        for value in remote.headers.values() {
            secrets.push(value.clone());
            // `Bearer x` is said as `x`, too.
            secrets.extend(value.split_whitespace().map(str::to_owned));
        }
        if let Ok(url) = Url::parse(&remote.url) {
            secrets.extend(url.password().map(str::to_owned));
            for (_, value) in url.query_pairs() {
                secrets.push(value.into_owned());
            }
            secrets.extend(
                url.query()
                    .into_iter()
                    .flat_map(|query| query.split('&'))
                    .filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())),
            );
        }
        secrets.extend(remote.network.passwords());
        secrets.retain(|secret| secret.len() >= SHORTEST && !secret.eq_ignore_ascii_case("bearer"));
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// The same for what is said in messages, and not in HTTP.
    pub(super) fn confidential(&self) -> Confidential {
        Confidential::of(self.0.clone())
    }

    pub(super) fn clean(&self, text: &str) -> String {
        let secrets = self.0.iter();
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Oauth;

    #[test]
    fn the_secrets_of_an_entry_are_struck_out_and_short_words_are_not() {
        let headers = [("Authorization", "Bearer t0ken-123"), ("X-Short", "on")];
        let remote = Remote {
            url: "https://me:p4ssw0rd@h/mcp?key=a%20secret&n=1".into(),
            written: String::new(),
            headers: headers.map(|(n, v)| (n.into(), v.into())).into(),
            transport: None,
            socket: None,
            network: Default::default(),
            oauth: Oauth::Off,
        };
        let secrets = Secrets::of(&remote);
        let said = "bearer Bearer t0ken-123 or t0ken-123, p4ssw0rd, a%20secret, a secret; 1 is on";
        assert_eq!(
            secrets.clean(said),
            "bearer *** or ***, ***, ***, ***; 1 is on"
        );
        assert!(!format!("{secrets:?}").contains("p4ss"));
    }
}
