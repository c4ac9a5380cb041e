//! Looks up a path in raw JSON.
//!
//! Invariant: values are skipped without being built, so a value of 15 MiB needs no additional memory.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use serde::{
    Deserialize,
    de::{Deserializer as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::reference::PathKey;
use mux_text::did_you_mean::nearest_few;

/// Member names that the error for a missing member lists.
const MAX_LISTED_NAMES: usize = 20;

/// The error of a path that leads to no value.
#[derive(Debug, PartialEq)]
pub struct MissingValue {
    /// The last value on the path, and the key that it lacks.
    pub message: String,
    /// Similar names, as suggestions.
    pub near: Vec<String>,
}

/// The raw JSON of the value at `path`.
pub fn value_at_path<'a>(text: &'a str, path: &[PathKey]) -> Result<&'a str, MissingValue> {
    let mut here = text.trim();
    for (passed, key) in path.iter().enumerate() {
        let found = match here.as_bytes().first() {
            Some(b'{') => find_member(here, key.name()),
            Some(b'[') => match key {
                PathKey::Index(index) => {
                    index.parse().ok().and_then(|index| find_item(here, index))
                }
                PathKey::Name(_) => None,
            },
            _ => None,
        };
        here = found.ok_or_else(|| describe_missing(here, &path[..passed], key))?;
    }
    Ok(here)
}

/// A path as written after a name, such as `.items[0]`.
pub(super) fn path_text(path: &[PathKey]) -> String {
    let mut text = String::new();
    for key in path {
        match key {
            PathKey::Index(index) => _ = write!(text, "[{index}]"),
            PathKey::Name(name) if is_plain_name(name) => _ = write!(text, ".{name}"),
            PathKey::Name(name) => {
                _ = write!(text, "[{}]", serde_json::Value::from(name.as_str()));
            }
        }
    }
    text
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

fn describe_missing(here: &str, passed: &[PathKey], key: &PathKey) -> MissingValue {
    let place = match passed {
        [] => "it".to_owned(),
        passed => format!("`{}`", path_text(passed).trim_start_matches('.')),
    };
    let wanted = path_text(std::slice::from_ref(key));
    let wanted = wanted.trim_start_matches('.');
    match here.as_bytes().first() {
        Some(b'{') => {
            let names = member_names(here);
            let near = nearest_few(key.name(), names.iter().map(String::as_str), 3);
            let near = near.into_iter().map(str::to_owned).collect();
            let there = match &names[..] {
                [] => "nothing".to_owned(),
                names if names.len() > MAX_LISTED_NAMES => {
                    format!(
                        "{} and {} more",
                        names[..MAX_LISTED_NAMES].join(", "),
                        names.len() - MAX_LISTED_NAMES
                    )
                }
                names => names.join(", "),
            };
            MissingValue {
                message: format!("{place} has no `{wanted}`, only {there}"),
                near,
            }
        }
        Some(b'[') => {
            let length = array_len(here);
            let message = match key {
                PathKey::Index(_) => format!("{place} has {length} items, and no {wanted}"),
                PathKey::Name(_) => {
                    format!("{place} is an array of {length} items, which has no `{wanted}`")
                }
            };
            let near = match key {
                PathKey::Name(_) if length > 0 => {
                    vec![format!("[0]{}", path_text(std::slice::from_ref(key)))]
                }
                _ => Vec::new(),
            };
            MissingValue { message, near }
        }
        first => {
            let kind = match first {
                Some(b'"') => "a text",
                Some(b'n') => "null",
                Some(b't' | b'f') => "a boolean",
                _ => "a number",
            };
            MissingValue {
                message: format!("{place} is {kind}, which has no `{wanted}`"),
                near: Vec::new(),
            }
        }
    }
}

fn find_member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    // Of duplicate members the last one wins, as in other JSON parsers.
    let read = for_each_member(text, |member, value| {
        if member == name {
            found = Some(value);
        }
    });
    read.ok().and(found)
}

fn find_item(text: &str, index: usize) -> Option<&str> {
    let mut place = 0;
    let mut found = None;
    let read = for_each_item(text, |item| {
        if place == index {
            found = Some(item);
        }
        place += 1;
    });
    read.ok().and(found)
}

fn member_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let read = for_each_member(text, |name, _| names.push(name.to_owned()));
    read.map(|()| names).unwrap_or_default()
}

fn array_len(text: &str) -> usize {
    let mut length = 0;
    let read = for_each_item(text, |_| length += 1);
    read.map_or(0, |()| length)
}

fn for_each_member<'a>(
    text: &'a str,
    each: impl FnMut(&str, &'a str),
) -> Result<(), serde_json::Error> {
    serde_json::Deserializer::from_str(text).deserialize_map(MemberVisitor(each))
}

fn for_each_item<'a>(text: &'a str, each: impl FnMut(&'a str)) -> Result<(), serde_json::Error> {
    serde_json::Deserializer::from_str(text).deserialize_seq(ItemVisitor(each))
}

/// Calls a function with each member of an object: its name, and its value as raw JSON.
struct MemberVisitor<F>(F);

impl<'de, F: FnMut(&str, &'de str)> Visitor<'de> for MemberVisitor<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((MemberName(name), value)) = map.next_entry::<_, &RawValue>()? {
            (self.0)(&name, value.get());
        }
        Ok(())
    }
}

/// Calls a function with each item of an array, as raw JSON.
struct ItemVisitor<F>(F);

impl<'de, F: FnMut(&'de str)> Visitor<'de> for ItemVisitor<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            (self.0)(item.get());
        }
        Ok(())
    }
}

/// A member name, borrowed unless it has escapes.
#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn way(path: &[&str]) -> Vec<PathKey> {
        let key = |key: &&str| {
            if key.bytes().all(|byte| byte.is_ascii_digit()) {
                PathKey::Index((*key).to_owned())
            } else {
                PathKey::Name((*key).to_owned())
            }
        };
        path.iter().map(key).collect()
    }

    const VALUE: &str = r#"{"a":[1,{"b c":"x","é":9007199254740993}],"2":true,"n":null}"#;

    #[test]
    fn path_resolves_to_value_text() {
        for (path, expected) in [
            (&[][..], VALUE),
            (&["a", "0"], "1"),
            (&["a", "1", "b c"], "\"x\""),
            (&["a", "1", "\u{e9}"], "9007199254740993"),
            (&["2"], "true"),
            (&["n"], "null"),
        ] {
            assert_eq!(value_at_path(VALUE, &way(path)), Ok(expected), "{path:?}");
        }
    }

    #[test]
    fn missing_path_error_names_last_value_found() {
        for (path, message, near) in [
            (&["A"][..], "it has no `A`, only a, 2, n", &["a"][..]),
            (&["a", "7"], "`a` has 2 items, and no [7]", &[]),
            (
                &["a", "b"],
                "`a` is an array of 2 items, which has no `b`",
                &["[0].b"],
            ),
            (
                &["a", "0", "x"],
                "`a[0]` is a number, which has no `x`",
                &[],
            ),
            (&["n", "0"], "`n` is null, which has no `[0]`", &[]),
            (
                &["a", "99999999999999999999"],
                "`a` has 2 items, and no [99999999999999999999]",
                &[],
            ),
        ] {
            let missing = value_at_path(VALUE, &way(path)).unwrap_err();
            assert_eq!(missing.message, message);
            assert_eq!(missing.near, near, "{path:?}");
        }
    }
}
