//! Parses JSON in the variants that other implementations write.
//!
//! JavaScript writes half of a surrogate pair, Python writes `NaN`, some libraries begin with a byte order mark, and C
//! servers send text that is not UTF-8. JavaScript's or Python's parser reads each of these. `serde_json` reads none.
//!
//! Invariant: valid JSON is parsed once and never changed.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value;

use super::repairs::Repair;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Removes the byte order marks, NUL characters and white space around a message.
pub(super) fn trim_message(mut text: &[u8]) -> &[u8] {
    loop {
        let trimmed = text.trim_ascii();
        let trimmed = trimmed.strip_prefix(BYTE_ORDER_MARK).unwrap_or(trimmed);
        let trimmed = trimmed.strip_suffix(b"\0").unwrap_or(trimmed);
        if trimmed.len() == text.len() {
            return text;
        }
        text = trimmed;
    }
}

/// Parses a message. The error is about the original text.
pub(super) fn parse(
    text: &[u8],
    mut on_repair: impl FnMut(Repair),
) -> Result<Value, serde_json::Error> {
    let json = trim_message(text);
    if json.len() < text.trim_ascii().len() {
        on_repair(Repair::ByteOrderMark);
    }
    let error = match serde_json::from_slice(json) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let json = match String::from_utf8_lossy(json) {
        Cow::Borrowed(valid) => valid.to_owned(),
        Cow::Owned(replaced) => {
            on_repair(Repair::InvalidText);
            replaced
        }
    };
    let repaired = TextRepairer::repair(&json, &mut on_repair);
    serde_json::from_str(&repaired).map_err(|_| error)
}

/// Copies JSON text token by token and replaces parts that `serde_json` refuses.
struct TextRepairer<'a> {
    rest: &'a str,
    out: String,
}

impl<'a> TextRepairer<'a> {
    fn repair(json: &'a str, on_repair: &mut impl FnMut(Repair)) -> String {
        let mut repairer = Self {
            rest: json,
            out: String::with_capacity(json.len()),
        };
        while let Some(first) = repairer.rest.bytes().next() {
            match first {
                b'"' => repairer.copy_string(on_repair),
                b'-' | b'+' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                    repairer.copy_scalar(on_repair);
                }
                _ => repairer.copy(char_len(repairer.rest)),
            }
        }
        repairer.out
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn copy(&mut self, bytes: usize) {
        let taken = self.take(bytes);
        self.out.push_str(taken);
    }

    /// Copies a number or a literal. A number that is not finite becomes null.
    fn copy_scalar(&mut self, on_repair: &mut impl FnMut(Repair)) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let token = self.take(length);
        let is_finite = token.parse().is_ok_and(f64::is_finite);
        let is_number = token.parse::<f64>().is_ok();
        if is_number && !is_finite {
            on_repair(Repair::NonFiniteNumber);
            self.out.push_str("null");
        } else {
            self.out.push_str(token);
        }
    }

    /// Copies a string. Half of a surrogate pair becomes U+FFFD, and raw control characters are escaped.
    fn copy_string(&mut self, on_repair: &mut impl FnMut(Repair)) {
        self.copy(1);
        while let Some(first) = self.rest.chars().next() {
            match first {
                '"' => return self.copy(1),
                '\\' => match escaped_unit(self.rest) {
                    Some(0xd800..=0xdbff) => {
                        let second = escaped_unit(&self.rest[6..]);
                        if matches!(second, Some(0xdc00..=0xdfff)) {
                            self.copy(12);
                        } else {
                            self.replace_half_pair(on_repair);
                        }
                    }
                    Some(0xdc00..=0xdfff) => self.replace_half_pair(on_repair),
                    Some(_) => self.copy(6),
                    None => {
                        self.copy(1);
                        self.copy(char_len(self.rest));
                    }
                },
                control @ '\0'..='\u{1f}' => {
                    on_repair(Repair::ControlCharacter);
                    self.take(1);
                    _ = write!(self.out, "\\u{:04x}", u32::from(control));
                }
                other => self.copy(other.len_utf8()),
            }
        }
    }

    fn replace_half_pair(&mut self, on_repair: &mut impl FnMut(Repair)) {
        on_repair(Repair::InvalidText);
        self.take(6);
        self.out.push(char::REPLACEMENT_CHARACTER);
    }
}

/// The UTF-16 code unit of an escape such as `\ud83d` at the beginning of the text.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// The length of the first character, or zero.
fn char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &[u8]) -> (Value, Vec<Repair>) {
        let mut repairs = Vec::new();
        let value = parse(text, |repair| repairs.push(repair)).unwrap();
        (value, repairs)
    }

    #[test]
    fn text_that_other_parsers_read_is_repaired() {
        use Repair::{ByteOrderMark, ControlCharacter, InvalidText, NonFiniteNumber};
        let cases: [(&[u8], Value, &[Repair]); 13] = [
            (b"\xef\xbb\xbf{}", json!({}), &[ByteOrderMark]),
            (b" \xef\xbb\xbf {}\0\n", json!({}), &[ByteOrderMark]),
            (br#""a\ud83d""#, json!("a\u{fffd}"), &[InvalidText]),
            (br#""\ude00b""#, json!("\u{fffd}b"), &[InvalidText]),
            (br#""\ud83d\u0041""#, json!("\u{fffd}A"), &[InvalidText]),
            (
                br#""\ud83d\ud83d\ude00""#,
                json!("\u{fffd}\u{1f600}"),
                &[InvalidText],
            ),
            (
                br#"["\\ud83d", NaN]"#,
                json!(["\\ud83d", null]),
                &[NonFiniteNumber],
            ),
            (b"[Infinity]", json!([null]), &[NonFiniteNumber]),
            (b"[-Infinity, 1]", json!([null, 1]), &[NonFiniteNumber]),
            (b"[1e999]", json!([null]), &[NonFiniteNumber]),
            (b"\"a\tb\"", json!("a\tb"), &[ControlCharacter]),
            (b"\"\xff\"", json!("\u{fffd}"), &[InvalidText]),
            (
                br#"{"NaN": "Infinity", "x": [-1.5e3, true, NaN]}"#,
                json!({ "NaN": "Infinity", "x": [-1500.0, true, null] }),
                &[NonFiniteNumber],
            ),
        ];
        for (text, value, repairs) in cases {
            let shown = String::from_utf8_lossy(text);
            assert_eq!(read(text), (value, repairs.to_vec()), "{shown}");
        }
    }

    #[test]
    fn text_that_no_parser_reads_stays_an_error() {
        for text in [
            "{",
            "[1,]",
            "{'a': 1}",
            "\"\\ud8",
            "NaNa",
            "\"\\",
            "tru",
            "\"a\\u12\u{e9}4\"",
        ] {
            assert!(parse(text.as_bytes(), |_| {}).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn repairer_copies_valid_json_and_survives_any_text(text in ".*", valid in "[a-z\"\\\\\u{e9}\u{1f600}]*") {
            let json = json!({ "a": [valid, -1.5e-7, true, null] }).to_string();
            prop_assert_eq!(TextRepairer::repair(&json, &mut |_| {}), json);
            drop(parse(text.as_bytes(), |_| {}));
        }
    }
}
