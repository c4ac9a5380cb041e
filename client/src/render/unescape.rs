//! Unescapes a JSON string that arrives in pieces.
//!
//! Invariant: the result does not depend on where the pieces are split. At most a part of one escape is buffered.

/// Unescapes one JSON string, from its opening quote to its closing quote.
#[derive(Debug, Default)]
pub(super) struct JsonUnescaper {
    state: UnescapeState,
    /// A high surrogate, which a low surrogate must follow directly.
    high: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum UnescapeState {
    #[default]
    Before,
    Text,
    Escape,
    /// The number of digits of a `\u` escape read so far, and their value.
    Unit(u8, u16),
    After,
}

impl JsonUnescaper {
    /// Unescapes the next piece.
    pub(super) fn unescape_piece(&mut self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.state = self.next_state(c, &mut text);
        }
        text
    }

    fn next_state(&mut self, c: char, text: &mut String) -> UnescapeState {
        match (self.state, c) {
            (UnescapeState::Before, '"') => UnescapeState::Text,
            (UnescapeState::Before | UnescapeState::After, _) => self.state,
            (UnescapeState::Text, '\\') => UnescapeState::Escape,
            (UnescapeState::Text, '"') => {
                self.flush_surrogate(text);
                UnescapeState::After
            }
            (UnescapeState::Escape, 'u') => UnescapeState::Unit(0, 0),
            (UnescapeState::Text, c) => self.put(c, text),
            (UnescapeState::Escape, 'n') => self.put('\n', text),
            (UnescapeState::Escape, 't') => self.put('\t', text),
            (UnescapeState::Escape, 'r') => self.put('\r', text),
            (UnescapeState::Escape, 'b') => self.put('\u{8}', text),
            (UnescapeState::Escape, 'f') => self.put('\u{c}', text),
            (UnescapeState::Escape, c) => self.put(c, text),
            (UnescapeState::Unit(digits, value), c) => {
                let digit = c.to_digit(16).and_then(|digit| u16::try_from(digit).ok());
                let value = (value << 4) | digit.unwrap_or_default();
                if digits < 3 {
                    return UnescapeState::Unit(digits + 1, value);
                }
                self.push_code_unit(value, text);
                UnescapeState::Text
            }
        }
    }

    fn put(&mut self, c: char, text: &mut String) -> UnescapeState {
        self.flush_surrogate(text);
        text.push(c);
        UnescapeState::Text
    }

    fn push_code_unit(&mut self, unit: u16, text: &mut String) {
        if let (Some(high), 0xdc00..=0xdfff) = (self.high, unit) {
            self.high = None;
            text.extend(char::decode_utf16([high, unit]).flatten());
        } else if (0xd800..=0xdbff).contains(&unit) {
            self.flush_surrogate(text);
            self.high = Some(unit);
        } else {
            let c = char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
            self.put(c, text);
        }
    }

    /// Replaces a surrogate without its other half.
    fn flush_surrogate(&mut self, text: &mut String) {
        if self.high.take().is_some() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_is_the_same_however_it_is_split() {
        for (json, text) in [
            (r#""""#, ""),
            (r#" "plain 😀" "#, "plain 😀"),
            (r#""a\n\t\r\b\f\"\\\/b""#, "a\n\t\r\u{8}\u{c}\"\\/b"),
            (r#""\u00e9\uD83D\ude00x""#, "é😀x"),
            (r#""\ud83d""#, "\u{fffd}"),
            (
                r#""\ud83dx\ude00\ud83d\ud83d\ude00""#,
                "\u{fffd}x\u{fffd}\u{fffd}😀",
            ),
        ] {
            let mut whole = JsonUnescaper::default();
            assert_eq!(whole.unescape_piece(json), text, "{json}");
            for (cut, _) in json.char_indices() {
                let mut halves = JsonUnescaper::default();
                let first = halves.unescape_piece(&json[..cut]);
                assert_eq!(
                    first + &halves.unescape_piece(&json[cut..]),
                    text,
                    "{json} at {cut}"
                );
            }
        }
    }
}
