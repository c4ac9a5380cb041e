//! What must hold of one argument.
//!
//! Invariant: of what is absent nothing holds but `present = false` and `not`. A number that was sent as text
//! counts as that number: whoever asks for `over = 1000` means "2000", too.

use std::cmp::Ordering;

use regex::Regex;
use serde_json::{Number, Value};
use toml::Value as Written;

use super::glob::Glob;
use crate::nearest::nearest;

const KEYS: &[&str] = &["is", "not", "over", "under", "below", "present", "regex"];
/// A regular expression, compiled.
const LARGEST: usize = 1 << 20;

/// One test of a value.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// Of a text, or of the text of a number or a truth value.
    Text(Glob),
    Number(Number),
    Truth(bool),
    Any(Vec<Test>),
    All(Vec<Test>),
    Not(Box<Test>),
    Over(Number),
    Under(Number),
    /// An absolute path that is this directory or stands in it, by its letters.
    Below(Vec<String>),
    Present(bool),
    Regex(Regex),
}

impl Test {
    pub(super) fn read(written: &Written) -> Result<Self, String> {
        match written {
            Written::String(text) => Ok(Self::Text(Glob::new(text))),
            Written::Boolean(truth) => Ok(Self::Truth(*truth)),
            Written::Integer(_) | Written::Float(_) => Ok(Self::Number(number(written)?)),
            Written::Array(several) if !several.is_empty() => {
                let several = several.iter().map(Self::read);
                Ok(Self::Any(several.collect::<Result<_, _>>()?))
            }
            Written::Table(table) if !table.is_empty() => {
                let tests = table.iter().map(|(key, written)| Self::named(key, written));
                Ok(Self::All(tests.collect::<Result<_, _>>()?))
            }
            _ => Err(
                "a test is a text, a number, true, false, a list of them, or a table with some of \
                      is, not, over, under, below, present, regex"
                    .into(),
            ),
        }
    }

    fn named(key: &str, written: &Written) -> Result<Self, String> {
        let must = |what: &str| format!("`{key}` must be {what}");
        match key {
            "is" => Self::read(written),
            "not" => Ok(Self::Not(Box::new(Self::read(written)?))),
            "over" => Ok(Self::Over(number(written).map_err(|_| must("a number"))?)),
            "under" => Ok(Self::Under(number(written).map_err(|_| must("a number"))?)),
            "present" => match written.as_bool() {
                Some(wanted) => Ok(Self::Present(wanted)),
                None => Err(must("true or false")),
            },
            "below" => match written.as_str().and_then(absolute) {
                Some(directory) => Ok(Self::Below(directory)),
                None => Err(must("the absolute path of a directory")),
            },
            "regex" => {
                let text = written.as_str().ok_or_else(|| must("a text"))?;
                let compiled = regex::RegexBuilder::new(text).size_limit(LARGEST).build();
                let wrong = |_| must("a regular expression of Rust's crate regex");
                Ok(Self::Regex(compiled.map_err(wrong)?))
            }
            unknown => Err(match nearest(unknown, KEYS.iter().copied()) {
                Some(near) => format!("unknown test `{unknown}` (did you mean `{near}`?)"),
                None => format!("unknown test `{unknown}` (known: {})", KEYS.join(", ")),
            }),
        }
    }

    /// `None`: there is nothing.
    pub(super) fn holds(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Present(wanted), value) => value.is_some() == *wanted,
            (Self::Not(test), value) => !test.holds(value),
            (Self::Any(tests), value) => tests.iter().any(|test| test.holds(value)),
            (Self::All(tests), value) => tests.iter().all(|test| test.holds(value)),
            (_, None) => false,
            (Self::Text(glob), Some(value)) => text(value).is_some_and(|text| glob.matches(&text)),
            (Self::Regex(regex), Some(value)) => {
                text(value).is_some_and(|text| regex.is_match(&text))
            }
            (Self::Truth(truth), Some(value)) => {
                text(value).is_some_and(|text| text == if *truth { "true" } else { "false" })
            }
            (Self::Number(wanted), Some(value)) => compared(value, wanted) == Some(Ordering::Equal),
            (Self::Over(least), Some(value)) => compared(value, least) == Some(Ordering::Greater),
            (Self::Under(most), Some(value)) => compared(value, most) == Some(Ordering::Less),
            (Self::Below(directory), Some(value)) => {
                let path = value.as_str().and_then(absolute);
                path.is_some_and(|path| path.starts_with(directory))
            }
        }
    }
}

fn number(written: &Written) -> Result<Number, String> {
    let number = match written {
        Written::Integer(whole) => Some(Number::from(*whole)),
        Written::Float(real) => Number::from_f64(*real),
        _ => None,
    };
    number.ok_or_else(|| "a number is needed that JSON has".into())
}

/// What is no list and no object, as text.
fn text(value: &Value) -> Option<std::borrow::Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn compared(value: &Value, with: &Number) -> Option<Ordering> {
    let read;
    let number = match value {
        Value::Number(number) => number,
        Value::String(text) => {
            read = text.trim().parse::<Number>().ok()?;
            &read
        }
        _ => return None,
    };
    let whole = |number: &Number| {
        let of_unsigned = || number.as_u64().map(i128::from);
        number.as_i64().map(i128::from).or_else(of_unsigned)
    };
    match (whole(number), whole(with)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => number.as_f64()?.partial_cmp(&with.as_f64()?),
    }
}

/// The parts of an absolute path, without `.` and `..`.
pub(super) fn absolute(path: &str) -> Option<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_owned()),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn test(written: &str) -> Result<Test, String> {
        let table: toml::Table = toml::from_str(&format!("t = {written}")).unwrap();
        Test::read(&table["t"])
    }

    #[test]
    fn each_test_holds_of_what_it_means() {
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
                json!([9007199254740992_i64]),
                json!([9007199254740993_i64, 18446744073709551615_u64]),
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
            let holds = |value: &Value| test.holds(Some(value).filter(|value| !value.is_null()));
            for value in yes.as_array().unwrap() {
                assert!(holds(value), "{written} {value}");
            }
            for value in no.as_array().unwrap() {
                assert!(!holds(value), "{written} {value}");
            }
        }
    }

    #[test]
    fn what_is_no_test_is_told() {
        for (written, told) in [
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
            assert!(error.contains(told), "{written}: {error}");
        }
    }
}
