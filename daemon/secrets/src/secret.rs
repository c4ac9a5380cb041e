//! A string that must not be shown: a token, a password, a client secret.
//!
//! Invariant: its `Debug` shows [`MASK`], and its memory is overwritten when it is dropped. A secret is neither
//! `Display` nor `Serialize`, so it cannot be formatted by accident. [`Secret::expose`] marks each use of the plain
//! value.

use std::fmt;

use serde::{Deserialize, Deserializer, Serializer};
use zeroize::Zeroize as _;

use crate::MASK;

#[derive(Clone, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The plain value of the secret.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with this secret masked, even if it is short.
    pub fn hidden_in(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(self.expose(), MASK)
        }
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// Serializes the plain value, for `#[serde(serialize_with = "…")]` in the file that stores secrets.
pub fn expose_optional<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.expose()),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_is_masked() {
        let secret = Secret::new("tok-123");
        let shown = format!("{secret:?} {secret:#?} {:?}", Some(&secret));
        assert_eq!(shown, "Secret(***) Secret(***) Some(Secret(***))");
    }

    #[test]
    fn secret_is_masked_in_other_texts() {
        let secret = Secret::new("tok-123");
        assert_eq!(secret.hidden_in("no tok-123 here"), "no *** here");
        assert_eq!(Secret::new("").hidden_in("as it was"), "as it was");
    }

    #[test]
    fn secret_is_serialized_only_with_explicit_attribute() {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct Kept {
            #[serde(serialize_with = "expose_optional")]
            token: Option<Secret>,
        }
        let kept: Kept = serde_json::from_str(r#"{"token":"t"}"#).unwrap();
        assert_eq!(kept.token, Some(Secret::new("t")));
        assert_eq!(serde_json::to_string(&kept).unwrap(), r#"{"token":"t"}"#);
    }
}
