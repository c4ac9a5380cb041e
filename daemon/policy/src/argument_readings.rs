//! The ways in which a server may read a string or number among the arguments.
//!
//! A file can be written as many paths, and a resource as many URLs. How the server reads a string is not known here,
//! so each string has several readings: spellings of the same value, and other values that a server could read. An
//! allow rule must match all spellings. A deny or ask rule is met by any reading.
//!
//! Invariant: readings depend only on the string. No file is accessed and no link followed.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Number, Value};
use url::Url;

use super::absolute_path::{AbsolutePath, PathContainment};

/// How many times percent signs are decoded: once too often does no harm, once too few may.
const MAX_PERCENT_DECODINGS: usize = 3;
/// The largest exponent that is written out. Rules do not write larger numbers digit by digit.
const MAX_DECIMAL_EXPONENT: i32 = 40;
/// URL schemes whose slashes after the scheme may be missing or doubled.
const SPECIAL_URL_SCHEMES: &[&str] = &["http", "https", "ws", "wss", "ftp", "file"];

/// The readings of one value.
#[derive(Debug)]
pub(super) struct ArgumentReadings<'a> {
    /// Spellings of the same value, the first as it was sent. Numbers are in their shortest form.
    same: Vec<Cow<'a, str>>,
    /// Other values that a server could read it as.
    also: Vec<Cow<'a, str>>,
}

impl<'a> ArgumentReadings<'a> {
    /// `None` unless the value is a string, number or boolean.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::of_text(text)),
            Value::Number(number) => Some(Self::of_number(number)),
            Value::Bool(truth) => Some(Self {
                same: vec![if *truth { "true" } else { "false" }.into()],
                also: Vec::new(),
            }),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(super) fn of_text(text: &'a str) -> Self {
        let mut readings = Self {
            same: vec![text.into()],
            also: Vec::new(),
        };
        readings.add_same(text);
        let trimmed = text.trim();
        if trimmed.len() < text.len() {
            readings.also.push(trimmed.into());
            for other in Self::of_text(trimmed).same.drain(1..) {
                readings.also.push(other.into_owned().into());
            }
        }
        let mut also = Vec::new();
        also.extend(plain_decimal(text).filter(|number| number != text));
        for text in readings.all() {
            if let Some(url) = FileUrl::read(text) {
                // Many servers ignore the host.
                also.push(url.path);
            } else if text.starts_with('/') {
                also.push(format!("file://{text}"));
            } else if let Some(path) = AbsolutePath::read(text) {
                also.extend(path.windows_spellings());
            }
            let shorter = text.trim_end_matches('/');
            if shorter.len() < text.len() && !shorter.is_empty() {
                also.push(shorter.to_owned());
            }
        }
        readings.also.extend(also.into_iter().map(Cow::Owned));
        readings
    }

    fn of_number(number: &Number) -> Self {
        let real = number.as_f64().unwrap_or(f64::NAN);
        let shortest = match whole(number) {
            Some(whole) => whole.to_string(),
            None => number.to_string(),
        };
        let mut also = vec![number.to_string(), format!("{real:e}"), format!("{real:E}")];
        if whole(number).is_some() {
            also.push(format!("{shortest}.0"));
        }
        also.extend(plain_decimal(&number.to_string()));
        also.retain(|text| *text != shortest);
        Self {
            same: vec![shortest.into()],
            also: also.into_iter().map(Cow::Owned).collect(),
        }
    }

    /// A server may decode a string before or after it resolves the dots of a path.
    fn add_same(&mut self, text: &str) {
        let mut texts = vec![text.to_owned()];
        for _ in 0..=MAX_PERCENT_DECODINGS {
            let mut decoded: Vec<String> = Vec::new();
            for text in texts {
                let url = normal_url(&text);
                let plain = tidy(&text);
                for encoded in [Some(&text), url.as_ref(), plain.as_ref()]
                    .into_iter()
                    .flatten()
                {
                    let next = percent_decode_str(encoded).decode_utf8_lossy();
                    if next != text && !decoded.iter().any(|known| *known == next) {
                        decoded.push(next.into_owned());
                    }
                }
                for reading in [Some(text), plain, url].into_iter().flatten() {
                    if !self.same.iter().any(|known| *known == reading) {
                        self.same.push(Cow::Owned(reading));
                    }
                }
            }
            texts = decoded;
        }
    }

    pub(super) fn same(&self) -> impl Iterator<Item = &str> {
        self.same.iter().map(Cow::as_ref)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.same().chain(self.also.iter().map(Cow::as_ref))
    }

    /// Returns true if a reading may be any file: it leads up (`..`) or to the home directory (`~`), from a directory
    /// that is not known here, or passes a system link such as `/proc/self/root`.
    pub(super) fn leads_anywhere(&self) -> bool {
        self.all().any(|text| {
            text.starts_with('~')
                || text == ".."
                || text.starts_with("../")
                || text.starts_with("..\\")
                || AbsolutePath::read(text).is_some_and(|path| path.leads_anywhere())
        })
    }
}

/// Compares one reading of a path with `directory`.
pub(super) fn whereabouts(path: &str, directory: &AbsolutePath) -> PathContainment {
    // C programs stop reading at a NUL.
    if path.contains('\0') {
        return PathContainment::Unknown;
    }
    if let Some(path) = AbsolutePath::read(path) {
        return path.containment(directory);
    }
    let Some(url) = FileUrl::read(path).filter(|url| !url.has_host) else {
        return PathContainment::Unknown;
    };
    // The server may or may not read it as a URL.
    let is_outside = |path: &str| whereabouts(path, directory) == PathContainment::Outside;
    let cut = path.trim_start_matches(|c| c != '/');
    if is_outside(&url.path) && (cut.is_empty() || is_outside(cut)) {
        PathContainment::Outside
    } else {
        PathContainment::Unknown
    }
}

/// A `file:` URL.
struct FileUrl {
    path: String,
    /// True if the URL names a host other than this one.
    has_host: bool,
}

impl FileUrl {
    fn read(text: &str) -> Option<Self> {
        let scheme = text.get(..5)?;
        if !scheme.eq_ignore_ascii_case("file:") {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let decoded = percent_decode_str(url.path()).decode_utf8_lossy();
        Some(Self {
            path: AbsolutePath::read(&decoded)?.text(),
            has_host: url.host().is_some(),
        })
    }
}

/// A URL normalized like a browser does: case of the host, default port, dots and slashes.
fn normal_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let is_special = SPECIAL_URL_SCHEMES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    if !is_special && !rest.starts_with("//") {
        return None;
    }
    Some(Url::parse(text).ok()?.into())
}

/// The path with `.`, `..` and doubled slashes removed, if it has any. A Windows path also gets one kind of separator.
/// In a URL, only the part after the authority changes.
fn tidy(text: &str) -> Option<String> {
    if let Some(tidied) = AbsolutePath::read(text).and_then(|path| path.tidy_windows_text(text)) {
        return (tidied != text).then_some(tidied);
    }
    let start = match text.find("://") {
        Some(scheme) => scheme + 3 + text[scheme + 3..].find('/')?,
        None => 0,
    };
    let (before, path) = text.split_at(start);
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    let mut inner = path.strip_prefix('/').unwrap_or(path).split('/');
    let last = inner.next_back();
    if !inner.any(is_odd) && !matches!(last, Some("." | "..")) {
        return None;
    }
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let root = if is_absolute { "/" } else { "" };
    let end = if path.ends_with('/') && !parts.is_empty() {
        "/"
    } else {
        ""
    };
    Some(format!("{before}{root}{}{end}", parts.join("/")))
}

/// The value as an integer, however it was written.
pub(super) fn whole(number: &Number) -> Option<i128> {
    let real = || {
        number
            .as_f64()
            .filter(|real| real.fract() == 0.0 && real.abs() < 1e37)
    };
    let of_unsigned = || number.as_u64().map(i128::from);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is an integer, and far below the largest"
    )]
    let of_real = || real().map(|real| real as i128);
    let signed = number.as_i64().map(i128::from);
    signed.or_else(of_unsigned).or_else(of_real)
}

/// The number that a lenient server may read: `+101`, `0x65`, `1_000`, `.5`.
pub(super) fn lenient_number(text: &str) -> Option<Number> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, '_' | ','))
        .collect();
    let text = text.to_lowercase();
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text.as_str()),
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            // A second sign would be accepted there, and makes no number anywhere.
            if digits.starts_with(['+', '-']) {
                return None;
            }
            let read = i64::from_str_radix(digits, radix).ok()?;
            return Some(Number::from(if negative { -read } else { read }));
        }
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let real = digits.parse::<f64>().ok()?;
    Number::from_f64(if negative { -real } else { real })
}

/// The number that a lenient server may read, without exponent, sign or needless zeros, as rules write it. All digits
/// are kept: a server may read more of them than fit into a JSON number.
fn plain_decimal(text: &str) -> Option<String> {
    let kept = text.trim().chars().filter(|c| !matches!(c, '_' | ','));
    let text = kept.collect::<String>().to_lowercase();
    let (negative, number) = match text.strip_prefix(['+', '-']) {
        Some(number) => (text.starts_with('-'), number),
        None => (false, text.as_str()),
    };
    if ["0x", "0o", "0b"]
        .iter()
        .any(|radix| number.starts_with(radix))
    {
        return Some(whole(&lenient_number(&text)?)?.to_string());
    }
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || exponent.abs() > MAX_DECIMAL_EXPONENT {
        return None;
    }
    // The position of the point among the digits.
    let point = i32::try_from(whole.len()).ok()? + exponent;
    if let Ok(before) = usize::try_from(-point) {
        digits.insert_str(0, &"0".repeat(before));
    }
    let point = usize::try_from(point).unwrap_or(0);
    if digits.len() < point {
        digits.push_str(&"0".repeat(point - digits.len()));
    }
    let (whole, fraction) = digits.split_at(point);
    let fraction = fraction.trim_end_matches('0');
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let mut decimal = match fraction {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    };
    if negative && decimal != "0" {
        decimal.insert(0, '-');
    }
    Some(decimal)
}

/// Returns true if a server could read the string as a number, although JSON does not.
pub(super) fn may_be_a_number(text: &str) -> bool {
    let first = text.chars().find(|c| c.is_alphanumeric() || *c == '∞');
    let word = text.trim().trim_start_matches(['+', '-']).to_lowercase();
    // The empty string is 0 in JavaScript.
    text.trim().is_empty()
        || first.is_some_and(|c| c.is_numeric() || c == '∞')
        || word.starts_with("inf")
        || word == "nan"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_sign_makes_no_number() {
        assert_eq!(lenient_number("-0x8000000000000000"), None);
        for text in ["-0x-8000000000000000", "0x-1", "0x+1", "--1"] {
            assert_eq!(lenient_number(text), None, "{text}");
        }
        assert_eq!(lenient_number("-0x10"), Some(Number::from(-16)));
    }

    #[test]
    fn decimals_keep_every_digit_and_lose_needless_characters() {
        for (text, decimal) in [
            ("+9007199254740993", "9007199254740993"),
            ("18446744073709551616.0", "18446744073709551616"),
            ("025E-2", "0.25"),
            ("1.005e2", "100.5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-000.10", "-0.1"),
            ("-0.0", "0"),
            ("1e3", "1000"),
            ("1,000_000", "1000000"),
            (" 0x65 ", "101"),
        ] {
            assert_eq!(plain_decimal(text).as_deref(), Some(decimal), "{text}");
        }
        for text in [
            "",
            ".",
            "e5",
            "1e",
            "1e999999999999",
            "1e41",
            "1.2.3",
            "0x",
            "a",
            "1a",
            "--1",
            "nan",
        ] {
            assert_eq!(plain_decimal(text), None, "{text}");
        }
    }

    #[test]
    fn readings_include_every_spelling_of_a_path_or_url() {
        for (written, meant) in [
            ("/srv/../etc/passwd", "/etc/passwd"),
            ("//etc//passwd", "/etc/passwd"),
            ("/./etc/passwd", "/etc/passwd"),
            ("/etc/%70asswd", "/etc/passwd"),
            ("/srv/%2e%2e/etc/passwd", "/etc/passwd"),
            ("/srv/%252e%252e/etc/passwd", "/etc/passwd"),
            (" /etc/passwd\n", "/etc/passwd"),
            ("/etc/passwd/", "/etc/passwd"),
            ("file:///srv/../etc/passwd", "file:///etc/passwd"),
            ("file:///srv/%2e%2e/etc/passwd", "/etc/passwd"),
            ("file:///etc/x%2fy/../../passwd", "/etc/passwd"),
            ("file:///etc/x%2fy/../passwd", "/etc/passwd"),
            ("file://a.example/srv/../etc/passwd", "/etc/passwd"),
            ("FILE:/etc/passwd", "file:///etc/passwd"),
            ("file://localhost/etc/passwd", "/etc/passwd"),
            ("/etc/passwd", "file:///etc/passwd"),
            ("https://Host.Example:443/a/../b", "https://host.example/b"),
            ("https:\\\\host.example\\b", "https://host.example/b"),
            ("notes://all/./a//b", "notes://all/a/b"),
            ("a/./b/../c", "a/c"),
            ("./../a", "../a"),
        ] {
            let readings = ArgumentReadings::of_text(written);
            assert!(
                readings.all().any(|it| it == meant),
                "{written}: {readings:?}"
            );
        }
        for plain in ["", "a", "/srv/a b.txt", "a.b", "50% off", "see http", "..."] {
            let readings = ArgumentReadings::of_text(plain);
            assert_eq!(readings.same().collect::<Vec<_>>(), [plain]);
        }
        let numbers: Value = serde_json::from_str("[100, 100.0, 1e2, 1.5, -0.0]").unwrap();
        let same = |number| {
            ArgumentReadings::of(number).unwrap().same[0]
                .clone()
                .into_owned()
        };
        let same: Vec<String> = numbers.as_array().unwrap().iter().map(same).collect();
        assert_eq!(same, ["100", "100", "100", "1.5", "0"]);
    }

    #[test]
    fn path_of_unknown_location_is_neither_inside_nor_outside() {
        use PathContainment::{Inside, Outside, Unknown};
        let directory = AbsolutePath::read("/home/me/.ssh").unwrap();
        for (path, expected) in [
            ("/home/me/.ssh", Inside),
            ("/home/me/x/../.ssh/id", Inside),
            ("/home/me/.ssh/../x", Outside),
            ("/home/me/.sshd", Outside),
            (".ssh/id", Unknown),
            ("../.ssh/id", Unknown),
            ("~/.ssh/id", Unknown),
            ("", Unknown),
            ("file:///home/me/.ssh/id", Unknown),
            ("file:///home/me/x/..%2f.ssh/id", Unknown),
            ("file:///tmp/x", Outside),
            ("file://elsewhere/tmp/x", Unknown),
            ("https://a.example/x", Unknown),
            ("/home/me/.ssh/id\0/../../../../tmp", Unknown),
            ("/proc/self/root/home/me/.ssh/id", Unknown),
            ("/proc/17/cwd/id", Unknown),
            ("/proc/cpuinfo", Outside),
        ] {
            assert_eq!(whereabouts(path, &directory), expected, "{path:?}");
        }
    }
}
