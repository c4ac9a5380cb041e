//! Parses JSON or YAML into a JSON value, and finds keys that an object has more than once.
//!
//! Objects whose members are independent of each other are merged: the paths of a description, the operations of a path
//! and the components. So are objects without a common member. Of all others, the last is used.
//!
//! Invariants:
//!
//! - Every key whose value is not used is in a note or counted in the last note.
//! - Making a note takes time only for the shown part of its path, and the number of notes is limited: a text can
//!   repeat a key a million times below keys of megabytes.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

/// The number of keys that are named.
const MAX_NAMED_KEYS: usize = 20;
/// The number of notes that are made to check that they are new. Further repetitions are only counted.
const MAX_MADE_NOTES: usize = 1000;
/// The length of a key, or of the path to it, in a note.
const MAX_SHOWN_CHARS: usize = 120;
/// The members of a description that are merged, with the objects in them.
const CONTAINERS: [&str; 3] = ["paths", "components", "webhooks"];
/// The depth of the last objects in a container that are merged: path items, and groups of components.
const MAX_CONTAINER_DEPTH: usize = 2;

/// A parsed text, with notes about repeated keys.
#[derive(Debug)]
pub(super) struct ParsedText {
    pub(super) root: Value,
    pub(super) notes: Vec<String>,
}

impl<'de> Deserialize<'de> for ParsedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut repeated = RepeatedKeys::default();
        let seed = ValueSeed {
            parent: None,
            repeated: &mut repeated,
        };
        let root = seed.deserialize(deserializer)?;
        Ok(Self {
            root,
            notes: repeated.notes(),
        })
    }
}

#[derive(Default)]
struct RepeatedKeys {
    named: Vec<String>,
    /// The number of notes that were made.
    made: usize,
    more: usize,
}

impl RepeatedKeys {
    fn note(&mut self, key: &str, parent: Option<&ValuePath<'_>>, outcome: &str) {
        if self.named.len() >= MAX_NAMED_KEYS || self.made >= MAX_MADE_NOTES {
            self.more += 1;
            return;
        }
        self.made += 1;
        let note = format!(
            "`{}` occurs more than once in {}: {outcome}",
            shortened(key),
            match parent {
                Some(parent) => format!("`{}`", shortened(&parent.shown())),
                None => "the description".to_owned(),
            }
        );
        if !self.named.contains(&note) {
            self.named.push(note);
        }
    }

    fn notes(self) -> Vec<String> {
        let Self {
            mut named, more, ..
        } = self;
        if more > 0 {
            named.push(format!("keys are repeated {more} more times"));
        }
        named
    }

    /// Merges the value of a repeated key into the previous value.
    fn merge(
        &mut self,
        key: &str,
        parent: Option<&ValuePath<'_>>,
        before: &mut Value,
        value: Value,
    ) {
        let here = ValuePath {
            parent,
            key: PathKey::Member(key),
        };
        let is_container = here.is_container();
        let (before, members) = match (before, value) {
            (Value::Object(before), Value::Object(members))
                if is_container || !members.keys().any(|member| before.contains_key(member)) =>
            {
                (before, members)
            }
            (before, value) => {
                let is_same = *before == value;
                *before = value;
                if !is_same {
                    self.note(key, parent, "the last value is used");
                }
                return;
            }
        };
        let outcome = match parent.map(|path| (path.parent, path.key)) {
            Some((None, PathKey::Member("paths"))) => "their operations are merged",
            _ => "their members are merged",
        };
        self.note(key, parent, outcome);
        for (name, member) in members {
            match before.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(member)),
                Entry::Occupied(mut entry) => {
                    let name = entry.key().clone();
                    self.merge(&name, Some(&here), entry.get_mut(), member);
                }
            }
        }
    }
}

/// The keys that lead to a value, from the value up.
#[derive(Clone, Copy)]
struct ValuePath<'a> {
    parent: Option<&'a Self>,
    key: PathKey<'a>,
}

#[derive(Clone, Copy)]
enum PathKey<'a> {
    Member(&'a str),
    Item(usize),
}

impl ValuePath<'_> {
    /// The keys from the root down.
    fn keys(&self) -> Vec<PathKey<'_>> {
        let ancestors = std::iter::successors(Some(self), |parent| parent.parent);
        let mut keys: Vec<PathKey<'_>> = ancestors.map(|parent| parent.key).collect();
        keys.reverse();
        keys
    }

    /// The path as far as it is shown. Of a longer key, one more character is kept.
    fn shown(&self) -> String {
        let keys = self.keys().into_iter().map(|key| match key {
            PathKey::Member(name) => name.chars().take(MAX_SHOWN_CHARS + 1).collect(),
            PathKey::Item(number) => number.to_string(),
        });
        keys.collect::<Vec<_>>().join(" > ")
    }

    fn is_container(&self) -> bool {
        let keys = self.keys();
        let is_inside =
            |key: &PathKey<'_>| matches!(key, PathKey::Member(name) if CONTAINERS.contains(name));
        keys.len() <= MAX_CONTAINER_DEPTH && keys.first().is_some_and(is_inside)
    }
}

struct ValueSeed<'a> {
    parent: Option<&'a ValuePath<'a>>,
    repeated: &'a mut RepeatedKeys,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Self { parent, repeated } = self;
        let mut values = Vec::new();
        loop {
            let here = ValuePath {
                parent,
                key: PathKey::Item(values.len()),
            };
            let seed = ValueSeed {
                parent: Some(&here),
                repeated: &mut *repeated,
            };
            match items.next_element_seed(seed)? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Self { parent, repeated } = self;
        let mut members = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let here = ValuePath {
                parent,
                key: PathKey::Member(&key),
            };
            let value = entries.next_value_seed(ValueSeed {
                parent: Some(&here),
                repeated: &mut *repeated,
            })?;
            match members.entry(key) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(mut entry) => {
                    let key = entry.key().clone();
                    repeated.merge(&key, parent, entry.get_mut(), value);
                }
            }
        }
        Ok(Value::Object(members))
    }
}

/// The beginning of a text, without control characters.
fn shortened(text: &str) -> String {
    let text: String = text.chars().take(MAX_SHOWN_CHARS + 1).collect();
    let text: String = text.escape_debug().collect();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> ParsedText {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "null",
            "[1, -1, 1.5, 1e400, 18446744073709551615, \"a\\u00e4\", true, [], {}]",
            "{\"b\": {\"a\": [null]}, \"a\": 1, \"$serde_json::private::RawValue\": \"1\"}",
        ] {
            // An error stays an error, such as for a number that is too large.
            let read = serde_json::from_str::<ParsedText>(text).map(|read| read.root.to_string());
            let known = serde_json::from_str::<Map<String, Value>>(text).map(Value::Object);
            let known = known.or_else(|_| serde_json::from_str::<Value>(text));
            assert_eq!(read.ok(), known.ok().map(|value| value.to_string()));
        }
        assert!(
            parsed("{\"a\": {\"a\": 1}, \"b\": [{\"a\": 1}, {\"a\": 1}]}")
                .notes
                .is_empty()
        );
    }

    #[test]
    fn repeated_keys_are_merged_or_named() {
        let read = parsed(
            r#"{
                "paths": {
                    "/a": { "get": { "summary": "1" }, "parameters": [] },
                    "/a": { "post": { "summary": "2" } },
                    "/b": { "get": { "summary": "1", "x": 1 } },
                    "/b": { "get": { "summary": "2" } }
                },
                "info": { "title": "1", "title": "2", "same": 1, "same": 1 },
                "x": [{ "y": { "a": 1 }, "y": { "b": 2 } }],
                "components": { "schemas": { "A": { "type": "object", "required": ["a"] } } },
                "components": { "schemas": { "A": { "type": "string" }, "B": {} } },
                "x-long": 1,
                "x-long": "2"
            }"#,
        );
        assert_eq!(
            read.root,
            json!({
                "paths": {
                    "/a": { "get": { "summary": "1" }, "parameters": [], "post": { "summary": "2" } },
                    "/b": { "get": { "summary": "2" } },
                },
                "info": { "title": "2", "same": 1 },
                "x": [{ "y": { "a": 1, "b": 2 } }],
                "components": { "schemas": { "A": { "type": "string" }, "B": {} } },
                "x-long": "2",
            })
        );
        assert_eq!(
            read.notes,
            [
                "`/a` occurs more than once in `paths`: their operations are merged",
                "`/b` occurs more than once in `paths`: their operations are merged",
                "`get` occurs more than once in `paths > /b`: the last value is used",
                "`title` occurs more than once in `info`: the last value is used",
                "`y` occurs more than once in `x > 0`: their members are merged",
                "`components` occurs more than once in the description: their members are merged",
                "`schemas` occurs more than once in `components`: their members are merged",
                "`A` occurs more than once in `components > schemas`: the last value is used",
                "`x-long` occurs more than once in the description: the last value is used",
            ]
        );
    }

    #[test]
    fn number_and_length_of_notes_are_limited() {
        let members = (0..100)
            .map(|number| format!("\"{number}{0}\": 1, \"{number}{0}\": 2", "k".repeat(1000)));
        let read = parsed(&format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
        assert_eq!(read.notes.len(), MAX_NAMED_KEYS + 1);
        assert_eq!(
            read.notes[MAX_NAMED_KEYS],
            "keys are repeated 80 more times"
        );
        assert!(read.notes.iter().all(|note| note.len() < 400));
    }

    #[test]
    fn repetitions_below_a_long_key_are_only_counted_beyond_a_limit() {
        let more = 70;
        let members: Vec<String> = (0..=MAX_MADE_NOTES + more)
            .map(|number| format!("\"a\": {number}"))
            .collect();
        let key = "k".repeat(1 << 20);
        let read = parsed(&format!("{{\"{key}\": {{{}}}}}", members.join(",")));
        assert_eq!(read.root[&key], json!({ "a": MAX_MADE_NOTES + more }));
        assert_eq!(
            read.notes,
            [
                format!(
                    "`a` occurs more than once in `{}…`: the last value is used",
                    &key[..MAX_SHOWN_CHARS]
                ),
                format!("keys are repeated {more} more times"),
            ]
        );
        let long = ValuePath {
            parent: None,
            key: PathKey::Member(&key),
        };
        let path = ValuePath {
            parent: Some(&long),
            key: PathKey::Member(&key),
        };
        assert_eq!(path.shown().len(), 2 * (MAX_SHOWN_CHARS + 1) + " > ".len());
    }
}
