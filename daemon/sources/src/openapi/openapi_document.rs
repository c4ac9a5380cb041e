//! Parses the text of a description into JSON, and resolves its references.
//!
//! Invariant: references stay within the text, and none is followed forever. The parsed text takes at most a few times
//! its length. The number of reading steps is limited, because a few thousand characters can contain more paths of
//! references than there is time to follow.

use std::{borrow::Cow, cell::Cell};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use serde_saphyr::{MessageFormatter as _, UserMessageFormatter};

use super::{
    foreign_formats::{parsed_format, unparsable_format},
    repeated_keys::ParsedText,
};
use mux_text::json_weight as weight;

/// The size of the text. GitHub's description has 13 MiB, Microsoft Graph's 20.
const MAX_OPENAPI_BYTES: usize = 64 << 20;
/// The nesting of YAML. `serde_json` itself stops at 128.
const MAX_YAML_DEPTH: usize = 128;
/// The size of a text that begins like JSON, up to which it may be YAML.
const MAX_FLOW_YAML_BYTES: usize = 1 << 20;
/// The number of YAML nodes.
const MAX_YAML_NODES: usize = 4_000_000;
/// The limit of JSON, in `json_weight` values. GitHub's description has half a million.
const MAX_JSON_WEIGHT: usize = 4_000_000;
/// The number of steps for a whole description. Kubernetes' description takes 300,000.
const MAX_READ_STEPS: usize = 10_000_000;
/// The length of a reference that is resolved in one step.
const REFERENCE_BYTES_PER_STEP: usize = 64;
/// The number of YAML nodes that aliases may repeat in total.
const MAX_YAML_ALIAS_NODES: usize = 200_000;
/// The number of references in a chain.
const MAX_REFERENCE_HOPS: usize = 32;

/// The members of a path that are operations.
pub(super) const HTTP_VERBS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// A description as written, before the differences between versions are removed.
#[derive(Debug)]
pub(super) struct OpenApiDocument {
    root: Value,
    pub(super) version: OpenApiVersion,
    /// Notes for the user about the text.
    pub(super) notes: Vec<String>,
    /// The number of steps left.
    left: Cell<usize>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OpenApiVersion {
    /// Schemas are a dialect of JSON Schema.
    V3_0,
    /// Schemas are JSON Schema 2020-12.
    V3_1,
}

/// The reason a reference cannot be resolved.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum UnresolvedReference {
    #[error("it needs {0:?}, which is in another document")]
    Elsewhere(String),
    #[error("it refers to {0:?}, which does not exist")]
    Nothing(String),
    #[error("its reference {0:?} leads back to itself")]
    Circle(String),
    #[error(
        "its schemas refer to each other so often that the description takes more than {0} steps to read"
    )]
    TooMuch(usize),
}

impl OpenApiDocument {
    /// An error tells the user what to do.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_OPENAPI_BYTES {
            return Err(format!(
                "the description is longer than {MAX_OPENAPI_BYTES} bytes"
            ));
        }
        let ParsedText { root, notes } = parsed(text)?;
        let version = version(&root)?;
        Ok(Self {
            root,
            version,
            notes,
            left: Cell::new(MAX_READ_STEPS),
        })
    }

    /// Takes `count` steps, before as many parts are read.
    pub(super) fn steps(&self, count: usize) -> Result<(), UnresolvedReference> {
        let left = self.left.get().checked_sub(count);
        self.left.set(left.unwrap_or(0));
        left.map(drop)
            .ok_or(UnresolvedReference::TooMuch(MAX_READ_STEPS))
    }

    /// Fails once no steps are left.
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

    /// True if a value, or the value to which it refers, has this member and it is `true`.
    pub(super) fn is_marked(&self, value: &Value, mark: &str) -> bool {
        is_true(value, mark) || self.resolve(value).is_ok_and(|found| is_true(found, mark))
    }

    /// Follows the references of a value.
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
        // Undecodable parts stay unchanged.
        Some(fragment) => Ok(percent_decode_str(fragment)
            .decode_utf8()
            .unwrap_or(Cow::Borrowed(fragment))),
        None => Err(UnresolvedReference::Elsewhere(reference.to_owned())),
    }
}

/// A string member.
pub(super) fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value.get(member)?.as_str()
}

/// The members of an object member.
pub(super) fn members<'a>(
    value: &'a Value,
    member: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = value.get(member).and_then(Value::as_object);
    members.into_iter().flat_map(Map::iter)
}

/// The items of an array member.
pub(super) fn items<'a>(value: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    let items = value.get(member).and_then(Value::as_array);
    items.into_iter().flatten()
}

pub(super) fn is_true(value: &Value, member: &str) -> bool {
    value.get(member) == Some(&Value::Bool(true))
}

fn parsed(text: &str) -> Result<ParsedText, String> {
    let text = text.trim_start_matches('\u{feff}');
    let start = text.trim_start();
    if start.starts_with('{') || start.starts_with("//") || start.starts_with("/*") {
        return json(text);
    }
    if let Some(foreign) = unparsable_format(text) {
        return Err(foreign);
    }
    yaml(text).map_err(|error| format!("the description is neither JSON nor YAML: {error}"))
}

/// JSON, possibly with comments and trailing commas, or YAML in flow style, which begins with a brace, too.
fn json(text: &str) -> Result<ParsedText, String> {
    let mut parsed = strict_json(text);
    if matches!(parsed, Err(JsonError::Invalid(_))) {
        // Comments (`//`, `/* */`, `#`) become spaces, and `serde_json` reads the rest. Positions stay the same, and
        // `ParsedText` sees repeated keys. `jsonc-parser` would be a second reader with its own rules and errors.
        let mut stripped = text.to_owned();
        if json_strip_comments::strip(&mut stripped).is_ok() && stripped != text {
            parsed = strict_json(&stripped);
        }
    }
    let error = match parsed {
        Ok(parsed) => return Ok(parsed),
        Err(JsonError::TooHeavy) => {
            return Err(format!(
                "the description holds too many values: more than {MAX_JSON_WEIGHT}, {}",
                weight::WEIGHT_RULE_TEXT
            ));
        }
        Err(JsonError::Invalid(error)) => error,
    };
    let may_be_yaml = text.len() <= MAX_FLOW_YAML_BYTES && text.trim_start().starts_with('{');
    let parsed = may_be_yaml.then(|| yaml(text)).and_then(Result::ok);
    parsed.ok_or_else(|| {
        let line = error.line();
        let column = error.column();
        let why = if error.is_eof() {
            "it ends there, as if only a part of it was saved or sent".to_owned()
        } else {
            let position = format!(" at line {line} column {column}");
            error.to_string().replace(&position, "")
        };
        format!(
            "the description is not JSON: there is an error at line {line}, column {column}: {why}"
        )
    })
}

enum JsonError {
    TooHeavy,
    Invalid(serde_json::Error),
}

fn strict_json(text: &str) -> Result<ParsedText, JsonError> {
    match weight::of(text.as_bytes(), MAX_JSON_WEIGHT) {
        Some(_) => serde_json::from_str(text).map_err(JsonError::Invalid),
        None => Err(JsonError::TooHeavy),
    }
}

fn yaml(text: &str) -> Result<ParsedText, String> {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_depth = MAX_YAML_DEPTH;
    budget.max_nodes = MAX_YAML_NODES;
    budget.max_events = 2 * MAX_YAML_NODES;
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_YAML_ALIAS_NODES;
    // YAML 1.1 reads `no` and `on` as booleans. Here they are strings.
    options.strict_booleans = true;
    // `ParsedText` merges or names them.
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::PassThrough;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let why = UserMessageFormatter.format_message(&error);
        match error.location() {
            Some(at) => format!("line {}, column {}: {why}", at.line(), at.column()),
            None => why.into_owned(),
        }
    })
}

fn version(root: &Value) -> Result<OpenApiVersion, String> {
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if let Some(old) = root.get("swagger") {
        return Err(format!(
            "this is a Swagger {} description, and only OpenAPI 3.0 and 3.1 are supported: convert it, for \
             example with `npx swagger2openapi --outfile openapi.json FILE`, and name the new file",
            said(old)
        ));
    }
    match root.get("openapi").map(said) {
        None => Err(parsed_format(root)),
        Some(version) if version == "3" || version.starts_with("3.0") => Ok(OpenApiVersion::V3_0),
        Some(version) if version.starts_with("3.") => Ok(OpenApiVersion::V3_1),
        Some(version) => Err(format!(
            "OpenAPI {version:?} is not supported: 3.0 and 3.1 are"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_yaml_are_parsed_to_the_same_document() {
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
    fn error_for_other_formats_names_a_remedy() {
        for (text, part) in [
            ("swagger: '2.0'\n", "swagger2openapi"),
            ("{\"swagger\": \"2.0\"}", "Swagger 2.0"),
            ("{\"swaggerVersion\": \"1.2\"}", "Swagger 1"),
            ("openapi: 4.0.0\n", "3.0 and 3.1"),
            ("{}", "no member `openapi` (it is empty)"),
            (
                "message: Not Found\ncode: 404\n",
                "(it has `message`, `code`); is the file or the address right?",
            ),
            (
                "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n",
                "`e` and 2 more",
            ),
            ("", "is empty"),
            (" \n# nothing\n", "is empty"),
            ("Not found", "plain text"),
            ("- a\n- b\n", "an object with the member `openapi`"),
            ("[{\"openapi\": \"3.0.0\"}]", "a JSON array"),
            ("<!DOCTYPE html><html></html>", "a web page"),
            ("  <html>", "/v3/api-docs"),
            ("<?xml version=\"1.0\"?><definitions/>", "WSDL"),
            (
                "{\"info\": {\"_postman_id\": \"1\"}, \"item\": []}",
                "p2o FILE",
            ),
            (
                "{\"info\": {\"schema\": \"https://schema.getpostman.com/json/collection/v2.1.0/collection.json\"}}",
                "Postman collection",
            ),
            ("asyncapi: 2.6.0\n", "AsyncAPI"),
            (
                "{\"kind\": \"discovery#restDescription\", \"discoveryVersion\": \"v1\"}",
                "Google API Discovery",
            ),
            ("{\"log\": {\"entries\": []}}", "HAR"),
            ("#%RAML 1.0\ntitle: T\n", "RAML"),
            (
                "# Users\ntype Query {\n  user: User\n}\n",
                "`schema = \"FILE\"`",
            ),
            (
                "\"\"\"\nUsers\n\"\"\"\ntype Query { user: User }\n",
                "GraphQL schema",
            ),
            (
                "extend schema @link(url: \"https://x\") {\n query: Q }\n",
                "GraphQL schema",
            ),
            ("{\"data\": {\"__schema\": {}}}", "GraphQL schema"),
            ("{\"openapi\":", "error at line 1, column 11: it ends there"),
            (
                "{\n  \"openapi\": \"3.0.0\",\n  \"paths\": {",
                "at line 3, column 12: it ends there",
            ),
            (
                "{\"openapi\": \"3.0.0\"\n  \"paths\": {}}",
                "at line 2, column 3: expected `,` or `}`",
            ),
            (
                "{\"openapi\": \"3.0.0\", \"x\": [1 2}",
                "at line 1, column 30",
            ),
            ("/* a\n{}", "it ends there"),
            ("// a\n{\"openapi\": 3.0.0}", "at line 2, column 16"),
            ("a: [", "neither JSON nor YAML"),
            (
                "openapi: 3.0.0\npaths:\n  /a: {get: [\n",
                "line 3, column 13: unclosed bracket",
            ),
            ("openapi: 3.0.0\npaths:\n\t/a: 1\n", "line 3"),
            (
                "openapi: 3.0.0\ninfo: {a: \"b\n",
                "line 2, column 11: unclosed quote",
            ),
        ] {
            let problem = OpenApiDocument::read(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn json_with_comments_and_trailing_commas_is_read() {
        for text in [
            "// generated\n{\"openapi\": \"3.0.0\", \"url\": \"https://a//b\"}",
            "/* generated,\n { */ {\"openapi\": \"3.0.0\", /* \" */ \"url\": \"https://a//b\"} // end",
            "{\n\"openapi\": \"3.0.0\", // a \"comment\"\n\"url\": \"https://a//b\",\n}",
            "# generated\n{\"openapi\": \"3.0.0\", \"url\": \"https://a//b\"}",
            "\u{feff}// ä\n{\"openapi\": \"3.0.0\", \"url\": \"https://a//b\"}",
        ] {
            let document = OpenApiDocument::read(text);
            let document = document.unwrap_or_else(|problem| panic!("{text}: {problem}"));
            let expected = json!({ "openapi": "3.0.0", "url": "https://a//b" });
            assert_eq!(*document.root(), expected, "{text}");
        }
        // A comment must not hide values from the limit.
        let text = format!(
            "{{ // don\"t\n\"openapi\": \"3.0.0\", \"x\": [{}1]}}",
            "1,".repeat(MAX_JSON_WEIGHT)
        );
        let problem = OpenApiDocument::read(&text).unwrap_err();
        assert!(problem.contains("more than 4000000"), "{problem}");
    }

    #[test]
    fn yaml_alias_bomb_is_refused() {
        let mut text = "openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            let ten = vec![before; 10].join(", ");
            _ = writeln!(text, "a{level}: &a{level} [{ten}]");
        }
        assert!(OpenApiDocument::read(&text).is_err());
    }

    #[test]
    fn json_with_too_many_values_is_refused_before_it_is_parsed() {
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
            ("#/nowhere", "does not exist"),
            ("other.yaml#/a", "another document"),
            ("#/loop", "itself"),
        ] {
            let problem = resolve(reference).unwrap_err().to_string();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
