//! Looks up a path in JSON text.
//!
//! Invariant: values are skipped without being built, so a value of 15 MiB needs no memory beyond its text.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::reference::PathKey;
use mux_text::did_you_mean::nearest_few;

/// Member names that the error for a missing member lists.
const MAX_LISTED_NAMES: usize = 20;

/// The error of a path that leads to no value.
#[derive(Debug, PartialEq)]
pub struct MissingValue {
    /// What the path found last, and which key that lacks.
    pub message: String,
    /// Similar names, as suggestions.
    pub near: Vec<String>,
}

/// The JSON text of the value at `path`.
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

/// A path as it is written after a name, such as `.items[0]`.
pub(super) fn path_text(path: &[PathKey]) -> String {
    let mut text = String::new();
    for key in path {
        match key {
            PathKey::Index(index) => text.push_str(&format!("[{index}]")),
            PathKey::Name(name) if is_plain_name(name) => text.push_str(&format!(".{name}")),
            PathKey::Name(name) => {
                text.push_str(&format!("[{}]", serde_json::Value::from(name.as_str())))
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
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_map(MemberVisitor(name)).ok().flatten()
}

fn find_item(text: &str, index: usize) -> Option<&str> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_seq(ItemVisitor(index)).ok().flatten()
}

fn member_names(text: &str) -> Vec<String> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_map(MemberNamesVisitor).unwrap_or_default()
}

fn array_len(text: &str) -> usize {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_seq(ArrayLenVisitor).unwrap_or_default()
}

struct MemberVisitor<'k>(&'k str);

impl<'de> Visitor<'de> for MemberVisitor<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        // Of duplicate members the last one wins, as in other JSON parsers.
        let mut found = None;
        while let Some(name) = map.next_key_seed(NameSeed)? {
            if name == self.0 {
                found = Some(map.next_value::<&RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct ItemVisitor(usize);

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        for _ in 0..self.0 {
            if items.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = items.next_element::<&RawValue>()?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found.map(RawValue::get))
    }
}

struct MemberNamesVisitor;

impl<'de> Visitor<'de> for MemberNamesVisitor {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = map.next_key_seed(NameSeed)? {
            names.push(name.into_owned());
            map.next_value::<IgnoredAny>()?;
        }
        Ok(names)
    }
}

struct ArrayLenVisitor;

impl<'de> Visitor<'de> for ArrayLenVisitor {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<usize, A::Error> {
        let mut length = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(length)
    }
}

/// Reads a member name, borrowed unless it has escapes.
struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(path: &[&str]) -> Vec<PathKey> {
        let key = |key: &&str| match key.bytes().all(|byte| byte.is_ascii_digit()) {
            true => PathKey::Index((*key).to_owned()),
            false => PathKey::Name((*key).to_owned()),
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
