//! Python literals as `str()` and `repr()` print them: dicts, lists, tuples, sets, strings, numbers, `True`, `False` and
//! `None`.
//!
//! Tuples and sets become arrays, bytes become strings with a character for each byte, and a key that is not a string
//! becomes its source text. `NaN`, `Infinity` and the constants of JSON are also read, because many tools mix the two.
//! NaN and infinities become null, because JSON has neither.

use std::ops::Range;

use super::{
    MAX_DEPTH, ParseError,
    json_output::{JsonOutput, OutputTooLarge},
};

/// The maximum length of the letters before the quote of a string.
const MAX_STRING_PREFIX: usize = 2;
/// The length of `\ude00`.
const LOW_SURROGATE_BYTES: usize = 6;

pub(super) fn parse(text: &str) -> Result<String, ParseError> {
    let mut parser = Parser {
        text,
        at: 0,
        output: JsonOutput::default(),
    };
    parser.value(0)?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(parser.problem("there is more after the value"));
    }
    Ok(parser.output.into_text())
}

struct Parser<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    output: JsonOutput,
}

/// How the characters of a string are read.
#[derive(Clone, Copy)]
struct StringKind {
    is_raw: bool,
    is_bytes: bool,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Result<(), ParseError> {
        if depth > MAX_DEPTH {
            return Err(self.problem(ParseError::too_deep()));
        }
        self.skip_blanks();
        match self.peek() {
            Some('{') => self.dict_or_set(depth),
            Some('[') => self.items('[', ']', depth),
            Some('(') => self.tuple(depth),
            Some('0'..='9' | '.' | '-' | '+') => self.number(),
            Some(c) if c.is_alphabetic() && self.string_kind().is_none() => self.word(),
            Some(_) if self.string_kind().is_some() => {
                let string = self.strings()?;
                self.write(|output| output.string(&string))
            }
            Some(_) => Err(self.problem("a value is expected here")),
            None => Err(self.problem("the text ends where a value is expected")),
        }
    }

    fn items(&mut self, open: char, close: char, depth: usize) -> Result<(), ParseError> {
        self.expect(open)?;
        self.write(|output| output.raw("["))?;
        self.rest_of_items(close, depth)
    }

    /// The items up to the closing bracket.
    fn rest_of_items(&mut self, close: char, depth: usize) -> Result<(), ParseError> {
        while !self.takes(close) {
            self.value(depth + 1)?;
            self.write(|output| output.raw(","))?;
            self.separator(close)?;
        }
        self.write(|output| output.end("]"))
    }

    /// A tuple, or a value in parentheses.
    fn tuple(&mut self, depth: usize) -> Result<(), ParseError> {
        self.expect('(')?;
        let begin = self.output.len();
        self.write(|output| output.raw("["))?;
        if self.takes(')') {
            return self.write(|output| output.raw("]"));
        }
        self.value(depth + 1)?;
        if self.takes(')') {
            self.output.replace(begin..=begin, "");
            return Ok(());
        }
        self.write(|output| output.raw(","))?;
        self.separator(')')?;
        self.rest_of_items(')', depth)
    }

    /// Only the text after the first value tells a dict from a set.
    fn dict_or_set(&mut self, depth: usize) -> Result<(), ParseError> {
        self.expect('{')?;
        if self.takes('}') {
            return self.write(|output| output.raw("{}"));
        }
        let begin = self.output.len();
        self.write(|output| output.raw("["))?;
        let mut key = self.key(depth)?;
        if !self.takes(':') {
            self.write(|output| output.raw(","))?;
            self.separator('}')?;
            return self.rest_of_items('}', depth);
        }
        self.output.replace(begin..=begin, "{");
        loop {
            self.name_key(key)?;
            self.write(|output| output.raw(":"))?;
            self.value(depth + 1)?;
            self.write(|output| output.raw(","))?;
            self.separator('}')?;
            if self.takes('}') {
                return self.write(|output| output.end("}"));
            }
            key = self.key(depth)?;
            self.expect(':')?;
        }
    }

    /// Reads a key, and writes its value.
    fn key(&mut self, depth: usize) -> Result<Key, ParseError> {
        self.skip_blanks();
        let start = self.at;
        let written_from = self.output.len();
        let is_string = self.string_kind().is_some();
        self.value(depth + 1)?;
        Ok(Key {
            source: start..self.at,
            written_from,
            is_string,
        })
    }

    /// Replaces the value of a key that is not a string by its source.
    fn name_key(&mut self, key: Key) -> Result<(), ParseError> {
        if key.is_string {
            return Ok(());
        }
        self.output.truncate(key.written_from);
        let text: &'a str = self.text;
        self.write(|output| output.string(text[key.source].trim_end()))
    }

    /// A comma, or nothing before the closing bracket.
    fn separator(&mut self, close: char) -> Result<(), ParseError> {
        self.skip_blanks();
        if self.takes(',') || self.peek() == Some(close) {
            return Ok(());
        }
        Err(self.problem(format!("`,` or `{close}` is expected here")))
    }

    fn word(&mut self) -> Result<(), ParseError> {
        let rest = &self.text[self.at..];
        let word = first_word(rest);
        let json = match word {
            "None" | "null" | "nan" | "NaN" | "inf" | "Infinity" => "null",
            "True" | "true" => "true",
            "False" | "false" => "false",
            "set" if rest.starts_with("set()") => {
                self.at += "()".len();
                "[]"
            }
            _ => return Err(self.problem(format!("`{}` is not a literal", shortened(word)))),
        };
        self.at += word.len();
        self.write(|output| output.raw(json))
    }

    fn number(&mut self) -> Result<(), ParseError> {
        let rest = &self.text[self.at..];
        let digits = rest.trim_start_matches(['+', '-']);
        let signs = &rest[..rest.len() - digits.len()];
        let sign = if signs.matches('-').count() % 2 == 1 {
            "-"
        } else {
            ""
        };
        if ["nan", "NaN", "inf", "Infinity"].contains(&first_word(digits)) {
            self.at += signs.len();
            return self.word();
        }
        let mut is_after_exponent = false;
        let end = digits.find(|c: char| {
            let is_sign_of_exponent = is_after_exponent && matches!(c, '+' | '-');
            is_after_exponent = matches!(c, 'e' | 'E');
            !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_') && !is_sign_of_exponent
        });
        let spelled = &digits[..end.unwrap_or(digits.len())];
        let Some(number) = json_number(spelled) else {
            return Err(self.problem(format!("`{}` is not a number", shortened(spelled))));
        };
        self.at += signs.len() + spelled.len();
        self.write(|output| output.raw(sign))?;
        self.write(|output| output.raw(&number))
    }

    /// How the string is read that begins here, if one does.
    fn string_kind(&self) -> Option<StringKind> {
        let mut prefix = String::new();
        for c in self.text[self.at..].chars().take(MAX_STRING_PREFIX + 1) {
            if matches!(c, '\'' | '"') {
                let (is_raw, is_bytes) = match prefix.as_str() {
                    "" | "u" => (false, false),
                    "r" => (true, false),
                    "b" => (false, true),
                    "br" | "rb" => (true, true),
                    _ => return None,
                };
                return Some(StringKind { is_raw, is_bytes });
            }
            prefix.push(c.to_ascii_lowercase());
        }
        None
    }

    /// Strings beside each other, which are one.
    fn strings(&mut self) -> Result<String, ParseError> {
        let mut string = String::new();
        while let Some(kind) = self.string_kind() {
            self.string(kind, &mut string)?;
            self.skip_blanks();
        }
        Ok(string)
    }

    fn string(&mut self, kind: StringKind, string: &mut String) -> Result<(), ParseError> {
        let rest = &self.text[self.at..];
        let opening = rest.find(['\'', '"']).unwrap_or_default();
        let start = self.at;
        self.at += opening;
        let quote = &self.text[self.at..=self.at];
        let triple = quote.repeat(3);
        let end = if self.text[self.at..].starts_with(&triple) {
            triple.as_str()
        } else {
            quote
        };
        self.at += end.len();
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with(end) {
                self.at += end.len();
                return Ok(());
            }
            match rest.chars().next() {
                Some('\\') if kind.is_raw => {
                    let pair: String = rest.chars().take(2).collect();
                    self.at += pair.len();
                    string.push_str(&pair);
                }
                Some('\\') => self.escape(kind, string)?,
                Some('\n') if end.len() == 1 => {
                    return Err(self.problem("the string does not end on its line"));
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    string.push(c);
                }
                None => return Err(ParseError::at(self.text, start, "the string does not end")),
            }
        }
    }

    /// An escape, by Python's rules: an unknown escape is kept unchanged.
    fn escape(&mut self, kind: StringKind, string: &mut String) -> Result<(), ParseError> {
        let after = &self.text[self.at + 1..];
        let Some(c) = after.chars().next() else {
            return Err(self.problem("the string does not end"));
        };
        let digits = match c {
            'x' => 2,
            'u' if !kind.is_bytes => 4,
            'U' if !kind.is_bytes => 8,
            _ => 0,
        };
        if digits > 0 {
            let Some(code) = hexadecimal(after, 1, digits) else {
                return Err(self.problem(format!("`\\{c}` needs {digits} hexadecimal digits")));
            };
            self.at += 2 + digits;
            let pair = surrogate_pair(code, &self.text[self.at..]);
            if pair.is_some() {
                self.at += LOW_SURROGATE_BYTES;
            }
            // Half an emoji has no other form.
            let c = pair.or(char::from_u32(code));
            string.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
            return Ok(());
        }
        if c.is_digit(8) {
            let octal: String = after
                .chars()
                .take(3)
                .take_while(|c| c.is_digit(8))
                .collect();
            let code = u32::from_str_radix(&octal, 8).unwrap_or_default();
            string.extend(char::from_u32(code));
            self.at += 1 + octal.len();
            return Ok(());
        }
        self.at += 1 + c.len_utf8();
        match c {
            '\n' => {}
            'n' => string.push('\n'),
            't' => string.push('\t'),
            'r' => string.push('\r'),
            'a' => string.push('\u{7}'),
            'b' => string.push('\u{8}'),
            'f' => string.push('\u{c}'),
            'v' => string.push('\u{b}'),
            '\\' | '\'' | '"' => string.push(c),
            c => {
                string.push('\\');
                string.push(c);
            }
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Reads a character if it is the next one after blanks.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip_blanks();
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += wanted.len_utf8();
        }
        is_next
    }

    fn expect(&mut self, wanted: char) -> Result<(), ParseError> {
        if self.takes(wanted) {
            return Ok(());
        }
        Err(self.problem(format!("`{wanted}` is expected here")))
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut JsonOutput) -> Result<(), OutputTooLarge>,
    ) -> Result<(), ParseError> {
        write(&mut self.output).map_err(|OutputTooLarge| self.problem(ParseError::too_large()))
    }

    fn problem(&self, problem: impl Into<String>) -> ParseError {
        ParseError::at(self.text, self.at, problem)
    }
}

struct Key {
    source: Range<usize>,
    /// Where its value begins in the output.
    written_from: usize,
    is_string: bool,
}

/// The number of these hexadecimal digits.
fn hexadecimal(text: &str, start: usize, digits: usize) -> Option<u32> {
    let code = text.get(start..start + digits)?;
    let is_hex = code.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(code, 16).ok().filter(|_| is_hex)
}

/// The character of a high surrogate and of the escape at the start of the text, if it is a low surrogate.
fn surrogate_pair(high: u32, text: &str) -> Option<char> {
    let low = hexadecimal(text.strip_prefix("\\u")?, 0, 4)?;
    if !(0xd800..0xdc00).contains(&high) || !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
}

/// The letters, digits and underscores at the beginning of a text.
fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// A number of Python, without its sign, as JSON writes it. With a leading zero it is an id such as a postal code, and
/// not a literal.
fn json_number(spelled: &str) -> Option<String> {
    let is_separated = spelled
        .split('_')
        .all(|part| part.starts_with(|c: char| c.is_ascii_hexdigit()));
    if spelled.contains('_') && !is_separated {
        return None;
    }
    let plain = spelled.replace('_', "");
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = plain.to_ascii_lowercase().strip_prefix(prefix) {
            return Some(u128::from_str_radix(digits, radix).ok()?.to_string());
        }
    }
    let (mantissa, exponent) = match plain.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (plain.as_str(), None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || fraction.is_some_and(|digits| !digits.is_empty());
    let power = exponent.map(|power| power.trim_start_matches(['+', '-']));
    let is_power = power.is_none_or(|digits| !digits.is_empty() && is_digits(digits));
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if has_leading_zero
        || !has_digits
        || !is_power
        || !is_digits(whole)
        || !fraction.is_none_or(is_digits)
    {
        return None;
    }
    let mut number = if whole.is_empty() { "0" } else { whole }.to_owned();
    if let Some(fraction) = fraction {
        number.push('.');
        number.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        number.push('e');
        number.push_str(exponent);
    }
    Some(number)
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(40)]
}
