//! Unescapes a JSON string that arrives in pieces.
//!
//! Invariant: the result does not depend on where the pieces are split; at most a part of one escape is buffered.

/// Unescapes one JSON string, from its opening quote to its closing quote.
#[derive(Debug, Default)]
pub(super) struct Unescape {
    state: State,
    /// A high surrogate, which a low surrogate must follow directly.
    high: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Before,
    Text,
    Escape,
    /// The number of digits of a `\u` escape read so far, and their value.
    Unit(u8, u16),
    After,
}

impl Unescape {
    /// Unescapes the next piece.
    pub(super) fn piece(&mut self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.state = self.step(c, &mut text);
        }
        text
    }

    fn step(&mut self, c: char, text: &mut String) -> State {
        match (self.state, c) {
            (State::Before, '"') => State::Text,
            (State::Before | State::After, _) => self.state,
            (State::Text, '\\') => State::Escape,
            (State::Text, '"') => {
                self.settle(text);
                State::After
            }
            (State::Escape, 'u') => State::Unit(0, 0),
            (State::Text, c) => self.put(c, text),
            (State::Escape, 'n') => self.put('\n', text),
            (State::Escape, 't') => self.put('\t', text),
            (State::Escape, 'r') => self.put('\r', text),
            (State::Escape, 'b') => self.put('\u{8}', text),
            (State::Escape, 'f') => self.put('\u{c}', text),
            (State::Escape, c) => self.put(c, text),
            (State::Unit(digits, value), c) => {
                let digit = c.to_digit(16).and_then(|digit| u16::try_from(digit).ok());
                let value = (value << 4) | digit.unwrap_or_default();
                if digits < 3 {
                    return State::Unit(digits + 1, value);
                }
                self.unit(value, text);
                State::Text
            }
        }
    }

    fn put(&mut self, c: char, text: &mut String) -> State {
        self.settle(text);
        text.push(c);
        State::Text
    }

    fn unit(&mut self, unit: u16, text: &mut String) {
        if let (Some(high), 0xdc00..=0xdfff) = (self.high, unit) {
            self.high = None;
            text.extend(char::decode_utf16([high, unit]).flatten());
        } else if (0xd800..=0xdbff).contains(&unit) {
            self.settle(text);
            self.high = Some(unit);
        } else {
            let c = char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
            self.put(c, text);
        }
    }

    /// Replaces a surrogate without its other half.
    fn settle(&mut self, text: &mut String) {
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
            let mut whole = Unescape::default();
            assert_eq!(whole.piece(json), text, "{json}");
            for (cut, _) in json.char_indices() {
                let mut halves = Unescape::default();
                let first = halves.piece(&json[..cut]);
                assert_eq!(first + &halves.piece(&json[cut..]), text, "{json} at {cut}");
            }
        }
    }
}
