//! Recognizes formats other than OpenAPI, for the error about a text that is not a description.
//!
//! Invariant: nothing here decides whether a text is a description.

use serde_json::{Map, Value};

use super::openapi_document::text;

/// The number of members that an error names.
const MAX_NAMED_MEMBERS: usize = 5;
const MAX_SHOWN_CHARS: usize = 40;
/// The keywords of definitions in GraphQL's schema language.
const GRAPHQL_KEYWORDS: [&str; 9] = [
    "directive",
    "enum",
    "extend",
    "input",
    "interface",
    "scalar",
    "schema",
    "type",
    "union",
];
const EMPTY: &str =
    "the description is empty: is it the right file or address, and was all of it saved?";
const GRAPHQL_SCHEMA: &str = "this is a GraphQL schema and not an OpenAPI description: write `graphql = \"https://…\"` with the address of \
                              the API instead of `openapi`, and `schema = \"FILE\"` with this file";

/// The error for a text that cannot be a description, before it is parsed.
pub(super) fn unparsable_format(text: &str) -> Option<String> {
    let text = text.trim_start();
    let begins = |prefix: &str| {
        let start = text.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let what = if text.is_empty() {
        EMPTY
    } else if begins("<?xml") || begins("<wsdl") || begins("<definitions") {
        "the description is XML, such as a WSDL, and not JSON or YAML: look for the OpenAPI description of the API"
    } else if text.starts_with('<') {
        "the description is a web page, not JSON or YAML: is the address right? On a page that shows an API, it is often \
         the link to `openapi.json`, `swagger.json` or `/v3/api-docs`"
    } else if text.starts_with('[') {
        "the description is a JSON array, and an OpenAPI description is an object with the member `openapi`: name a file \
         with one description"
    } else if text.starts_with("#%RAML") {
        "this is a RAML description, and only OpenAPI 3.0 and 3.1 are supported: convert it, and name the new file"
    } else if is_graphql(text) {
        GRAPHQL_SCHEMA
    } else {
        return None;
    };
    Some(what.to_owned())
}

/// The error for a parsed text without `openapi`.
pub(super) fn parsed_format(root: &Value) -> String {
    let members = match root {
        Value::Object(members) => members,
        Value::Null => return EMPTY.into(),
        Value::String(_) => {
            return "this is not an OpenAPI description but plain text: is the file or the address right?".into();
        }
        _ => {
            return "this is not an OpenAPI description, which is an object with the member `openapi`".into();
        }
    };
    if let Some(known) = known_format(root, members) {
        return known.to_owned();
    }
    let names = members.keys().take(MAX_NAMED_MEMBERS).map(|name| {
        let name: String = name.chars().take(MAX_SHOWN_CHARS).collect();
        format!("`{}`", name.escape_debug())
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let has = match members.len() {
        0 => "it is empty".to_owned(),
        count if count > MAX_NAMED_MEMBERS => {
            format!("it has {names} and {} more", count - MAX_NAMED_MEMBERS)
        }
        _ => format!("it has {names}"),
    };
    format!(
        "this is not an OpenAPI description: it has no member `openapi` ({has}); is the file or the address right?"
    )
}

fn known_format(root: &Value, members: &Map<String, Value>) -> Option<&'static str> {
    let info = root.get("info").unwrap_or(&Value::Null);
    let has_introspection = |value: &Value| value.get("__schema").is_some();
    let known = if members.contains_key("asyncapi") {
        "this is an AsyncAPI description, of messages and not of HTTP requests: look for the OpenAPI description of the API"
    } else if info.get("_postman_id").is_some()
        || text(info, "schema").is_some_and(|schema| schema.contains("postman.com"))
    {
        "this is a Postman collection, and only OpenAPI 3.0 and 3.1 are supported: export the API from Postman as OpenAPI, \
         or convert the collection, for example with `npx -p postman-to-openapi p2o FILE -f openapi.yaml`, and name the \
         new file"
    } else if members.contains_key("discoveryVersion")
        || text(root, "kind") == Some("discovery#restDescription")
    {
        "this is a Google API Discovery document, and only OpenAPI 3.0 and 3.1 are supported: look for the OpenAPI \
         description of the API, for example at https://apis.guru, or convert the document, and name the new file"
    } else if has_introspection(root) || root.get("data").is_some_and(has_introspection) {
        GRAPHQL_SCHEMA
    } else if members.contains_key("swaggerVersion") {
        "this is a Swagger 1 description, and only OpenAPI 3.0 and 3.1 are supported: convert it, for example at \
         https://converter.swagger.io, and name the new file"
    } else if root.get("log").and_then(|log| log.get("entries")).is_some() {
        "this is a HAR file of recorded requests and not an OpenAPI description: look for the description of the API"
    } else {
        return None;
    };
    Some(known)
}

/// True if the first line that is not a comment begins a schema definition. In YAML, a colon follows the keyword.
fn is_graphql(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with('#')) else {
        return false;
    };
    let keyword = line.split([' ', '{', '@']).next().unwrap_or(line);
    let is_mapping = line.contains(": ") && !line.contains(['{', '(', '=']);
    line.starts_with("\"\"\"") || (GRAPHQL_KEYWORDS.contains(&keyword) && !is_mapping)
}
