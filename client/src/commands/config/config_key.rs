//! Dotted keys of config.toml, looked up in its JSON Schema: the values that a key takes, and whether the key
//! exists.

use mux_proto::{Error, Kind};
use serde_json::Value;

use crate::agents::{ConfigDocument, ConfigFormat};

/// Generated from the types that the daemon reads.
pub(super) const CONFIG_SCHEMA: &str =
    include_str!("../../../../docs/reference/config.schema.json");
/// The minimum similarity of a suggestion, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// A key that the schema has.
#[derive(Debug)]
pub(in crate::commands) struct ConfigKey {
    pub(in crate::commands) path: Vec<String>,
    schema: Value,
    /// The keys of the schema that describe it: several where it takes values of several shapes.
    shapes: Vec<Value>,
}

/// The value that applies if a key is not set.
pub(super) enum KeyDefault {
    Value(Value),
    /// In words.
    Described(String),
    None,
}

impl ConfigKey {
    /// Parses `servers."a b".share`.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        Self::of_path(split_key(text)?)
    }

    /// A key by its parts.
    pub(in crate::commands) fn of_path(path: Vec<String>) -> Result<Self, Error> {
        let schema: Value = serde_json::from_str(CONFIG_SCHEMA).unwrap_or_default();
        let shapes = vec![schema.clone()];
        Self::lookup(path, schema, shapes)
    }

    /// A key of a `[[policy]]` rule.
    pub(in crate::commands) fn of_rule(path: Vec<String>) -> Result<Self, Error> {
        let schema: Value = serde_json::from_str(CONFIG_SCHEMA).unwrap_or_default();
        let shapes = vec![schema["$defs"]["RuleTable"].clone()];
        Self::lookup(path, schema, shapes)
    }

    fn lookup(path: Vec<String>, schema: Value, root: Vec<Value>) -> Result<Self, Error> {
        let mut shapes = root;
        for (depth, key) in path.iter().enumerate() {
            shapes = match members(&schema, &shapes, key) {
                SchemaLookup::Found(below) => below,
                SchemaLookup::Any => Vec::new(),
                SchemaLookup::None => {
                    let message = format!("`{}` has no keys", spell_key(&path[..depth]));
                    return Err(Error::new(Kind::Validation, message));
                }
                SchemaLookup::Unknown(known) => {
                    return Err(unknown_key(&path[..depth], key, &known));
                }
            };
            if shapes.is_empty() {
                break;
            }
        }
        Ok(Self {
            path,
            schema,
            shapes,
        })
    }

    pub(in crate::commands) fn spelled(&self) -> String {
        spell_key(&self.path)
    }

    /// How many of its keys are a table with a header: `[limits]`, `[servers.NAME]`.
    pub(in crate::commands) fn headed(&self) -> usize {
        match (self.path.first().map(String::as_str), self.path.get(2)) {
            (Some("servers" | "sources"), Some(key)) if key == "override" => 4,
            (Some("servers" | "sources" | "agents"), _) => 2,
            _ => 1,
        }
    }

    /// `limits.wall takes: duration, 1s to 5m (default: 30s)`
    pub(in crate::commands) fn documented(&self) -> String {
        let kind = self.type_text();
        let default = match self.default() {
            KeyDefault::Value(Value::String(word)) => format!(" (default: {word})"),
            KeyDefault::Value(value) => format!(" (default: {value})"),
            KeyDefault::Described(text) => format!(" (default: {text})"),
            KeyDefault::None => String::new(),
        };
        format!("{} takes: {kind}{default}", self.spelled())
    }

    pub(super) fn default(&self) -> KeyDefault {
        let find = |key: &str| self.shapes.iter().find_map(|shape| shape.get(key)).cloned();
        match (find("default"), find("x-default")) {
            (_, Some(Value::String(text))) => KeyDefault::Described(without_markup(&text)),
            (Some(value), _) => KeyDefault::Value(value),
            _ => KeyDefault::None,
        }
    }

    fn type_text(&self) -> String {
        let find = |key: &str| self.shapes.iter().find_map(|shape| shape.get(key));
        if let Some(Value::Array(words)) = find("enum") {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            return words.join(", ");
        }
        let kind = match find("x-type").and_then(Value::as_str) {
            Some(kind) => without_markup(kind),
            None => match find("type").and_then(Value::as_str) {
                Some("string") => "string",
                Some("boolean") => "true or false",
                Some("integer") => "number",
                Some("array") => "list",
                _ => "table",
            }
            .to_owned(),
        };
        match (find("x-range"), find("minimum"), find("maximum")) {
            (Some(Value::String(range)), _, _) => format!("{kind}, {}", without_markup(range)),
            (_, Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
            _ => kind,
        }
    }

    /// The value that a word of the command line stands for: a TOML value if the key takes one of its type,
    /// otherwise a string.
    pub(in crate::commands) fn parse_value(&self, text: &str) -> Value {
        let kinds: Vec<&str> = self.kinds();
        let takes = |kind: &str| kinds.is_empty() || kinds.contains(&kind);
        let value = parse_toml_value(text).filter(|value| match value {
            Value::String(_) => true,
            Value::Bool(_) => takes("boolean"),
            Value::Number(number) => takes("number") || (number.is_i64() && takes("integer")),
            Value::Array(_) => takes("array"),
            _ => takes("object"),
        });
        value.unwrap_or_else(|| text.into())
    }

    /// The types of the values that the key takes. Empty if it takes any type.
    fn kinds(&self) -> Vec<&str> {
        let shapes = self
            .shapes
            .iter()
            .flat_map(|shape| alternatives(&self.schema, shape));
        let kinds = shapes.flat_map(|shape| match (&shape["type"], &shape["enum"]) {
            (Value::String(kind), _) => vec![kind.as_str()],
            (Value::Array(kinds), _) => kinds.iter().filter_map(Value::as_str).collect(),
            (_, Value::Array(_)) => vec!["string"],
            _ => Vec::new(),
        });
        kinds.collect()
    }
}

/// The result of looking up a key in a table of the schema.
enum SchemaLookup {
    Found(Vec<Value>),
    /// The table takes any key.
    Any,
    /// The key is unknown. These keys are known.
    Unknown(Vec<String>),
    /// The schema is not a table.
    None,
}

fn members(schema: &Value, shapes: &[Value], key: &str) -> SchemaLookup {
    let mut known = Vec::new();
    let mut is_table = false;
    for shape in shapes.iter().flat_map(|shape| alternatives(schema, shape)) {
        if shape["type"] != "object" {
            continue;
        }
        is_table = true;
        let properties = shape["properties"].as_object();
        let more = &shape["additionalProperties"];
        match properties.and_then(|properties| properties.get(key)) {
            Some(found) => return SchemaLookup::Found(with_target(schema, found)),
            None if more.is_object() => return SchemaLookup::Found(with_target(schema, more)),
            None if properties.is_none() => return SchemaLookup::Any,
            None => known.extend(properties.into_iter().flat_map(|keys| keys.keys().cloned())),
        }
    }
    if is_table {
        SchemaLookup::Unknown(known)
    } else {
        SchemaLookup::None
    }
}

/// A schema and the target of its reference. The schema has precedence.
fn with_target(schema: &Value, shape: &Value) -> Vec<Value> {
    let target = target(schema, shape);
    [Some(shape), target]
        .into_iter()
        .flatten()
        .cloned()
        .collect()
}

fn target<'a>(schema: &'a Value, shape: &Value) -> Option<&'a Value> {
    let name = shape["$ref"].as_str()?.strip_prefix("#/$defs/")?;
    schema["$defs"].get(name)
}

/// The schemas of the shapes that a value may have.
fn alternatives<'a>(schema: &'a Value, shape: &'a Value) -> Vec<&'a Value> {
    match shape["anyOf"].as_array() {
        Some(any) => any
            .iter()
            .map(|shape| target(schema, shape).unwrap_or(shape))
            .collect(),
        None => vec![shape],
    }
}

fn unknown_key(above: &[String], key: &str, known: &[String]) -> Error {
    let spelled = |key: &str| {
        let keys = above.iter().cloned().chain([key.to_owned()]);
        spell_key(&keys.collect::<Vec<_>>())
    };
    let error = Error::new(
        Kind::Validation,
        format!("there is no key `{}`", spelled(key)),
    );
    match most_similar_name(key, known) {
        Some(near) => error.hint(format!("did you mean `{}`?", spelled(near))),
        None => error.hint(format!("known: {}", known.join(", "))),
    }
}

/// The most similar name, if it is similar enough.
pub(in crate::commands) fn most_similar_name<'a>(
    name: &str,
    known: &'a [String],
) -> Option<&'a str> {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let scored = known
        .iter()
        .map(|known| (similarity(known), known.as_str()));
    scored
        .filter(|(score, _)| *score >= MIN_SIMILARITY)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, near)| near)
}

/// Splits `servers."a b".share` into its keys.
pub(super) fn split_key(text: &str) -> Result<Vec<String>, Error> {
    let keys = toml_edit::Key::parse(text).map_err(|_| {
        let message = format!("{text:?} is not a key");
        Error::new(Kind::Validation, message).hint(
            "a key is as in `limits.wall`; quote parts with other letters: servers.a.env.\"A.B\"",
        )
    })?;
    Ok(keys.iter().map(|key| key.get().to_owned()).collect())
}

pub(super) fn spell_key(path: &[String]) -> String {
    let keys = path
        .iter()
        .map(|key| toml_edit::Key::new(key.as_str()).to_string());
    keys.collect::<Vec<_>>().join(".")
}

fn parse_toml_value(text: &str) -> Option<Value> {
    let line = format!("value = {text}\n");
    let document = ConfigDocument::parse(line.as_bytes(), ConfigFormat::Toml).ok()?;
    let mut values = document.values().as_object()?.clone();
    // A string with a line break would be two settings.
    let is_date = text.parse::<toml_edit::Datetime>().is_ok();
    (values.len() == 1 && !is_date).then(|| values.remove("value"))?
}

/// A paragraph of the reference page without backticks, with links as plain text.
fn without_markup(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((shown, after)) = link.split_once("](") else {
            plain.push('[');
            rest = link;
            continue;
        };
        plain.push_str(shown);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.replace(['`', '"'], "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn failure(key: &str) -> String {
        let error = ConfigKey::parse(key).unwrap_err();
        format!("{}; {}", error.message, error.hint.unwrap_or_default())
    }

    #[test]
    fn keys_of_the_schema_are_found_and_others_have_a_suggestion() {
        for key in [
            "limits.wall",
            "servers.files.share",
            "servers.\"a b\".env.\"A.B\"",
            "servers.files.tools.exclude",
            "servers.files.oauth.client_id",
            "sources.api.auth.key",
            "sources.api.auth.key.password",
            "agents.small.limits.wall",
            "policy",
            "telemetry.headers.X-Key",
        ] {
            assert_eq!(ConfigKey::parse(key).unwrap().spelled(), key);
        }
        for (key, expected) in [
            (
                "limits.wal",
                "no key `limits.wal`; did you mean `limits.wall`?",
            ),
            ("limit.wall", "no key `limit`; did you mean `limits`?"),
            (
                "servers.files.tools.exclud",
                "did you mean `servers.files.tools.exclude`?",
            ),
            ("daemon.x", "known: idle_exit, keyring, prestart"),
            ("limits.wall.x", "`limits.wall` has no keys"),
            ("policy.1", "`policy` has no keys"),
            ("a b", "is not a key"),
            ("", "is not a key"),
        ] {
            assert!(failure(key).contains(expected), "{key}: {}", failure(key));
        }
        let rule =
            |keys: &[&str]| ConfigKey::of_rule(keys.iter().map(|key| (*key).into()).collect());
        assert!(rule(&["arguments", "items[*].kind"]).is_ok());
        assert!(rule(&["annotations", "read_only"]).is_ok());
        assert!(rule(&["agnet"]).is_err());
    }

    #[test]
    fn words_become_what_the_key_takes() {
        for (key, word, value) in [
            ("limits.wall", "2m", json!("2m")),
            ("limits.wall", "\"2m\"", json!("2m")),
            ("limits.calls", "50", json!(50)),
            ("limits.argument", "65536", json!(65536)),
            ("limits.argument", "4MiB", json!("4MiB")),
            ("audit.enabled", "false", json!(false)),
            ("servers.a.era", "2025-11-25", json!("2025-11-25")),
            ("servers.a.env.PORT", "8080", json!("8080")),
            ("servers.a.env.ON", "true", json!("true")),
            ("servers.a.args", "[\"-y\", 'x']", json!(["-y", "x"])),
            ("servers.a.oauth", "false", json!(false)),
            (
                "servers.a.tools",
                "{ exclude = [\"x\"] }",
                json!({ "exclude": ["x"] }),
            ),
            ("servers.a.roots", "none", json!("none")),
            ("servers.a.roots", "[\"/a\"]", json!(["/a"])),
            ("servers.a.env.X", "a\nb = 3", json!("a\nb = 3")),
            ("servers.a.env.X", "", json!("")),
        ] {
            let key = ConfigKey::parse(key).unwrap();
            assert_eq!(key.parse_value(word), value, "{} {word}", key.spelled());
        }
    }

    #[test]
    fn documentation_of_a_key_has_its_range_and_default() {
        for (key, expected) in [
            (
                "limits.wall",
                "limits.wall takes: duration, 1s to 5m (default: 30s)",
            ),
            (
                "limits.calls",
                "limits.calls takes: number, 1 to 100000 (default: 1000)",
            ),
            (
                "daemon.keyring",
                "daemon.keyring takes: auto, never (default: auto; never with MUX_HOME set)",
            ),
            (
                "telemetry.endpoint",
                "telemetry.endpoint takes: string (default: the OTEL variables)",
            ),
            ("servers.a.env.X", "servers.a.env.X takes: string"),
        ] {
            assert_eq!(ConfigKey::parse(key).unwrap().documented(), expected);
        }
    }
}
