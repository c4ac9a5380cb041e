//! Values that are sent as they are.
//!
//! Invariant: such a value is JSON that every client can read.

use std::fmt::Display;

use mux_messages::{Held, JsonText};
use mux_wire::{Fault, FaultKind, json_depth};

/// The value of JSON text that a worker or a server has produced. `what` is the subject of the error message.
pub fn inline_value(text: String, what: &str) -> Result<Held, Fault> {
    json_depth::check(&text, what)?;
    // Well-formed, but the client would fail to parse it.
    if has_lone_surrogate(&text) {
        return Err(not_json_fault(
            what,
            "a string has half of a surrogate pair",
        ));
    }
    let value = JsonText::new(text).map_err(|error| not_json_fault(what, error))?;
    Ok(Held::Value(value))
}

fn not_json_fault(what: &str, error: impl Display) -> Fault {
    Fault::new(FaultKind::Internal, format!("{what} is not JSON: {error}"))
}

/// True if an escape in JSON text is half of a surrogate pair. Such text is well-formed, but no string can hold it.
fn has_lone_surrogate(json: &str) -> bool {
    let utf16_unit =
        |escape: &str| u16::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok();
    let mut rest = json;
    while let Some((_, escape)) = rest.split_once('\\') {
        let escaped_length = match utf16_unit(escape) {
            Some(0xd800..=0xdbff) => {
                let next = escape[5..].strip_prefix('\\').and_then(utf16_unit);
                if !matches!(next, Some(0xdc00..=0xdfff)) {
                    return true;
                }
                "uD83D\\uDE00".len()
            }
            Some(0xdc00..=0xdfff) => return true,
            _ => 1,
        };
        rest = escape.get(escaped_length..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_surrogate_pair_is_not_json() {
        for (text, expected) in [
            (r#""\ud83d\uDE00 \u00e9 \\ud83d""#, true),
            (r#"["\\\ud83d\ude00", 1e999]"#, true),
            (r#""\ud83d""#, false),
            (r#""\ud83d\n""#, false),
            (r#""\ud83d\ud83d\ude00""#, false),
            (r#"{"\\\ude00":1}"#, false),
        ] {
            let read = inline_value(text.to_owned(), "it");
            assert_eq!(read.is_ok(), expected, "{text}: {read:?}");
        }
    }
}
