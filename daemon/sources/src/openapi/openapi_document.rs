//! The text of a description as JSON, and what its references stand for.
//!
//! Invariant: no reference leaves the text, none is followed for ever, no text becomes more than a few times its
//! length, and whoever looks at parts of it does so a limited number of times: a few thousand letters can refer to
//! each other in more ways than there is time for.

use std::{borrow::Cow, cell::Cell};

use serde_json::{Map, Value};

use crate::weight;

/// Of the text. GitHub's takes 13 MiB, Microsoft Graph's 20.
const MAX_OPENAPI_BYTES: usize = 64 << 20;
/// Levels of YAML; serde_json stops at 128 by itself.
const MAX_YAML_DEPTH: usize = 128;
/// Nodes of YAML.
const MAX_YAML_NODES: usize = 4_000_000;
/// What JSON may weigh. GitHub's weighs half a million.
const MAX_JSON_WEIGHT: usize = 4_000_000;
/// Looks at parts of a description, all in all. That of Kubernetes takes 300,000.
const MAX_READ_STEPS: usize = 10_000_000;
/// Letters of a reference that are looked at in one step.
const REFERENCE_BYTES_PER_STEP: usize = 64;
/// Nodes that YAML's aliases may repeat, all in all.
const MAX_YAML_ALIAS_NODES: usize = 200_000;
/// References that lead from one to the next.
const MAX_REFERENCE_HOPS: usize = 32;

/// A description as it was written, with the differences between versions still in it.
#[derive(Debug)]
pub(super) struct OpenApiDocument {
    root: Value,
    pub(super) version: OpenApiVersion,
    /// Steps that are left.
    left: Cell<usize>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OpenApiVersion {
    /// Schemas are a dialect of their own.
    V3_0,
    /// Schemas are JSON Schema 2020-12.
    V3_1,
}

/// Why a reference stands for nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum UnresolvedReference {
    #[error("it needs {0:?}, which is in another document")]
    Elsewhere(String),
    #[error("it refers to {0:?}, where nothing is")]
    Nothing(String),
    #[error("its reference {0:?} leads back to itself")]
    Circle(String),
    #[error(
        "its schemas refer to each other so often that the description takes more than {0} steps to read"
    )]
    TooMuch(usize),
}

impl OpenApiDocument {
    /// An error tells a person what to do.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_OPENAPI_BYTES {
            return Err(format!(
                "the description is longer than {MAX_OPENAPI_BYTES} bytes"
            ));
        }
        let root = parsed(text)?;
        let version = version(&root)?;
        Ok(Self {
            root,
            version,
            left: Cell::new(MAX_READ_STEPS),
        })
    }

    /// Whoever looks at so many parts asks before.
    pub(super) fn steps(&self, count: usize) -> Result<(), UnresolvedReference> {
        let left = self.left.get().checked_sub(count);
        self.left.set(left.unwrap_or(0));
        left.map(drop)
            .ok_or(UnresolvedReference::TooMuch(MAX_READ_STEPS))
    }

    /// An error from here on for everything that takes a step.
    pub(super) fn has_steps(&self) -> Result<(), UnresolvedReference> {
        match self.left.get() {
            0 => Err(UnresolvedReference::TooMuch(MAX_READ_STEPS)),
            _ => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left.get()
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// What is meant: the value itself, or that to which it refers.
    pub(super) fn resolve<'a>(
        &'a self,
        value: &'a Value,
    ) -> Result<&'a Value, UnresolvedReference> {
        let mut found = value;
        for _ in 0..MAX_REFERENCE_HOPS {
            match found.get("$ref").and_then(Value::as_str) {
                Some(reference) => found = self.at(reference)?,
                None => return Ok(found),
            }
        }
        Err(UnresolvedReference::Circle(
            text(value, "$ref").unwrap_or_default().to_owned(),
        ))
    }

    pub(super) fn at(&self, reference: &str) -> Result<&Value, UnresolvedReference> {
        self.steps(1 + reference.len() / REFERENCE_BYTES_PER_STEP)?;
        let pointer = pointer_of(reference)?;
        let found = self.root.pointer(&pointer);
        found.ok_or_else(|| UnresolvedReference::Nothing(reference.to_owned()))
    }
}

/// The JSON pointer of a reference within this document.
pub(super) fn pointer_of(reference: &str) -> Result<Cow<'_, str>, UnresolvedReference> {
    match reference.strip_prefix('#') {
        Some(fragment) => Ok(percent_decoded(fragment)),
        None => Err(UnresolvedReference::Elsewhere(reference.to_owned())),
    }
}

/// A member that is text.
pub(super) fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value.get(member)?.as_str()
}

/// The members of a member that is an object.
pub(super) fn members<'a>(
    value: &'a Value,
    member: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = value.get(member).and_then(Value::as_object);
    members.into_iter().flat_map(Map::iter)
}

/// The items of a member that is a list.
pub(super) fn items<'a>(value: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    let items = value.get(member).and_then(Value::as_array);
    items.into_iter().flatten()
}

pub(super) fn is_true(value: &Value, member: &str) -> bool {
    value.get(member) == Some(&Value::Bool(true))
}

fn parsed(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        if weight::of(text.as_bytes(), MAX_JSON_WEIGHT).is_none() {
            return Err(format!(
                "the description holds too many values: more than {MAX_JSON_WEIGHT}, {}",
                weight::WEIGHT_RULE_TEXT
            ));
        }
        match serde_json::from_str(text) {
            Ok(root) => return Ok(root),
            // YAML may begin so, too.
            Err(error) if text.len() > 1 << 20 => {
                return Err(format!("the description is no JSON: {error}"));
            }
            Err(error) => {
                return yaml(text)
                    .map_err(|_| format!("the description is neither JSON nor YAML: {error}"));
            }
        }
    }
    yaml(text).map_err(|error| format!("the description is neither JSON nor YAML: {error}"))
}

fn yaml(text: &str) -> Result<Value, String> {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_depth = MAX_YAML_DEPTH;
    budget.max_nodes = MAX_YAML_NODES;
    budget.max_events = 2 * MAX_YAML_NODES;
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_YAML_ALIAS_NODES;
    // `no` is a country and `on` a word, as JSON would have them.
    options.strict_booleans = true;
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

fn version(root: &Value) -> Result<OpenApiVersion, String> {
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if let Some(old) = root.get("swagger") {
        return Err(format!(
            "this is a Swagger {} description, and those of OpenAPI 3.0 and 3.1 are understood: convert it, for \
             example with `npx swagger2openapi --outfile openapi.json FILE`, and name the new file",
            said(old)
        ));
    }
    match root.get("openapi").map(said) {
        None => Err("this is no OpenAPI description: it has no member `openapi`".into()),
        Some(version) if version == "3" || version.starts_with("3.0") => Ok(OpenApiVersion::V3_0),
        Some(version) if version.starts_with("3.") => Ok(OpenApiVersion::V3_1),
        Some(version) => Err(format!(
            "OpenAPI {version:?} is not understood: 3.0 and 3.1 are"
        )),
    }
}

/// What does not decode is taken as it stands.
fn percent_decoded(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return Cow::Borrowed(fragment);
    }
    let mut decoded = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = &after[2..];
            }
            None => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(decoded).map_or(Cow::Borrowed(fragment), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_yaml_say_the_same() {
        let yaml = "openapi: 3.1.0\ninfo: {title: T, version: 1}\npaths:\n  /a:\n    get:\n      responses:\n        \
                    200: &ok {description: no}\n        201: *ok\n";
        let document = OpenApiDocument::read(yaml).unwrap();
        assert_eq!(document.version, OpenApiVersion::V3_1);
        assert_eq!(
            document.root()["paths"]["/a"]["get"]["responses"],
            json!({ "200": { "description": "no" }, "201": { "description": "no" } })
        );
        let again = OpenApiDocument::read(&document.root().to_string()).unwrap();
        assert_eq!(again.root(), document.root());
    }

    #[test]
    fn what_is_no_description_names_the_way_out() {
        for (text, part) in [
            ("swagger: '2.0'\n", "swagger2openapi"),
            ("{\"swagger\": \"2.0\"}", "Swagger 2.0"),
            ("openapi: 4.0.0\n", "3.0 and 3.1"),
            ("{}", "no member `openapi`"),
            ("{\"openapi\":", "neither JSON nor YAML"),
            ("a: [", "neither JSON nor YAML"),
            ("", "no"),
        ] {
            let problem = OpenApiDocument::read(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let mut text = "openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            let ten = vec![before; 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{ten}]\n"));
        }
        assert!(OpenApiDocument::read(&text).is_err());
    }

    #[test]
    fn json_of_nothing_but_values_is_refused_before_it_is_one() {
        let text = format!(
            "{{\"openapi\": \"3.0.0\", \"x\": [{}1]}}",
            "1,".repeat(MAX_JSON_WEIGHT)
        );
        let problem = OpenApiDocument::read(&text).unwrap_err();
        assert!(problem.contains("more than 4000000"), "{problem}");
    }

    #[test]
    fn references_are_followed_within_the_document() {
        let document = OpenApiDocument::read(
            &json!({
                "openapi": "3.0.0",
                "a/b": { "c d": { "$ref": "#/to" } },
                "to": { "$ref": "#/end" },
                "end": 7,
                "loop": { "$ref": "#/loop" },
            })
            .to_string(),
        )
        .unwrap();
        let resolve = |reference: &str| {
            let value = json!({ "$ref": reference });
            document.resolve(&value).cloned()
        };
        assert_eq!(resolve("#/a~1b/c%20d").unwrap(), json!(7));
        for (reference, part) in [
            ("#/nowhere", "nothing"),
            ("other.yaml#/a", "another document"),
            ("#/loop", "itself"),
        ] {
            let problem = resolve(reference).unwrap_err().to_string();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
