//! What an operation answers: the type of its result, and what it is asked to be sent as.
//!
//! Invariant: a type is promised only where the description promises it for every success that has a body.

use serde_json::{Value, json};

use super::{
    body::is_json,
    document::{Document, members},
};

/// The successes of an operation.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Of the JSON, as the description has it; of nothing at all `{"type": "null"}`.
    pub(super) schema: Option<Value>,
    /// For the header `Accept`.
    pub(super) accept: String,
    /// Whether a `Link` leads to further pages.
    pub(super) links: bool,
}

/// What cannot be resolved promises nothing.
pub(super) fn read(document: &Document, operation: &Value) -> Answers {
    let mut found: Vec<(&String, &Value)> = members(operation, "responses")
        .filter(|(status, _)| status.starts_with('2'))
        .collect();
    found.sort_by_key(|(status, _)| status.replace(['x', 'X'], "~"));
    if found.is_empty() {
        found = members(operation, "responses")
            .filter(|(status, _)| *status == "default")
            .collect();
    }
    let mut answers = Answers::default();
    let (mut json, mut others) = (Vec::new(), Vec::new());
    let (mut empty, mut bodies) = (false, 0);
    for (status, response) in found {
        let Ok(response) = document.resolve(response) else {
            bodies += 1;
            continue;
        };
        answers.links |=
            members(response, "headers").any(|(name, _)| name.eq_ignore_ascii_case("link"));
        let content: Vec<_> = members(response, "content").collect();
        match content.is_empty() {
            true if matches!(status.as_str(), "204" | "205") => empty = true,
            true => bodies += usize::from(status != "202"),
            false => bodies += 1,
        }
        for (media, content) in content {
            let media = media.as_str();
            let list = match is_json(media) {
                true => &mut json,
                false => &mut others,
            };
            if !list.contains(&media) {
                list.push(media);
            }
            if is_json(media) && answers.schema.is_none() {
                answers.schema = content.get("schema").cloned();
            }
        }
    }
    answers.schema = match answers.schema.take() {
        Some(schema) if empty => Some(json!({ "anyOf": [schema, { "type": "null" }] })),
        None if empty && bodies == 0 => Some(json!({ "type": "null" })),
        schema => schema,
    };
    answers.accept = match (json.as_slice(), others.as_slice()) {
        ([], []) => "application/json, */*;q=0.5".into(),
        ([], others) => format!("{}, */*;q=0.5", others.join(", ")),
        (json, _) => format!(
            "{}, */*;q=0.5",
            json.join(", ").replace("*/*", "application/json")
        ),
    };
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_success_with_json_is_the_result() {
        let document = Document::read("{\"openapi\": \"3.1.0\"}").unwrap();
        let json = |kind: &str| json!({ "content": { "application/json": { "schema": { "type": kind } } } });
        let text = json!({ "content": { "text/csv": {} } });
        for (responses, schema, accept) in [
            (
                json!({ "201": json("string"), "200": json("array"), "default": json("object") }),
                json!({ "type": "array" }),
                "application/json, */*;q=0.5",
            ),
            (
                json!({ "default": json("object") }),
                json!({ "type": "object" }),
                "application/json, */*;q=0.5",
            ),
            (
                json!({ "204": { "description": "" }, "400": json("object") }),
                json!({ "type": "null" }),
                "application/json, */*;q=0.5",
            ),
            (
                json!({ "200": json("array"), "204": {} }),
                json!({ "anyOf": [{ "type": "array" }, { "type": "null" }] }),
                "application/json, */*;q=0.5",
            ),
            (json!({ "200": text }), Value::Null, "text/csv, */*;q=0.5"),
            (
                json!({ "200": {} }),
                Value::Null,
                "application/json, */*;q=0.5",
            ),
            (
                json!({ "2XX": json("object"), "200": { "content": { "application/vnd.a+json": {}, "text/csv": {} } } }),
                json!({ "type": "object" }),
                "application/vnd.a+json, application/json, */*;q=0.5",
            ),
        ] {
            let answers = read(&document, &json!({ "responses": responses }));
            assert_eq!(answers.schema.unwrap_or_default(), schema, "{responses}");
            assert_eq!(answers.accept, accept, "{responses}");
        }
    }
}
