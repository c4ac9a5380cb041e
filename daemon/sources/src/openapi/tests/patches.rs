//! Bodies with one schema for several media types.

use serde_json::{Value, json};

use super::{
    super::{OpenApiDescription, media_types, operation_request::request},
    entry, everything, written,
};

const KUBERNETES: [&str; 5] = [
    "application/apply-patch+cbor",
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// An API with a patch operation that takes this schema as each of these media types.
fn described(media: &[&str], schema: &Value) -> OpenApiDescription {
    let content: Value = media
        .iter()
        .map(|media| ((*media).to_owned(), json!({ "schema": schema })))
        .collect();
    let operation = json!({
        "operationId": "patch",
        "requestBody": { "required": true, "content": content },
        "responses": {},
    });
    let text = json!({
        "openapi": "3.0.0",
        "paths": { "/a": { "patch": operation } },
        "components": { "schemas": { "Patch": { "type": "object" } } },
    });
    OpenApiDescription::read(&text.to_string(), &entry(), &everything()).unwrap()
}

fn sent(description: &OpenApiDescription, arguments: &Value) -> String {
    let mut arguments = arguments.as_object().unwrap().clone();
    let operation = description.operations.values().next().unwrap();
    let body = operation.body.as_ref().unwrap();
    let asked = media_types::asked(body, &mut arguments);
    let mut request = request(operation, arguments).unwrap();
    if let Some(asked) = asked {
        request.body = request.body.map(|body| media_types::sent_as(body, asked));
    }
    written(&request)
}

#[test]
fn patch_is_sent_as_the_chosen_media_type() {
    let patch = json!({ "$ref": "#/components/schemas/Patch" });
    let description = described(&KUBERNETES, &patch);
    let schema = &description.tools()[0]["inputSchema"]["properties"];
    assert_eq!(
        schema["$contentType"]["enum"],
        json!([KUBERNETES[3], KUBERNETES[1], KUBERNETES[2], KUBERNETES[4]])
    );
    assert_eq!(schema["body"]["anyOf"][1]["type"], "array");
    let object = json!({ "spec": {} });
    let steps = json!([{ "op": "remove", "path": "/a" }]);
    for (arguments, media, text) in [
        (json!({ "body": object }), KUBERNETES[3], &object),
        (
            json!({ "body": object, "$contentType": KUBERNETES[4] }),
            KUBERNETES[4],
            &object,
        ),
        (
            json!({ "body": object, "$contentType": KUBERNETES[1] }),
            KUBERNETES[1],
            &object,
        ),
        (json!({ "body": steps }), KUBERNETES[2], &steps),
    ] {
        let expected = format!("PATCH /a\n\n{media}\n{text}");
        assert_eq!(sent(&description, &arguments), expected, "{arguments}");
    }
}

#[test]
fn list_is_a_json_patch_if_it_is_the_only_media_type() {
    let steps = json!({ "type": "array", "items": { "type": "object" } });
    let description = described(&KUBERNETES[2..3], &steps);
    let schema = &description.tools()[0]["inputSchema"]["properties"];
    assert_eq!(schema.get("$contentType"), None);
    assert_eq!(schema["body"], steps);
    assert_eq!(
        sent(&description, &json!({ "body": [] })),
        "PATCH /a\n\napplication/json-patch+json\n[]"
    );
}

#[test]
fn json_patch_is_not_offered_for_a_body_of_members() {
    let named = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let description = described(&KUBERNETES, &named);
    let schema = &description.tools()[0]["inputSchema"]["properties"];
    assert_eq!(
        schema["$contentType"]["enum"],
        json!([KUBERNETES[3], KUBERNETES[1], KUBERNETES[4]])
    );
    let arguments = json!({ "name": "n", "$contentType": KUBERNETES[4] });
    assert_eq!(
        sent(&description, &arguments),
        format!("PATCH /a\n\n{}\n{{\"name\":\"n\"}}", KUBERNETES[4])
    );
}

#[test]
fn single_media_type_adds_no_argument() {
    let description = described(&["application/json", "text/xml"], &json!({}));
    let schema = &description.tools()[0]["inputSchema"]["properties"];
    assert_eq!(schema.as_object().unwrap().len(), 1);
    assert_eq!(
        sent(&description, &json!({ "body": [1] })),
        "PATCH /a\n\n[1]"
    );
}
