//! The responses of an operation: the type of the result, and the `Accept` header.
//!
//! Invariant: a type is promised only if the description promises it for every success response with a body.

use serde_json::{Value, json};

use super::{
    media_types::is_json,
    openapi_document::{OpenApiDocument, members},
};

/// The number of media types of one operation in `Accept`.
const MAX_RESPONSE_MEDIA_TYPES: usize = 16;

/// The success responses of an operation.
#[derive(Debug, Default)]
pub(super) struct SuccessResponses {
    /// The schema of the JSON bodies, as in the description, or `{"type": "null"}` if all are empty.
    pub(super) schema: Option<Value>,
    /// The header `Accept`.
    pub(super) accept: String,
    /// Set if the responses have a `Link` header, for paging.
    pub(super) links: bool,
    /// Set if a response may have a JSON body.
    pub(super) may_be_json: bool,
}

/// Reads the success responses. A response whose reference cannot be resolved has an unknown body.
pub(super) fn read(document: &OpenApiDocument, verb: &str, operation: &Value) -> SuccessResponses {
    let mut found: Vec<(&String, &Value)> = members(operation, "responses")
        .filter(|(status, _)| status.starts_with('2'))
        .collect();
    found.sort_by_key(|(status, _)| status.replace(['x', 'X'], "~"));
    if found.is_empty() {
        found = members(operation, "responses")
            .filter(|(status, _)| *status == "default")
            .collect();
    }
    let mut json = Vec::new();
    let mut others = Vec::new();
    let mut links = false;
    let mut promised = PromisedBody::default();
    for (status, response) in found {
        let Ok(response) = document.resolve(response) else {
            promised.unknown = true;
            continue;
        };
        links |= members(response, "headers").any(|(name, _)| name.eq_ignore_ascii_case("link"));
        let mut typed = false;
        for (media, content) in members(response, "content") {
            let media = media.as_str();
            let list = if is_json(media) {
                &mut json
            } else {
                &mut others
            };
            if list.len() < MAX_RESPONSE_MEDIA_TYPES && !list.contains(&media) {
                list.push(media);
            }
            if is_json(media) {
                typed = true;
                promised.json(content.get("schema"));
            }
        }
        match members(response, "content").next() {
            // JSON is preferred in `Accept`, so another body means that there is no JSON.
            Some(_) => promised.unknown |= !typed,
            None if matches!(status.as_str(), "204" | "205") => promised.empty = true,
            // Many descriptions omit the body.
            None => promised.unsaid |= status != "202",
        }
    }
    SuccessResponses {
        may_be_json: !json.is_empty() || others.is_empty(),
        schema: match verb {
            // A HEAD response has no body, regardless of the description.
            "head" => Some(json!({ "type": "null" })),
            _ => promised.schema(),
        },
        accept: match (json.as_slice(), others.as_slice()) {
            ([], []) => "application/json, */*;q=0.5".into(),
            ([], others) => format!("{}, */*;q=0.5", others.join(", ")),
            (json, _) => format!(
                "{}, */*;q=0.5",
                json.join(", ").replace("*/*", "application/json")
            ),
        },
        links,
    }
}

/// The facts about a body in all success responses together.
#[derive(Debug, Default)]
struct PromisedBody<'a> {
    /// The schemas, without duplicates.
    schemas: Vec<&'a Value>,
    /// Set if a response has no body.
    empty: bool,
    /// Set if a response does not describe a body.
    unsaid: bool,
    /// Set if a response has a body of unknown type.
    unknown: bool,
}

impl<'a> PromisedBody<'a> {
    fn json(&mut self, schema: Option<&'a Value>) {
        match schema {
            Some(schema) if self.schemas.contains(&schema) => {}
            Some(schema) if self.schemas.len() < MAX_RESPONSE_MEDIA_TYPES => {
                self.schemas.push(schema);
            }
            _ => self.unknown = true,
        }
    }

    fn schema(self) -> Option<Value> {
        let null = || json!({ "type": "null" });
        match (self.schemas.as_slice(), self.empty) {
            _ if self.unknown => None,
            ([], true) => (!self.unsaid).then(null),
            ([], false) => None,
            ([only], false) => Some((*only).clone()),
            (several, empty) => {
                let several = several.iter().map(|schema| (*schema).clone());
                let alternatives: Vec<Value> = several.chain(empty.then(null)).collect();
                Some(json!({ "anyOf": alternatives }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_schema_covers_all_success_responses() {
        let document = OpenApiDocument::read("{\"openapi\": \"3.1.0\"}").unwrap();
        let json = |kind: &str| json!({ "content": { "application/json": { "schema": { "type": kind } } } });
        let text = json!({ "content": { "text/csv": {} } });
        for (responses, schema, accept) in [
            (
                json!({ "201": json("string"), "200": json("array"), "default": json("object") }),
                json!({ "anyOf": [{ "type": "array" }, { "type": "string" }] }),
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
            (
                json!({ "200": json("array"), "201": json("array"), "202": {} }),
                json!({ "type": "array" }),
                "application/json, */*;q=0.5",
            ),
            (
                json!({ "200": json("array"), "201": json("string"), "204": {} }),
                json!({ "anyOf": [{ "type": "array" }, { "type": "string" }, { "type": "null" }] }),
                "application/json, */*;q=0.5",
            ),
            (
                json!({ "200": json("array"), "206": text }),
                Value::Null,
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
                Value::Null,
                "application/vnd.a+json, application/json, */*;q=0.5",
            ),
        ] {
            let answers = read(&document, "get", &json!({ "responses": responses }));
            assert_eq!(answers.schema.unwrap_or_default(), schema, "{responses}");
            assert_eq!(answers.accept, accept, "{responses}");
        }
    }

    #[test]
    fn head_has_no_body_whatever_its_description_says() {
        let document = OpenApiDocument::read("{\"openapi\": \"3.1.0\"}").unwrap();
        let content = json!({ "application/json": { "schema": { "type": "object" } } });
        let head = json!({ "responses": { "200": { "content": content } } });
        let answers = read(&document, "head", &head);
        assert_eq!(answers.schema, Some(json!({ "type": "null" })));
    }
}
