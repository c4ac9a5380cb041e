//! The ways in which a server may read a string or number among the arguments.
//!
//! A file can be written as many paths, and a resource as many URLs. How the server reads a string is not known here,
//! so each string has several readings. A rule that allows must hold for all of them; a rule that denies or asks is met
//! by any of them.
//!
//! Invariant: readings depend on the text alone. No file is accessed and no link followed.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Number, Value};
use url::Url;

use super::absolute_path::{AbsolutePath, PathContainment};

/// How many times percent signs are decoded: once too often does no harm, once too few may.
const MAX_PERCENT_DECODINGS: usize = 3;
/// Schemes of URLs whose slashes after the scheme may be missing or doubled.
const SPECIAL_URL_SCHEMES: &[&str] = &["http", "https", "ws", "wss", "ftp", "file"];

/// The readings of one value.
#[derive(Debug)]
pub(super) struct ArgumentReadings<'a> {
    /// Spellings of the same value, the first as it was sent; a number in its shortest form.
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
        // The text that JSON uses for that number.
        let number = lenient_number(text).and_then(|number| Some(whole(&number)?.to_string()));
        also.extend(number.filter(|number| number != text));
        for text in readings.all() {
            if let Some(path) = file_path(text) {
                also.push(path);
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
        also.retain(|text| *text != shortest);
        Self {
            same: vec![shortest.into()],
            also: also.into_iter().map(Cow::Owned).collect(),
        }
    }

    fn add_same(&mut self, text: &str) {
        let mut decoded = Cow::Borrowed(text);
        for _ in 0..=MAX_PERCENT_DECODINGS {
            let plain = tidy(&decoded);
            let url = normal_url(&decoded);
            for reading in [Some(decoded.clone().into_owned()), plain, url.clone()] {
                let reading = reading.filter(|reading| !self.same.iter().any(|it| it == reading));
                self.same.extend(reading.map(Cow::Owned));
            }
            let next = percent_decode_str(url.as_deref().unwrap_or(&decoded)).decode_utf8_lossy();
            if next == *decoded {
                break;
            }
            decoded = Cow::Owned(next.into_owned());
        }
    }

    pub(super) fn same(&self) -> impl Iterator<Item = &str> {
        self.same.iter().map(Cow::as_ref)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.same().chain(self.also.iter().map(Cow::as_ref))
    }

    /// Whether a reading may be any file: it leads up (`..`) or to the home directory (`~`), from a directory that is
    /// not known here, or passes a link of the system such as `/proc/self/root`.
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

/// Whether one reading of a path lies in `directory`.
pub(super) fn whereabouts(path: &str, directory: &AbsolutePath) -> PathContainment {
    // C programs stop reading at a NUL.
    if path.contains('\0') {
        return PathContainment::Unknown;
    }
    if let Some(path) = AbsolutePath::read(path) {
        return path.containment(directory);
    }
    let Some(url_path) = file_path(path) else {
        return PathContainment::Unknown;
    };
    // The server may or may not read it as a URL.
    let is_outside = |path: &str| whereabouts(path, directory) == PathContainment::Outside;
    let cut = path.trim_start_matches(|c| c != '/');
    match is_outside(&url_path) && (cut.is_empty() || is_outside(cut)) {
        true => PathContainment::Outside,
        false => PathContainment::Unknown,
    }
}

/// The path of a `file:` URL without a remote host.
fn file_path(text: &str) -> Option<String> {
    let scheme = text.get(..5)?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let decoded = percent_decode_str(url.path()).decode_utf8_lossy();
    let path = AbsolutePath::read(&decoded)?;
    url.host().is_none().then(|| path.text())
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

/// The path with `.`, `..` and doubled slashes removed, if it has any; a path of Windows with one kind of separator. Of
/// a URL only the part after the authority changes.
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
    let end = match path.ends_with('/') && !parts.is_empty() {
        true => "/",
        false => "",
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

/// Whether a server could read the text as a number, although JSON does not.
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
