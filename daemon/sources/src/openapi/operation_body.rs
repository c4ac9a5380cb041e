//! The body of an operation, and the arguments that make it.
//!
//! The members of an object body are arguments next to the parameters, unless a name is taken; any other body is one
//! argument, `body`. A file is base64 text, or an object with name, type and base64 text.
//!
//! Invariant: arguments that are not parameters are members of the body, or the call has none.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    media_types::{self, MediaChoice, chosen, essence, is_json, is_text},
    object_members::flat,
    openapi_document::{OpenApiDocument, UnresolvedReference, is_true, members, text},
    parameter_style::{AllowedCharacters, ParameterEncoding, ParameterStyle},
};

#[derive(Clone, Debug)]
pub(super) struct OperationBody {
    /// The media type that is sent.
    pub(super) media: String,
    /// The media types among which a caller can choose.
    pub(super) choice: MediaChoice,
    pub(super) kind: BodyKind,
    pub(super) given: BodyArguments,
    pub(super) required: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum BodyKind {
    Json,
    /// A form, with the encoding of the members for which the description has one.
    Form(BTreeMap<String, ParameterEncoding>),
    Multipart(BTreeMap<String, MultipartField>),
    Text,
    Bytes,
}

/// One member of a multipart body.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct MultipartField {
    pub(super) file: bool,
    pub(super) media: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum BodyArguments {
    /// The body is one argument of this name.
    Whole(String),
    /// The members of the body are arguments.
    Members,
}

/// A body, with the schema of its arguments.
#[derive(Debug)]
pub(super) struct DescribedBody {
    pub(super) body: OperationBody,
    /// The arguments, as properties of the input schema.
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
    /// Constraints on which of the arguments are required together.
    pub(super) limits: Vec<Value>,
    /// Whether members that are not described are allowed.
    pub(super) open: bool,
}

pub(super) fn read(
    document: &OpenApiDocument,
    operation: &Value,
    taken: &[&str],
) -> Result<Option<DescribedBody>, UnresolvedReference> {
    let Some(body) = operation.get("requestBody") else {
        return Ok(None);
    };
    let body = document.resolve(body)?;
    let Some((media, content)) = chosen(document, body)? else {
        return Ok(None);
    };
    let schema = content.get("schema").unwrap_or(&Value::Null);
    let kind = kind(document, media, schema, content);
    let required = is_true(body, "required");
    let mut whole = match kind {
        BodyKind::Text => json!({ "type": "string" }),
        BodyKind::Bytes => file_text(),
        _ if schema.is_null() => json!({}),
        _ => schema.clone(),
    };
    let structured = !matches!(kind, BodyKind::Text | BodyKind::Bytes);
    let flat = if structured {
        flat(document, &whole)?
    } else {
        None
    };
    let flat = flat.map(|flat| flat.asked(document));
    let members = flat.map(|flat| (flat.properties(), flat));
    let members = members.filter(|(properties, _)| {
        let free = |name: &String| {
            !taken.contains(&name.as_str())
                && name != "$pages"
                && name != media_types::CONTENT_TYPE_ARGUMENT
        };
        !properties.is_empty() && properties.keys().all(free)
    });
    let announced = match (&kind, media.contains('*')) {
        (BodyKind::Json, true) => "application/json".to_owned(),
        (BodyKind::Bytes, true) => "application/octet-stream".to_owned(),
        _ => media.to_owned(),
    };
    let choice = match kind {
        BodyKind::Json if !taken.contains(&media_types::CONTENT_TYPE_ARGUMENT) => {
            MediaChoice::of(document, body, (&announced, schema), members.is_none())
        }
        _ => MediaChoice::default(),
    };
    if let Some((mut properties, flat)) = members {
        if let BodyKind::Multipart(parts) = &kind {
            files(&mut properties, parts);
        }
        properties.extend(choice.argument());
        return Ok(Some(DescribedBody {
            required: if required { flat.required } else { Vec::new() },
            body: OperationBody {
                media: announced,
                choice,
                kind,
                given: BodyArguments::Members,
                required,
            },
            properties,
            limits: if required { flat.limits } else { Vec::new() },
            open: !flat.closed,
        }));
    }
    if choice.takes_patch() {
        whole = json!({ "anyOf": [whole, media_types::json_patch()] });
    }
    let names = ["body", "requestBody", "request_body"];
    let name = names.iter().find(|name| !taken.contains(name));
    let name = (*name.unwrap_or(&"the_body")).to_owned();
    if let Some(words) = text(body, "description") {
        whole = json!({ "description": words, "allOf": [whole] });
    }
    Ok(Some(DescribedBody {
        required: required.then(|| name.clone()).into_iter().collect(),
        properties: [(name.clone(), whole)]
            .into_iter()
            .chain(choice.argument())
            .collect(),
        body: OperationBody {
            media: announced,
            choice,
            kind,
            given: BodyArguments::Whole(name),
            required,
        },
        limits: Vec::new(),
        open: false,
    }))
}

fn kind(document: &OpenApiDocument, media: &str, schema: &Value, content: &Value) -> BodyKind {
    let plain = essence(media);
    match plain.as_str() {
        "*/*" | "application/*" if is_file(document, schema) => BodyKind::Bytes,
        plain if is_json(plain) => BodyKind::Json,
        "application/x-www-form-urlencoded" => {
            let encodings = members(content, "encoding");
            BodyKind::Form(
                encodings
                    .filter_map(|(name, it)| Some((name.clone(), writing(it)?)))
                    .collect(),
            )
        }
        plain if plain.starts_with("multipart/") => {
            BodyKind::Multipart(parts(document, schema, content))
        }
        plain if is_text(plain) => BodyKind::Text,
        _ => BodyKind::Bytes,
    }
}

/// The encoding of a form member; `None` without `style` and `explode`.
fn writing(encoding: &Value) -> Option<ParameterEncoding> {
    let style = text(encoding, "style").and_then(ParameterStyle::of);
    let said = encoding.get("explode").and_then(Value::as_bool);
    if style.is_none() && said.is_none() {
        return None;
    }
    let style = style.unwrap_or(ParameterStyle::Form);
    Some(ParameterEncoding {
        style,
        explode: said.unwrap_or(style == ParameterStyle::Form),
        letters: AllowedCharacters::Unreserved,
    })
}

fn parts(
    document: &OpenApiDocument,
    schema: &Value,
    content: &Value,
) -> BTreeMap<String, MultipartField> {
    let mut parts = BTreeMap::new();
    let Ok(Some(flat)) = flat(document, schema) else {
        return parts;
    };
    for (name, member) in flat.members() {
        let of_items = document.resolve(member).ok().and_then(|it| it.get("items"));
        let file = is_file(document, member) || of_items.is_some_and(|it| is_file(document, it));
        let encoding = content.get("encoding").and_then(|it| it.get(name));
        let said = encoding.and_then(|it| text(it, "contentType"));
        let said = said
            .and_then(|types| types.split(',').next())
            .map(str::trim);
        let part = MultipartField {
            file,
            media: said.filter(|said| !said.contains('*')).map(str::to_owned),
        };
        if part != MultipartField::default() {
            parts.insert(name.to_owned(), part);
        }
    }
    parts
}

pub(super) fn holds_files(document: &OpenApiDocument, schema: &Value) -> bool {
    let parts = parts(document, schema, &Value::Null);
    parts.values().any(|part| part.file)
}

/// Whether a value is a file: `format: binary` in OpenAPI 3.0, a media type without an encoding in 3.1.
pub(super) fn is_file(document: &OpenApiDocument, schema: &Value) -> bool {
    let Ok(schema) = document.resolve(schema) else {
        return false;
    };
    let bare_media = text(schema, "contentMediaType")
        .is_some_and(|media| !is_json(media) && !is_text(media))
        && schema.get("contentEncoding").is_none();
    text(schema, "format") == Some("binary") || text(schema, "type") == Some("file") || bare_media
}

fn file_text() -> Value {
    json!({ "type": "string", "contentEncoding": "base64" })
}

/// Replaces the schemas of files by that of a file argument.
fn files(properties: &mut Map<String, Value>, parts: &BTreeMap<String, MultipartField>) {
    for (name, member) in properties {
        if !parts.get(name).is_some_and(|part| part.file) {
            continue;
        }
        let file = json!({
            "anyOf": [
                file_text(),
                {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "type": { "type": "string" },
                        "base64": file_text(),
                    },
                    "required": ["base64"],
                },
            ],
        });
        let mut instead = match text(member, "type") {
            Some("array") => json!({ "type": "array", "items": file }),
            _ => file,
        };
        if let Some(words) = member.get("description") {
            instead["description"] = words.clone();
        }
        *member = instead;
    }
}
