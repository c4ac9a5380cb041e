//! The name of a stored value: 128 bits of the keyed hash of its content.
//!
//! The key is a secret of the installation. Without a key, a client that can guess a long value could compute its name,
//! and learn by reading it that the value is stored.
//!
//! Invariant: a [`HandleName`] is always a plain file name of this form, regardless of what a client requested.

use std::fmt;

use mux_wire::{Fault, FaultKind};

const HANDLE_PREFIX: &str = "h_";
const HANDLE_HEX_DIGITS: usize = 32;

/// The key of all names.
pub(super) struct NameKey(pub(super) [u8; blake3::KEY_LEN]);

impl NameKey {
    pub(super) fn name_of(&self, bytes: &[u8]) -> HandleName {
        HandleName::of_hash(blake3::keyed_hash(&self.0, bytes))
    }

    /// Returns true if a value of this name has this content. Earlier versions named values by their hash without a
    /// key. Such values stay readable until they expire.
    pub(super) fn is_name_of(&self, name: &HandleName, bytes: &[u8]) -> bool {
        *name == self.name_of(bytes) || *name == HandleName::of_hash(blake3::hash(bytes))
    }
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct HandleName(String);

impl HandleName {
    fn of_hash(hash: blake3::Hash) -> Self {
        let hash = hash.to_hex();
        Self(format!("{HANDLE_PREFIX}{}", &hash[..HANDLE_HEX_DIGITS]))
    }

    /// The name that an earlier version gave to this content.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self::of_hash(blake3::hash(text.as_bytes()))
    }

    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let digits = text.strip_prefix(HANDLE_PREFIX).unwrap_or_default();
        if digits.len() == HANDLE_HEX_DIGITS && digits.bytes().all(is_digit) {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(
            Fault::new(FaultKind::Validation, format!("{shown:?} is not a handle")).hint(format!(
                "a handle is `{HANDLE_PREFIX}` and {HANDLE_HEX_DIGITS} hexadecimal digits"
            )),
        )
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HandleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_handles_parse() {
        let key = NameKey([7; blake3::KEY_LEN]);
        let name = key.name_of(b"[1]");
        assert_eq!(name, key.name_of(b"[1]"));
        assert_ne!(name, key.name_of(b"[2]"));
        assert!(key.is_name_of(&name, b"[1]") && !key.is_name_of(&name, b"[2]"));
        assert_eq!(HandleName::parse(name.as_str()).unwrap(), name);
        let digits = "0".repeat(HANDLE_HEX_DIGITS);
        for text in [
            "",
            "h_",
            "../../etc/passwd",
            &format!("h_{}", "0".repeat(31)),
            &format!("h_{}", "0".repeat(33)),
            &format!("h_{}", "A".repeat(32)),
            &format!("h_{}/", "0".repeat(31)),
            &format!("h_{digits}\0"),
            &format!("H_{digits}"),
            &format!("h_{}é", "0".repeat(30)),
            &"x".repeat(1 << 20),
        ] {
            let fault = HandleName::parse(text).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Validation);
            assert!(fault.message.len() < 500, "{}", fault.message);
        }
    }
}
