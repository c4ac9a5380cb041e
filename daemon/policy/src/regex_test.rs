//! A regular expression as a test of an argument.
//!
//! Invariant: an expression that has a match beginning with an absolute path or a `file:` URL may match every path that
//! leads anywhere, because its base is unknown. An expression that matches a string may match it in another case.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

use super::{argument_readings::ArgumentReadings, argument_test::TestResult};

/// The scheme of a file URL. Case is ignored.
const FILE_SCHEME: &[u8] = b"file:";
/// The maximum number of visited nodes. Nested repetitions could multiply them without bound.
const MAX_VISITED_NODES: u32 = 10_000;

/// A regular expression, and whether it can match absolute paths.
#[derive(Clone, Debug)]
pub(super) struct RegexTest {
    regex: Regex,
    /// The same, with letters of either case.
    in_any_case: Regex,
    is_of_paths: bool,
}

impl RegexTest {
    pub(super) fn new(regex: Regex, in_any_case: Regex) -> Self {
        // A compiled expression can be parsed. If that fails, assume that it matches paths.
        let parsed = regex_syntax::parse(regex.as_str());
        let is_of_paths = parsed.map_or(true, |hir| PathStart::default().may_follow(&hir));
        Self {
            regex,
            in_any_case,
            is_of_paths,
        }
    }

    pub(super) fn met(&self, given: &Value) -> TestResult {
        let Some(readings) = ArgumentReadings::of(given) else {
            return TestResult::No;
        };
        let met = readings.met(|reading| self.regex.is_match(reading));
        if met != TestResult::No {
            return met;
        }
        let leads_anywhere = self.is_of_paths && given.is_string() && readings.leads_anywhere();
        // The server may ignore the case of letters.
        let is_in_other_case = || {
            let mut all = readings.all();
            all.any(|reading| self.in_any_case.is_match(reading))
        };
        met.or_maybe(leads_anywhere || is_in_other_case())
    }
}

/// Bit `n`: the first `n` letters of [`FILE_SCHEME`] were matched so far. Bit 0: no match so far rules a path out.
type Progress = u8;

/// Searches an expression for a match that begins with `/` or `file:`.
#[derive(Default)]
struct PathStart {
    is_found: bool,
    visited: u32,
}

impl PathStart {
    fn may_follow(mut self, hir: &Hir) -> bool {
        self.after(hir, 1);
        self.is_found
    }

    /// The progress that matches may have after this part, given the progress before it.
    fn after(&mut self, hir: &Hir, before: Progress) -> Progress {
        self.visited += 1;
        self.is_found |= self.visited > MAX_VISITED_NODES;
        if self.is_found || before == 0 {
            return 0;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => before,
            HirKind::Literal(literal) => {
                let bytes = literal.0.iter();
                bytes.fold(before, |before, byte| self.after_byte(*byte, before))
            }
            HirKind::Class(class) => self.after_class(class, before),
            HirKind::Capture(capture) => self.after(&capture.sub, before),
            HirKind::Concat(parts) => parts
                .iter()
                .fold(before, |before, part| self.after(part, before)),
            HirKind::Alternation(parts) => parts
                .iter()
                .fold(0, |all, part| all | self.after(part, before)),
            HirKind::Repetition(repetition) => {
                let mut reached = if repetition.min == 0 { before } else { 0 };
                let mut last = before;
                // More rounds than the scheme has letters make no difference.
                for _ in 0..repetition.max.unwrap_or(u32::MAX).min(6) {
                    last = self.after(&repetition.sub, last);
                    if last | reached == reached {
                        break;
                    }
                    reached |= last;
                }
                reached
            }
        }
    }

    fn after_byte(&mut self, byte: u8, before: Progress) -> Progress {
        self.is_found |= byte == b'/' && before & 1 != 0;
        let mut after = 0;
        for (matched, wanted) in FILE_SCHEME.iter().enumerate() {
            if before & (1 << matched) != 0 && byte.eq_ignore_ascii_case(wanted) {
                after |= 1 << (matched + 1);
            }
        }
        self.is_found |= after & (1 << FILE_SCHEME.len()) != 0;
        after
    }

    fn after_class(&mut self, class: &Class, before: Progress) -> Progress {
        let ascii: Vec<u8> = match class {
            Class::Unicode(class) => (0..128)
                .filter(|byte| {
                    let character = char::from(*byte);
                    class
                        .iter()
                        .any(|range| (range.start()..=range.end()).contains(&character))
                })
                .collect(),
            Class::Bytes(class) => (0..128)
                .filter(|byte| {
                    class
                        .iter()
                        .any(|range| (range.start()..=range.end()).contains(byte))
                })
                .collect(),
        };
        let has_letters = ascii.iter().any(u8::is_ascii_alphabetic);
        let has_slash = ascii.contains(&b'/');
        match ascii.as_slice() {
            // A class that matches anything, such as `.`: the next part decides.
            _ if has_slash && has_letters => before & 1,
            _ if has_slash => self.after_byte(b'/', before),
            // One letter in both cases.
            [first, rest @ ..] if rest.iter().all(|byte| byte.eq_ignore_ascii_case(first)) => {
                self.after_byte(*first, before)
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_of_paths(text: &str) -> bool {
        let regex = Regex::new(text).unwrap();
        RegexTest::new(regex.clone(), regex).is_of_paths
    }

    #[test]
    fn regexes_that_match_absolute_paths_are_recognized() {
        for of_paths in [
            "^/srv/data/",
            "/srv",
            r"^\s*/srv",
            "^(/srv|/home)/",
            "^(?:relative|/srv)",
            "^(file://)?/srv",
            "(?i)^file:",
            "^[fF]ile:///srv",
            r"^[/\\]srv",
            ".*/srv/data/.*",
            "^.+/secret$",
            r"^(?-u:\s)*/x",
            &format!("^{}a*{}/x", "(".repeat(40), ")*".repeat(40)),
            r"^\W+etc",
            "^/?srv",
        ] {
            assert!(is_of_paths(of_paths), "{of_paths}");
        }
        for other in [
            r"^\d+$",
            ".*x",
            "^v[0-9]+$",
            "^https?://",
            "^[a-z]+://",
            "^files",
            "^srv/data",
            r"^\w+$",
            "DROP TABLE",
            "^$",
            "^[^/]+$",
            "(?i)select",
        ] {
            assert!(!is_of_paths(other), "{other}");
        }
    }
}
