//! Remembers the integers beyond 2^53 that enter the isolate, where JavaScript rounds them, and restores them in output
//! that leaves it.
//!
//! A JavaScript number that is the rounding of exactly one remembered integer stands for that integer. If two
//! remembered integers round to it, the intended one is unknown, and a call with this number is refused.
//!
//! Invariant: only digits that JavaScript may have rounded are replaced. A text without a long run of digits costs one
//! look at every 16th byte.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    ops::Range,
};

/// How many integers are remembered. Later ones are not restored.
const MAX_REMEMBERED: usize = 100_000;
/// How many warnings one program gets: one for each tool.
const MAX_WARNINGS: usize = 20;
/// The number of digits of 2^53.
const MIN_DIGITS: usize = 16;
/// The number of digits of 2^64.
const MAX_DIGITS: usize = 20;
const MAX_PATH_BYTES: usize = 80;

/// The integers beyond 2^53 that a program has been given.
#[derive(Default)]
pub(crate) struct LargeIntegers {
    /// By the bits of the JavaScript number.
    by_number: HashMap<u64, Remembered>,
    /// Set if some remembered integer is not the number that JavaScript prints for it.
    any_rounded: bool,
    warned: HashSet<String>,
}

struct Remembered {
    integer: i128,
    /// Another integer with the same JavaScript number.
    other: Option<i128>,
}

/// A number in outgoing JSON that stands for two integers.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct AmbiguousInteger {
    pub(crate) path: String,
    pub(crate) number: i128,
    pub(crate) integers: [i128; 2],
}

/// The result of [`LargeIntegers::restore`].
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Restored {
    pub(crate) text: String,
    /// The first number that stands for two integers. The number is left unchanged.
    pub(crate) ambiguous: Option<AmbiguousInteger>,
}

impl LargeIntegers {
    /// Remembers the integers in the program's source.
    pub(crate) fn remember_source(&mut self, source: &str) {
        for (_, integer) in integers_in(source) {
            self.remember(integer);
        }
        let has_separators = source.as_bytes().windows(3).any(|around| {
            around[1] == b'_' && around[0].is_ascii_digit() && around[2].is_ascii_digit()
        });
        if has_separators {
            for (_, integer) in integers_in(&source.replace('_', "")) {
                self.remember(integer);
            }
        }
    }

    /// Remembers the integers of JSON that enters the isolate. Returns a warning at the first rounded number of an
    /// origin.
    pub(crate) fn remember_json(&mut self, json: &str, origin: &str) -> Option<String> {
        let mut scanner = StringScanner::new(json);
        let mut first_rounded = None;
        for (range, integer) in integers_in(json) {
            self.remember(integer);
            let is_number = !scanner.is_in_string(range.start);
            if first_rounded.is_none() && is_number && printed(integer as f64) != integer {
                first_rounded = Some((range.start, integer));
            }
        }
        let (position, integer) = first_rounded?;
        if self.warned.len() >= MAX_WARNINGS || !self.warned.insert(origin.to_owned()) {
            return None;
        }
        let path = path_at(json, position);
        let place = if path.is_empty() {
            String::new()
        } else {
            format!("`{path}` ")
        };
        Some(format!(
            "{origin} has integers that JavaScript rounds, such as {place}{integer}: do not compute with them or compare \
             them (it is {} here). Passed on unchanged, they stay exact",
            printed(integer as f64)
        ))
    }

    fn remember(&mut self, integer: i128) {
        // The daemon reads integers of 64 bits.
        if integer < i128::from(i64::MIN) || integer > i128::from(u64::MAX) {
            return;
        }
        let number = integer as f64;
        let is_full = self.by_number.len() >= MAX_REMEMBERED;
        match self.by_number.get_mut(&number.to_bits()) {
            Some(known) => {
                if known.integer != integer && known.other.is_none() {
                    known.other = Some(integer);
                    self.any_rounded = true;
                }
            }
            None if is_full => {}
            None => {
                let other = None;
                self.any_rounded |= printed(number) != integer;
                self.by_number
                    .insert(number.to_bits(), Remembered { integer, other });
            }
        }
    }

    /// Replaces rounded numbers by the remembered integers. `is_json` is true if the text is a JSON value, and false
    /// for printed text.
    pub(crate) fn restore(&self, text: String, is_json: bool) -> Restored {
        let unchanged = |text| Restored {
            text,
            ambiguous: None,
        };
        if !self.any_rounded {
            return unchanged(text);
        }
        let mut scanner = StringScanner::new(&text);
        let mut restored = String::new();
        let mut copied = 0;
        let mut ambiguous = None;
        for (range, written) in integers_in(&text) {
            let number = written as f64;
            let Some(known) = self.by_number.get(&number.to_bits()) else {
                continue;
            };
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let exact = number as i128;
            let is_rounding = written == printed(number) || written == exact;
            if !is_rounding {
                continue;
            }
            let integer = match known.other {
                None => known.integer,
                Some(other) => {
                    let integers = [known.integer, other];
                    let is_text = !is_json || scanner.is_in_string(range.start);
                    // A string that the program was given is kept unchanged.
                    if ambiguous.is_none() && !(is_text && integers.contains(&written)) {
                        ambiguous = Some(AmbiguousInteger {
                            path: if is_json {
                                path_at(&text, range.start)
                            } else {
                                String::new()
                            },
                            number: written,
                            integers,
                        });
                    }
                    continue;
                }
            };
            if integer != written {
                restored.push_str(&text[copied..range.start]);
                restored.push_str(&integer.to_string());
                copied = range.end;
            }
        }
        if copied > 0 {
            restored.push_str(&text[copied..]);
            return Restored {
                text: restored,
                ambiguous,
            };
        }
        Restored {
            ambiguous,
            ..unchanged(text)
        }
    }
}

/// True for a literal that JavaScript rounds to another number than it prints.
pub(crate) fn rounded_literal(literal: &str) -> Option<i128> {
    let integer: i128 = literal.replace('_', "").parse().ok()?;
    let rounded = printed(integer as f64);
    (integer.unsigned_abs() > 1 << 53 && rounded != integer).then_some(rounded)
}

/// The integers beyond 2^53 in a text, with their signs. Integers beyond 64 bits are roundings of integers within.
fn integers_in(text: &str) -> impl Iterator<Item = (Range<usize>, i128)> {
    digit_runs(text).filter_map(|digits| {
        let bytes = text.as_bytes();
        if digits.len() > MAX_DIGITS || bytes[digits.start] == b'0' {
            return None;
        }
        let before = |distance: usize| Some(bytes[digits.start.checked_sub(distance)?]);
        let is_negative =
            before(1) == Some(b'-') && !before(2).is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_escape =
            before(2) == Some(b'\\') && before(1).is_some_and(|c| b"bfnrt".contains(&c));
        let is_part = before(1).is_some_and(|c| is_word(c) || c == b'.') && !is_escape;
        let after = |distance: usize| bytes.get(digits.end + distance).copied();
        let is_cut = after(0).is_some_and(is_word)
            || (after(0) == Some(b'.') && after(1).is_some_and(|byte| byte.is_ascii_digit()));
        if is_part || is_cut {
            return None;
        }
        let begin = digits.start - usize::from(is_negative);
        let integer: i128 = text[begin..digits.end].parse().ok()?;
        (integer.unsigned_abs() >= 1 << 53).then_some((begin..digits.end, integer))
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The runs of at least [`MIN_DIGITS`] digits. Each contains a position that the search looks at.
fn digit_runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = MIN_DIGITS - 1;
    std::iter::from_fn(move || {
        loop {
            if !bytes.get(at)?.is_ascii_digit() {
                at += MIN_DIGITS;
                continue;
            }
            let before = bytes[..at].iter().rev();
            let begin = at - before.take_while(|byte| byte.is_ascii_digit()).count();
            let after = bytes[at..].iter();
            let end = at + after.take_while(|byte| byte.is_ascii_digit()).count();
            at = end + MIN_DIGITS;
            if end - begin >= MIN_DIGITS {
                return Some(begin..end);
            }
        }
    })
}

/// The integer that JavaScript prints for a number below 10^21: its shortest digits, then zeros.
fn printed(number: f64) -> i128 {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().unwrap_or_default();
    let zeros = exponent.parse().unwrap_or(0_u32);
    let zeros = zeros.saturating_sub(u32::try_from(fraction.len()).unwrap_or(0));
    digits.saturating_mul(10_i128.saturating_pow(zeros))
}

/// Tells which positions of a JSON document are inside strings. The positions must ascend.
struct StringScanner<'a> {
    bytes: &'a [u8],
    at: usize,
    is_in_string: bool,
}

impl<'a> StringScanner<'a> {
    fn new(json: &'a str) -> Self {
        Self {
            bytes: json.as_bytes(),
            at: 0,
            is_in_string: false,
        }
    }

    fn is_in_string(&mut self, position: usize) -> bool {
        while self.at < position {
            match self.bytes[self.at] {
                b'"' => self.is_in_string = !self.is_in_string,
                b'\\' => self.at += 1,
                _ => {}
            }
            self.at += 1;
        }
        self.is_in_string
    }
}

/// The path of the value at a position of a JSON document, such as `items[0].id`. Empty if it is the whole value, or if
/// the path is long or not plain.
fn path_at(json: &str, position: usize) -> String {
    enum Level<'a> {
        Member(&'a str),
        Item(usize),
    }
    let bytes = json.as_bytes();
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut at = 0;
    while at < position {
        match bytes[at] {
            b'{' => levels.push(Level::Member("")),
            b'[' => levels.push(Level::Item(0)),
            b'}' | b']' => {
                levels.pop();
            }
            b',' => {
                if let Some(Level::Item(index)) = levels.last_mut() {
                    *index += 1;
                }
            }
            b'"' => {
                let begin = at + 1;
                at = begin;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                let is_key = bytes.get(at + 1) == Some(&b':');
                if let (true, Some(Level::Member(key))) = (is_key, levels.last_mut()) {
                    *key = json.get(begin..at).unwrap_or_default();
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Item(index) => _ = write!(path, "[{index}]"),
            Level::Member(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
                if key.is_empty() || !key.bytes().all(|byte| is_word(byte) || byte == b'-') {
                    return String::new();
                }
            }
        }
        if path.len() > MAX_PATH_BYTES {
            return String::new();
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(integers: &LargeIntegers, json: &str) -> String {
        integers.restore(json.to_owned(), true).text
    }

    #[test]
    fn printed_integers_are_those_of_javascript() {
        for (integer, number) in [
            (725_653_563_933_458_433_i128, 725_653_563_933_458_400),
            (-725_653_563_933_458_435, -725_653_563_933_458_400),
            (9_007_199_254_740_993, 9_007_199_254_740_992),
            (18_446_744_073_709_551_615, 18_446_744_073_709_552_000),
            (1_000_000_000_000_000_000, 1_000_000_000_000_000_000),
        ] {
            assert_eq!(printed(integer as f64), number, "{integer}");
        }
    }

    #[test]
    fn numbers_that_pass_unchanged_are_restored() {
        let mut integers = LargeIntegers::default();
        let given = r#"{"a":{"list":[1,{"id":725653563933458433}]},"s":"of -725653563933458999.","n":"\n18446744073709551615"}"#;
        let warning = integers.remember_json(given, "`x.y`").unwrap();
        assert!(
            warning.contains(
                "`x.y` has integers that JavaScript rounds, such as `a.list[1].id` 725653563933458433"
            ),
            "{warning}"
        );
        assert_eq!(integers.remember_json(given, "`x.y`"), None);
        for (leaving, expected) in [
            ("725653563933458400", "725653563933458433"),
            (
                r#"{"id":725653563933458400,"n":18446744073709552000,"o":-725653563933459000}"#,
                r#"{"id":725653563933458433,"n":18446744073709551615,"o":-725653563933458999}"#,
            ),
            // As a string, and through a BigInt.
            (
                r#"{"url":"/a/725653563933458400/b","big":725653563933458432}"#,
                r#"{"url":"/a/725653563933458433/b","big":725653563933458433}"#,
            ),
            (
                r#"["x725653563933458400","725653563933458400.5"]"#,
                r#"["x725653563933458400","725653563933458400.5"]"#,
            ),
            (
                "[725653563933458433,725653563933458560]",
                "[725653563933458433,725653563933458560]",
            ),
            ("[1,9007199254740993]", "[1,9007199254740993]"),
        ] {
            assert_eq!(restored(&integers, leaving), expected);
        }
        let printed = integers.restore("id: 725653563933458400,".into(), false);
        assert_eq!(printed.text, "id: 725653563933458433,");
    }

    #[test]
    fn number_of_two_integers_is_ambiguous() {
        let mut integers = LargeIntegers::default();
        integers.remember_source("f(725_653_563_933_458_433)");
        assert_eq!(
            restored(&integers, "[725653563933458400]"),
            "[725653563933458433]"
        );
        integers.remember_json(r#"["725653563933458400"]"#, "");
        let leaving = r#"{"ids":[725653563933458400]}"#;
        let ambiguous = integers.restore(leaving.into(), true).ambiguous.unwrap();
        assert_eq!(ambiguous.path, "ids[0]");
        assert_eq!(
            ambiguous.integers,
            [725_653_563_933_458_433, 725_653_563_933_458_400]
        );
        let as_text = integers.restore(r#"{"id":"725653563933458400"}"#.into(), true);
        assert_eq!(as_text.ambiguous, None);
    }

    #[test]
    fn text_without_large_integers_gives_nothing() {
        let mut integers = LargeIntegers::default();
        for json in [
            "",
            "1",
            "[1234567890123456]",
            r#"{"a":0.1234567890123456789,"b":12345678901234567890123,"c":"a12345678901234567"}"#,
            "12345678901234567e5",
            r#"["00012345678901234567"]"#,
        ] {
            assert_eq!(integers.remember_json(json, "x"), None, "{json}");
            assert!(integers.by_number.is_empty(), "{json}");
        }
    }

    #[test]
    fn literals_that_are_rounded_are_found() {
        assert_eq!(
            rounded_literal("725653563933458433"),
            Some(725_653_563_933_458_400)
        );
        assert_eq!(
            rounded_literal("725_653_563_933_458_433"),
            Some(725_653_563_933_458_400)
        );
        for literal in [
            "9007199254740992",
            "1e30",
            "0xff",
            "1",
            "1000000000000000000",
        ] {
            assert_eq!(rounded_literal(literal), None, "{literal}");
        }
    }
}
