//! Tests of one argument.
//!
//! A test has three outcomes, because a value has many spellings and how the server reads it is not always known. An
//! allow rule requires [`TestResult::Yes`]. A deny or ask rule applies unless the result is [`TestResult::No`].
//!
//! Invariant: a missing value meets only `present = false` and `not`. A number that was sent as a string counts as that
//! number: "2000" also meets `over = 1000`.

use std::cmp::Ordering;

use serde_json::{Number, Value};
use toml::Value as Written;

use super::absolute_path::{AbsolutePath, PathContainment};
use super::argument_readings::{
    ArgumentReadings, lenient_number, may_be_a_number, whereabouts, whole,
};
use super::regex_test::RegexTest;
use mux_text::did_you_mean::nearest;
use mux_text::glob::Glob;

const TEST_KEYS: &[&str] = &["is", "not", "over", "under", "below", "present", "regex"];
/// The maximum compiled size of a regular expression, in rules that the user has written or approved.
pub(super) const MAX_REGEX_BYTES: usize = 1 << 20;
/// The maximum compiled size of a regular expression in unapproved rules.
pub(super) const MAX_UNAPPROVED_REGEX_BYTES: usize = 1 << 16;

/// The result of a test for the value that the server will read.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum TestResult {
    No,
    /// The test is met for only some spellings of the value, or for another value that a server could read.
    Maybe,
    /// The test is met for every spelling of the value.
    Yes,
}

/// One test of a value.
#[derive(Clone, Debug)]
pub(super) enum ArgumentTest {
    /// Matches a string, or the JSON of a number or boolean.
    Text(TextTest),
    Number(Number),
    Truth(bool),
    Any(Vec<ArgumentTest>),
    All(Vec<ArgumentTest>),
    Not(Box<ArgumentTest>),
    Over(Number),
    Under(Number),
    /// A path that is this directory or inside it, compared as strings.
    Below(AbsolutePath),
    Present(bool),
    Regex(RegexTest),
}

impl ArgumentTest {
    /// `largest` is the maximum compiled size of a regular expression, in bytes.
    pub(super) fn read(written: &Written, largest: usize) -> Result<Self, String> {
        match written {
            Written::String(text) => Ok(Self::Text(TextTest::new(text))),
            Written::Boolean(truth) => Ok(Self::Truth(*truth)),
            Written::Integer(_) | Written::Float(_) => Ok(Self::Number(number(written)?)),
            Written::Array(several) if !several.is_empty() => {
                let several = several.iter().map(|written| Self::read(written, largest));
                Ok(Self::Any(several.collect::<Result<_, _>>()?))
            }
            Written::Table(table) if !table.is_empty() => {
                let tests = table
                    .iter()
                    .map(|(key, written)| Self::named(key, written, largest));
                Ok(Self::All(tests.collect::<Result<_, _>>()?))
            }
            _ => Err(
                "a test is a string, a number, true, false, a list of them, or a table with some of \
                      is, not, over, under, below, present, regex"
                    .into(),
            ),
        }
    }

    fn named(key: &str, written: &Written, largest: usize) -> Result<Self, String> {
        let must = |what: &str| format!("`{key}` must be {what}");
        match key {
            "is" => Self::read(written, largest),
            "not" => Ok(Self::Not(Box::new(Self::read(written, largest)?))),
            "over" => Ok(Self::Over(number(written).map_err(|_| must("a number"))?)),
            "under" => Ok(Self::Under(number(written).map_err(|_| must("a number"))?)),
            "present" => match written.as_bool() {
                Some(wanted) => Ok(Self::Present(wanted)),
                None => Err(must("true or false")),
            },
            "below" => match written.as_str().and_then(AbsolutePath::read) {
                Some(directory) => Ok(Self::Below(directory)),
                None => Err(must("the absolute path of a directory")),
            },
            "regex" => {
                let text = written.as_str().ok_or_else(|| must("a text"))?;
                let compiled = regex::RegexBuilder::new(text).size_limit(largest).build();
                let wrong = |error| match error {
                    regex::Error::CompiledTooBig(_) => must(&format!(
                        "a regular expression that takes {largest} bytes at most, compiled; \\d and \\w are shorter \
                         with (?-u)"
                    )),
                    _ => must("a regular expression of Rust's crate regex"),
                };
                let compiled = compiled.map_err(wrong)?;
                // Case-insensitive classes are larger.
                let in_any_case = regex::RegexBuilder::new(text)
                    .case_insensitive(true)
                    .size_limit(4 * largest)
                    .build();
                Ok(Self::Regex(RegexTest::new(
                    compiled,
                    in_any_case.map_err(wrong)?,
                )))
            }
            unknown => Err(match nearest(unknown, TEST_KEYS.iter().copied()) {
                Some(near) => format!("unknown test `{unknown}` (did you mean `{near}`?)"),
                None => format!("unknown test `{unknown}` (known: {})", TEST_KEYS.join(", ")),
            }),
        }
    }

    /// Applies the test to a value, or to `None` if there is no value.
    pub(super) fn met(&self, value: Option<&Value>) -> TestResult {
        let given = match (self, value) {
            (Self::Present(wanted), value) => return TestResult::of(value.is_some() == *wanted),
            (Self::Not(test), value) => return test.met(value).not(),
            (Self::Any(tests), value) => {
                let met = tests.iter().map(|test| test.met(value));
                return met.max().unwrap_or(TestResult::No);
            }
            (Self::All(tests), value) => {
                let met = tests.iter().map(|test| test.met(value));
                return met.min().unwrap_or(TestResult::Yes);
            }
            (_, None) => return TestResult::No,
            (_, Some(given)) => given,
        };
        match self {
            Self::Text(wanted) => text(wanted, given),
            Self::Regex(pattern) => pattern.met(given),
            Self::Truth(truth) => is_truth(*truth, given),
            Self::Number(wanted) => compared(given, wanted, Ordering::Equal),
            Self::Over(least) => compared(given, least, Ordering::Greater),
            Self::Under(most) => compared(given, most, Ordering::Less),
            Self::Below(directory) => below(directory, given),
            Self::Any(_) | Self::All(_) | Self::Not(_) | Self::Present(_) => TestResult::No,
        }
    }
}

/// A glob, as written and in lower case.
#[derive(Clone, Debug)]
pub(super) struct TextTest {
    glob: Glob,
    in_lower_case: Glob,
}

impl TextTest {
    fn new(text: &str) -> Self {
        Self {
            glob: Glob::new(text),
            in_lower_case: Glob::new(&text.to_lowercase()),
        }
    }

    fn matches_in_any_case(&self, text: &str) -> bool {
        let head = self.in_lower_case.head();
        // Most strings differ early, and are not copied.
        let mut letters = text.chars().flat_map(char::to_lowercase);
        head.chars().all(|letter| letters.next() == Some(letter))
            && self.in_lower_case.matches(&text.to_lowercase())
    }
}

impl TestResult {
    fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }

    pub(super) fn or_maybe(self, may: bool) -> Self {
        match self {
            Self::No if may => Self::Maybe,
            met => met,
        }
    }
}

impl ArgumentReadings<'_> {
    pub(super) fn met(&self, holds: impl Fn(&str) -> bool) -> TestResult {
        TestResult::of(self.same().all(&holds)).or_maybe(self.all().any(holds))
    }
}

fn text(test: &TextTest, given: &Value) -> TestResult {
    let glob = &test.glob;
    let Some(readings) = ArgumentReadings::of(given) else {
        return TestResult::No;
    };
    let wanted = glob.as_str();
    if glob.is_literal() && readings.same().next() == Some(wanted) {
        return TestResult::Yes;
    }
    let met = readings.met(|reading| glob.matches(reading));
    let is_number = || {
        let read = match given {
            Value::Number(number) => Some(number.clone()),
            Value::String(text) => lenient_number(text),
            _ => None,
        };
        let wanted = lenient_number(wanted).filter(|_| glob.is_literal());
        let both = read.zip(wanted);
        both.is_some_and(|(read, wanted)| order(&read, &wanted) == Some(Ordering::Equal))
    };
    // The path may be relative to an unknown directory. A plain name may be any file, so it does not count.
    let leads_anywhere =
        || begins_a_path(glob.head()) && given.is_string() && readings.leads_anywhere();
    // The server may ignore the case of letters.
    let is_in_other_case = || {
        let mut all = readings.all();
        all.any(|reading| test.matches_in_any_case(reading))
    };
    let is_path_of_windows = || may_name_path_of_windows(glob, &readings);
    let may_match =
        || is_number() || leads_anywhere() || is_path_of_windows() || is_in_other_case();
    met.or_maybe(met == TestResult::No && may_match())
}

/// Returns true if a reading is a Windows path that the glob may mean: Windows ignores case and has two separators.
fn may_name_path_of_windows(glob: &Glob, readings: &ArgumentReadings<'_>) -> bool {
    let has_drive = is_path_of_windows(glob.head());
    if !has_drive && !glob.as_str().contains('\\') {
        return false;
    }
    let comparable = |text: &str| text.replace('\\', "/").to_lowercase();
    let wanted = Glob::new(&comparable(glob.as_str()));
    readings.all().any(|reading| {
        // The drive of a path that begins with a separator is not known here.
        (has_drive && reading.starts_with(['/', '\\']))
            || (is_path_of_windows(reading) && wanted.matches(&comparable(reading)))
    })
}

/// Returns true if a string that begins with this is an absolute path or a `file:` URL.
fn begins_a_path(text: &str) -> bool {
    let scheme = text.get(..5);
    text.starts_with('/')
        || is_path_of_windows(text)
        || scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Returns true if a string that begins with this is a path with a drive.
fn is_path_of_windows(text: &str) -> bool {
    AbsolutePath::read(text).is_some_and(|path| path.has_drive())
}

fn is_truth(truth: bool, given: &Value) -> TestResult {
    let (word, digit) = if truth { ("true", "1") } else { ("false", "0") };
    ArgumentReadings::of(given).map_or(TestResult::No, |readings| {
        let may = |text: &str| text.eq_ignore_ascii_case(word) || text == digit;
        TestResult::of(readings.same().next() == Some(word)).or_maybe(readings.all().any(may))
    })
}

fn below(directory: &AbsolutePath, given: &Value) -> TestResult {
    let Value::String(text) = given else {
        // Not a path, unless the server converts it into one.
        return TestResult::Maybe;
    };
    let readings = ArgumentReadings::of_text(text);
    let lies = |reading: &str| whereabouts(reading, directory);
    let is_inside = readings
        .same()
        .all(|it| lies(it) == PathContainment::Inside);
    let may_be = readings
        .all()
        .any(|it| lies(it) != PathContainment::Outside);
    TestResult::of(is_inside).or_maybe(may_be)
}

/// The result of testing that comparing the value with `with` gives `wanted`.
fn compared(value: &Value, with: &Number, wanted: Ordering) -> TestResult {
    let is_so = |number: &Number| TestResult::of(order(number, with) == Some(wanted));
    match value {
        Value::Number(number) => is_so(number),
        Value::String(text) => match text.trim().parse::<Number>() {
            Ok(number) => is_so(&number),
            Err(_) => TestResult::No.or_maybe(may_be_a_number(text)),
        },
        _ => TestResult::No,
    }
}

fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn number(written: &Written) -> Result<Number, String> {
    let number = match written {
        Written::Integer(whole) => Some(Number::from(*whole)),
        Written::Float(real) => Number::from_f64(*real),
        _ => None,
    };
    number.ok_or_else(|| "it must be a number that JSON can represent".into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn test(written: &str) -> Result<ArgumentTest, String> {
        let table: toml::Table = toml::from_str(&format!("t = {written}")).unwrap();
        ArgumentTest::read(&table["t"], MAX_REGEX_BYTES)
    }

    #[test]
    fn each_test_matches_its_values() {
        for (written, yes, no) in [
            (
                "\"/etc/*\"",
                json!(["/etc/passwd"]),
                json!(["/tmp/x", null, ["/etc/x"], {}]),
            ),
            ("\"4?\"", json!(["42", 42]), json!([4, true])),
            ("[\"a\", \"b*\"]", json!(["a", "bc"]), json!(["c", null])),
            ("7", json!([7, 7.0, "7"]), json!([8, "x", true, null])),
            ("true", json!([true, "true"]), json!([false, 1, null])),
            (
                "{ over = 1000 }",
                json!([1001, "2000", 1e9]),
                json!([1000, "x", null, [2000]]),
            ),
            (
                "{ over = 0, under = 10 }",
                json!([1, 9.5]),
                json!([0, 10, -3]),
            ),
            (
                "{ under = 9007199254740993 }",
                json!([9_007_199_254_740_992_i64]),
                json!([9_007_199_254_740_993_i64, 18_446_744_073_709_551_615_u64]),
            ),
            ("{ present = true }", json!([0, "", false]), json!([null])),
            ("{ present = false }", json!([null]), json!([0])),
            (
                "{ not = \"a*\" }",
                json!(["b", null, 3]),
                json!(["a", "ab"]),
            ),
            (
                "{ is = \"a*\", not = \"ab\" }",
                json!(["a", "abc"]),
                json!(["ab", "b"]),
            ),
            (
                "{ below = \"/srv/data/\" }",
                json!(["/srv/data", "/srv/data/x", "//srv/./data/y/../z"]),
                json!(["/srv/data/../x", "/srv/database", "srv/data", "~/x", 3]),
            ),
            (
                "{ regex = \"^v[0-9]+$\" }",
                json!(["v12"]),
                json!(["v", "xv1", null]),
            ),
        ] {
            let test = test(written).unwrap();
            let holds = |value: &Value| {
                let value = Some(value).filter(|value| !value.is_null());
                test.met(value) == TestResult::Yes
            };
            for value in yes.as_array().unwrap() {
                assert!(holds(value), "{written} {value}");
            }
            for value in no.as_array().unwrap() {
                assert!(!holds(value), "{written} {value}");
            }
        }
    }

    #[test]
    fn ambiguous_value_is_maybe_and_other_value_is_no() {
        let ssh = "{ below = \"/home/me/.ssh\" }";
        for (written, maybe, no) in [
            (
                "\"100\"",
                json!(["1e2", "100.0", "+100", "0x64", " 100"]),
                json!([101, "7f", "a", {}]),
            ),
            ("\"100.0\"", json!([100, 100.0]), json!([100.5])),
            ("{ regex = \"^1e2$\" }", json!([100]), json!([101])),
            (
                "100",
                json!(["+100", "0x64", "1e2x", ""]),
                json!(["one", "x100", true]),
            ),
            (
                "{ over = 100 }",
                json!(["0x65", "+101", "1_000", "$5", "Infinity", "۱۲۳", "-inf"]),
                json!(["x", "a1", 100, "100", null, [101]]),
            ),
            (
                "{ not = { over = 100 } }",
                json!(["0x65"]),
                json!([101, "101"]),
            ),
            (
                "true",
                json!(["True", 1, "1", " true"]),
                json!([false, 0, "yes"]),
            ),
            (
                ssh,
                json!([
                    "../.ssh/id_rsa",
                    "~/.ssh",
                    "id_rsa",
                    "file:///home/me/.ssh/id_rsa",
                    "/home/me/%2essh/id_rsa",
                    "/home/me/.ssh/%2e%2e/x",
                    "/tmp/%2e%2e/home/me/.ssh",
                    " /home/me/.ssh",
                    "$HOME/.ssh",
                    "",
                    ["/home/me/.ssh"],
                    {},
                    3
                ]),
                json!(["/home/me/.ssh/../x", "/tmp/x", "file:///tmp/x", null]),
            ),
            (
                "{ not = { below = \"/srv\" } }",
                json!(["a", "~", "file:///srv/a", "/srv/%2e%2e/a"]),
                json!(["/srv/a", "//srv/./a"]),
            ),
            (
                "\"/srv/*\"",
                json!([
                    "/srv/../etc/passwd",
                    "/srv/%2e%2e/etc",
                    "//srv/a",
                    "/./srv/a",
                    "file:///srv/a",
                    "../srv/a",
                    "~/a"
                ]),
                json!(["/etc/passwd", "srv/a", "a"]),
            ),
            (
                r"'C:\srv\*'",
                json!([
                    "C:\\srv\\..\\etc",
                    "C:\\srv\\.. \\etc",
                    "c:\\SRV\\a",
                    "C:/srv/a",
                    "C:\\srv/a",
                    "C:\\x\\..\\srv\\a",
                    "..\\srv\\a",
                    "\\srv\\a",
                    "\\\\?\\C:\\srv\\a",
                    "/srv/a"
                ]),
                json!(["D:\\srv\\a", "C:\\etc\\a", "srv\\a"]),
            ),
            (
                r"'*\.ssh\*'",
                json!(["c:/users/me/.SSH/id", "C:\\Users\\me\\.ssh.\\id"]),
                json!(["C:\\Users\\me\\ssh\\id"]),
            ),
            (
                "{ below = 'C:\\srv' }",
                json!([
                    "srv",
                    "/srv/a",
                    "C:a",
                    "C:\\SRV~1\\a",
                    "\\\\host\\srv\\a",
                    "file:///C:/srv/a"
                ]),
                json!(["D:\\srv\\a", "c:/srv/../a"]),
            ),
            (
                "{ regex = \"^(/srv/|(?i)FILE:///srv/)\" }",
                json!(["../srv/a", "~/a", "/srv/../etc/passwd", "//srv/a"]),
                json!(["/etc/passwd", "srv/a", "a"]),
            ),
            (
                "{ regex = \"^v[0-9]+$\" }",
                json!([" v1"]),
                json!(["../v1", "~/v1"]),
            ),
            (
                "\"file:///srv/*\"",
                json!([
                    "file:///srv/../etc/passwd",
                    "file:///srv/%2e%2e/etc/passwd",
                    "file:////srv/a",
                    "FILE:///srv/a",
                    "/srv/a",
                    "file:/srv/a",
                    "file://localhost/srv/a",
                    "file:///etc/../srv/a",
                    "file:///%73rv/a"
                ]),
                json!(["file:///etc/passwd", "https://srv/a"]),
            ),
            (
                "\"/etc/*\"",
                json!([
                    "/proc/self/root/etc/passwd",
                    "/proc/thread-self/root/etc/passwd",
                    "/proc/17/root/etc/passwd",
                    "/proc/self/cwd/passwd",
                    "/proc/self/cwd/../../etc/passwd",
                    "/proc/self/cwd/../../../../../x",
                    "/proc/self/fd/3",
                    "/dev/fd/3",
                    "/dev/stdin",
                    "/.vol/16777220/2/etc/passwd",
                    "/System/Volumes/Data/etc/passwd",
                    "/system/VOLUMES/data/etc/passwd",
                    "file:///proc/self/root/etc/passwd",
                    "file:///proc/self/%72oot/etc/passwd",
                    "/proc/self/../self/root/etc/passwd",
                    "/ETC/passwd",
                    "file:///Etc/passwd"
                ]),
                json!([
                    "/proc/cpuinfo",
                    "/dev/null",
                    "/srv/proc/self/root",
                    "/System/Library/x"
                ]),
            ),
            (
                "{ regex = \"^/etc/\" }",
                json!([
                    "/proc/self/root/etc/passwd",
                    "file:///proc/1/root/etc/passwd",
                    "/dev/fd/3",
                    "/.vol/1/2",
                    "/Etc/passwd"
                ]),
                json!(["/proc/cpuinfo", "/srv"]),
            ),
            (
                "{ below = \"/home/me/.ssh\" }",
                json!([
                    "/proc/self/cwd/../../../home/me/.ssh/id",
                    "/proc/self/cwd/../../../x",
                    "/.vol/1/2",
                    "/System/Volumes/Data/home/me/.ssh/id",
                    "/HOME/me/.SSH/id",
                    "/dev/fd/3"
                ]),
                json!(["/HOME/me/.sshd/id", "/HOME/me"]),
            ),
            (
                "\"DELETE\"",
                json!(["delete", "Delete", " delete"]),
                json!(["delet", "deleted", "undelete"]),
            ),
            ("{ not = \"DELETE\" }", json!(["delete"]), json!(["DELETE"])),
            ("\"*Über*\"", json!(["über", "xÜBERx"]), json!(["uber"])),
            (
                "{ regex = \"^(DROP|drop) T\" }",
                json!(["Drop t", "drop table"]),
                json!(["drops t"]),
            ),
            (
                "\"https://a.example/*\"",
                json!([
                    "HTTPS://A.EXAMPLE/x",
                    "https://a.example:443/x",
                    "https:a.example/x"
                ]),
                json!(["https://b.example/x", "http://a.example/x"]),
            ),
        ] {
            let test = test(written).unwrap();
            let met = |value: &Value| test.met(Some(value).filter(|value| !value.is_null()));
            for value in maybe.as_array().unwrap() {
                assert_eq!(met(value), TestResult::Maybe, "{written} {value}");
            }
            for value in no.as_array().unwrap() {
                assert_eq!(met(value), TestResult::No, "{written} {value}");
            }
        }
        for (written, yes) in [
            ("\"100\"", json!([100, 100.0, 1e2, "100"])),
            (
                "\"/srv/*\"",
                json!(["/srv/a//b", "/srv/a/./b", "/srv/100%25"]),
            ),
            ("\"a // b\"", json!(["a // b"])),
            (r"'C:\srv\*'", json!(["C:\\srv\\a", "C:\\srv\\a\\b.txt"])),
            (
                r"{ below = 'C:\srv' }",
                json!(["C:\\srv", "c:/SRV/a", "C:\\srv\\x\\..\\a"]),
            ),
            (
                "\"https://a.example/*\"",
                json!(["https://a.example/x%20y?z=/../"]),
            ),
        ] {
            let test = test(written).unwrap();
            for value in yes.as_array().unwrap() {
                assert_eq!(test.met(Some(value)), TestResult::Yes, "{written} {value}");
            }
        }
    }

    #[test]
    fn unapproved_regex_has_a_lower_size_limit() {
        let long = toml::Value::Table(toml::toml! { regex = "(?-u)a{5000}" });
        assert!(ArgumentTest::read(&long, MAX_REGEX_BYTES).is_ok());
        let error = ArgumentTest::read(&long, MAX_UNAPPROVED_REGEX_BYTES).unwrap_err();
        assert!(error.contains("65536 bytes at most"), "{error}");
    }

    #[test]
    fn malformed_test_is_reported() {
        for (written, expected) in [
            ("{ ovr = 3 }", "did you mean `over`"),
            ("{ over = \"3\" }", "`over` must be a number"),
            ("{ over = nan }", "`over` must be a number"),
            ("{ below = \"srv\" }", "absolute path"),
            ("{ regex = \"(\" }", "regular expression"),
            ("{ present = 1 }", "true or false"),
            ("[]", "a test is"),
            ("{}", "a test is"),
            ("1979-05-27", "a test is"),
        ] {
            let error = test(written).unwrap_err();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }
}
