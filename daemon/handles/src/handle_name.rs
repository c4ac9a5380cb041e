//! The name of a stored value: 128 bits of the hash of its content.
//!
//! Invariant: a [`HandleName`] is always a plain file name of this form, whatever a client requested.

use std::fmt;

use mux_wire::{Fault, FaultKind};

const HANDLE_PREFIX: &str = "h_";
const HANDLE_HEX_DIGITS: usize = 32;

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct HandleName(String);

impl HandleName {
    pub(super) fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let hash = blake3::hash(bytes).to_hex();
        Self(format!("{HANDLE_PREFIX}{}", &hash[..HANDLE_HEX_DIGITS]))
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
        let name = HandleName::of("[1]");
        assert_eq!(name, HandleName::of("[1]"));
        assert_ne!(name, HandleName::of("[2]"));
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
