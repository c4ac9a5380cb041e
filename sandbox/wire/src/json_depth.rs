//! Limits how deep JSON may nest.
//!
//! Recursive JSON parsers have limits: `serde_json` stops at 128 levels, including the envelopes of frames, and servers
//! may stop earlier or crash. This limit is below all of them, and has a clear error.

use crate::{Fault, FaultKind};

/// The maximum number of nested arrays and objects.
const MAX_JSON_DEPTH: usize = 100;

/// Fails for JSON that nests too deep. `what` begins the message, such as `the result`.
pub fn check(text: &str, what: &str) -> Result<(), Fault> {
    let depth = depth(text);
    if depth <= MAX_JSON_DEPTH {
        return Ok(());
    }
    let message =
        format!("{what} is nested {depth} levels deep, over the limit of {MAX_JSON_DEPTH}");
    Err(Fault::new(FaultKind::Limit, message)
        .hint("flatten it: a list of entries with the ids of their parents"))
}

/// The deepest nesting level of JSON, computed without recursion.
pub fn depth(text: &str) -> usize {
    let mut now = 0_usize;
    let mut deepest = 0;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_ignores_brackets_in_strings() {
        for (text, expected) in [
            ("7", 0),
            ("[]", 1),
            (r#"{"a": [1, {"b": 2}], "c": [3]}"#, 3),
            (r#"["[[[", "\"[[", "\\", [1]]"#, 2),
            ("]]]]", 0),
            (r"[", 1),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(MAX_JSON_DEPTH), "it").is_ok());
        let fault = check(&nested(MAX_JSON_DEPTH + 1), "it").unwrap_err();
        assert!(fault.message.contains("101 levels"), "{}", fault.message);
    }
}
