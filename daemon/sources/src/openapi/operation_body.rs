//! The body of an operation, and the arguments from which it is made.
//!
//! The members of an object body are arguments next to the parameters, unless a name is taken. Any other body is one
//! argument, `body`. A file is a base64 string, or an object with name, type and a base64 string.
//!
//! Invariant: arguments that are not parameters are members of the body, or the call has none.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    media_types::{self, MediaChoice, chosen, essence, is_json, is_text},
    object_members::flat,
    openapi_document::{OpenApiDocument, UnresolvedReference, is_true, items, members, text},
    parameter_style::{AllowedCharacters, ParameterEncoding, ParameterStyle},
};

/// The nesting of alternatives around files.
const MAX_FILE_DEPTH: usize = 8;
/// The number of parts of a multipart body.
const MAX_PARTS: usize = 1_000;

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
    /// In the order of the description.
    Multipart(Vec<MultipartField>),
    Text,
    Bytes,
}

/// One member of a multipart body.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct MultipartField {
    pub(super) name: String,
    pub(super) file: FileUse,
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
    /// Set if undescribed members are allowed.
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
        if let BodyKind::Multipart(_) = &kind {
            for member in properties.values_mut() {
                replace_files(document, member);
            }
        }
        properties.extend(choice.argument());
        return Ok(Some(DescribedBody {
            required: if required {
                flat.required.into_iter().map(str::to_owned).collect()
            } else {
                Vec::new()
            },
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
    if let BodyKind::Multipart(_) = &kind {
        whole = with_file_members(document, &whole, 0);
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

/// The encoding of a form member. `None` without `style` and `explode`.
fn writing(encoding: &Value) -> Option<ParameterEncoding> {
    let style = text(encoding, "style").and_then(|word| word.parse().ok());
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

/// The members of a multipart body, including those of alternatives.
fn parts(document: &OpenApiDocument, schema: &Value, content: &Value) -> Vec<MultipartField> {
    let mut members = Vec::new();
    add_members(document, schema, 0, &mut members);
    let fields = members.into_iter().map(|(name, member)| {
        let encoding = content.get("encoding").and_then(|it| it.get(name));
        let said = encoding.and_then(|it| text(it, "contentType"));
        let said = said
            .and_then(|types| types.split(',').next())
            .map(str::trim)
            .filter(|said| !said.contains('*'));
        MultipartField {
            name: name.to_owned(),
            file: file_use(document, member),
            media: said
                .or_else(|| content_media(document, member))
                .map(str::to_owned),
        }
    });
    fields.collect()
}

fn add_members<'a>(
    document: &'a OpenApiDocument,
    schema: &'a Value,
    depth: usize,
    found: &mut Vec<(&'a str, &'a Value)>,
) {
    let Ok(schema) = document.resolve(schema) else {
        return;
    };
    if depth > MAX_FILE_DEPTH {
        return;
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for part in items(schema, keyword) {
            add_members(document, part, depth + 1, found);
        }
    }
    for (name, member) in members(schema, "properties") {
        if found.len() < MAX_PARTS && found.iter().all(|(known, _)| known != name) {
            found.push((name, member));
        }
    }
}

/// The media type of text that JSON Schema describes, as base64 or directly.
fn content_media<'a>(document: &'a OpenApiDocument, member: &'a Value) -> Option<&'a str> {
    let schema = document.resolve(member).ok()?;
    let has_encoding = schema.get("contentEncoding").is_some();
    text(schema, "contentMediaType").or(has_encoding.then_some("application/octet-stream"))
}

pub(super) fn holds_files(document: &OpenApiDocument, schema: &Value) -> bool {
    let parts = parts(document, schema, &Value::Null);
    parts.iter().any(|part| part.file != FileUse::None)
}

/// The way in which a value can be a file, also in a list or behind `anyOf`, `oneOf` and `allOf`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FileUse {
    None,
    /// As a base64 string, or as an object with one.
    File,
    /// As an object with a base64 string. Any other value is not a file.
    FileOrOther,
}

pub(super) fn is_file(document: &OpenApiDocument, schema: &Value) -> bool {
    file_use(document, schema) != FileUse::None
}

fn file_use(document: &OpenApiDocument, schema: &Value) -> FileUse {
    file_use_at(document, schema, 0)
}

fn file_use_at(document: &OpenApiDocument, schema: &Value, depth: usize) -> FileUse {
    let Ok(schema) = document.resolve(schema) else {
        return FileUse::None;
    };
    if depth > MAX_FILE_DEPTH {
        return FileUse::None;
    }
    if is_binary(schema) {
        return FileUse::File;
    }
    if let Some(of_items) = schema.get("items") {
        return file_use_at(document, of_items, depth + 1);
    }
    let mut parts = items(schema, "allOf").map(|part| file_use_at(document, part, depth + 1));
    if let Some(file) = parts.find(|part| *part != FileUse::None) {
        return file;
    }
    let mut alternatives = Alternatives::default();
    for keyword in ["anyOf", "oneOf"] {
        for alternative in items(schema, keyword) {
            alternatives.add(document, alternative, depth);
        }
    }
    match (alternatives.has_file, alternatives.has_other) {
        (false, _) => FileUse::None,
        (true, false) => FileUse::File,
        (true, true) => FileUse::FileOrOther,
    }
}

#[derive(Default)]
struct Alternatives {
    has_file: bool,
    has_other: bool,
}

impl Alternatives {
    fn add(&mut self, document: &OpenApiDocument, alternative: &Value, depth: usize) {
        let file = file_use_at(document, alternative, depth + 1);
        self.has_file |= file != FileUse::None;
        let resolved = document.resolve(alternative);
        let is_null = resolved.is_ok_and(|it| text(it, "type") == Some("null"));
        self.has_other |= file == FileUse::FileOrOther || (file == FileUse::None && !is_null);
    }
}

/// `format: binary` in OpenAPI 3.0, a media type without an encoding in 3.1.
fn is_binary(schema: &Value) -> bool {
    let has_bare_media = text(schema, "contentMediaType")
        .is_some_and(|media| !is_json(media) && !is_text(media))
        && schema.get("contentEncoding").is_none();
    text(schema, "format") == Some("binary")
        || text(schema, "type") == Some("file")
        || has_bare_media
}

fn file_text() -> Value {
    json!({ "type": "string", "contentEncoding": "base64" })
}

fn file_object() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "type": { "type": "string" },
            "base64": file_text(),
        },
        "required": ["base64"],
    })
}

/// Replaces a file's schema with the schema of its argument.
fn replace_files(document: &OpenApiDocument, member: &mut Value) {
    let file = file_use(document, member);
    if file == FileUse::None {
        return;
    }
    let mut argument = file_argument(document, member, file, 0);
    if let Some(words) = member.get("description") {
        argument["description"] = words.clone();
    }
    *member = argument;
}

/// The schema of the argument for a file. `file` is the use of the whole member.
fn file_argument(document: &OpenApiDocument, schema: &Value, file: FileUse, depth: usize) -> Value {
    let Ok(schema) = document.resolve(schema) else {
        return json!({});
    };
    let of_file = match file {
        FileUse::FileOrOther => file_object(),
        FileUse::File | FileUse::None => json!({ "anyOf": [file_text(), file_object()] }),
    };
    if is_binary(schema) || depth > MAX_FILE_DEPTH {
        return or_null(of_file, schema);
    }
    if let Some(of_items) = schema.get("items") {
        let of_items = file_argument(document, of_items, file, depth + 1);
        return or_null(json!({ "type": "array", "items": of_items }), schema);
    }
    let alternatives: Vec<Value> = ["anyOf", "oneOf"]
        .iter()
        .flat_map(|keyword| items(schema, keyword))
        .map(|alternative| match file_use(document, alternative) {
            FileUse::None => alternative.clone(),
            _ => file_argument(document, alternative, file, depth + 1),
        })
        .collect();
    if alternatives.is_empty() {
        // `allOf` around a file.
        return or_null(of_file, schema);
    }
    or_null(json!({ "anyOf": alternatives }), schema)
}

fn or_null(argument: Value, schema: &Value) -> Value {
    let is_nullable =
        is_true(schema, "nullable") || items(schema, "type").any(|kind| kind == "null");
    if is_nullable {
        return json!({ "anyOf": [argument, { "type": "null" }] });
    }
    argument
}

/// A body that is composed of alternatives, with the arguments of its files.
fn with_file_members(document: &OpenApiDocument, schema: &Value, depth: usize) -> Value {
    let Ok(resolved) = document.resolve(schema) else {
        return schema.clone();
    };
    if depth > MAX_FILE_DEPTH || !holds_files(document, resolved) {
        return schema.clone();
    }
    let mut body = resolved.clone();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = body.get_mut(keyword) {
            for part in parts {
                *part = with_file_members(document, part, depth + 1);
            }
        }
    }
    if let Some(Value::Object(members)) = body.get_mut("properties") {
        for member in members.values_mut() {
            replace_files(document, member);
        }
    }
    body
}
