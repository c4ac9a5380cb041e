//! Text that nobody may see: tokens, codes, secrets of clients.
//!
//! Invariant: it is shown as `…` wherever something is formatted, and `expose` stands only where a request
//! to its rightful reader or the file of tokens is written.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one who may read it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Takes it out of what a stranger wrote.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, "…"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_nowhere() {
        let secret = Secret::new("tok-123");
        assert_eq!(format!("{secret:?} {secret:#?}"), "Secret(…) Secret(…)");
        assert_eq!(secret.hidden_in("no tok-123 here"), "no … here");
        assert_eq!(Secret::new("").hidden_in("as it was"), "as it was");
    }
}
