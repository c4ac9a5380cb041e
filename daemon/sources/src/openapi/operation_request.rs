//! Makes a request of arguments.
//!
//! Invariant: pure. An argument changes only the value in its place, not other segments of the path and not other
//! headers.

use std::collections::HashMap;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::{Map, Value};

use super::{
    media_types::essence,
    operation::OpenApiOperation,
    operation_body::{BodyArguments, BodyKind, FileUse, MultipartField},
    parameter_style::{
        AllowedCharacters, EncodedPair, ParameterEncoding, ParameterLocation, ParameterStyle,
        encoded, plain,
    },
    parameters::{OperationParameter, ParameterFormat, path_parameters},
};
use crate::http::{ApiRequest, FormPart, MultipartBody, RequestBody, has_steps};

/// Arguments that are valid by their schema but make no request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("`{0}` is a part of the path and must not be empty")]
    Empty(String),
    #[error("`{0}` would lead to another path")]
    Elsewhere(String),
    #[error("`{0}` holds a line break or another control character, which no header can")]
    Control(String),
    #[error("`{0}` is not base64")]
    NotBase64(String),
    #[error("`{0}` must be an object with `base64`, or base64 text")]
    NoFile(String),
}

pub(super) fn request(
    operation: &OpenApiOperation,
    mut arguments: Map<String, Value>,
) -> Result<ApiRequest, ArgumentError> {
    let mut request = ApiRequest {
        method: operation.method.clone(),
        path: String::new(),
        query: Vec::new(),
        headers: operation.headers.clone(),
        cookies: Vec::new(),
        body: None,
        security: operation.security.clone(),
        safe: operation.safe,
    };
    let mut segments = HashMap::new();
    for parameter in &operation.parameters {
        let value = arguments.shift_remove(&parameter.argument);
        let value = value.unwrap_or_default();
        let name = &parameter.name;
        match parameter.place {
            ParameterLocation::Path => {
                segments.insert(name.as_str(), segment(parameter, &value)?);
            }
            _ if value.is_null() => {}
            ParameterLocation::Query => request.query.extend(pairs(parameter, &value)),
            ParameterLocation::Cookie => request.cookies.extend(pairs(parameter, &value)),
            ParameterLocation::Header => {
                let text = match &parameter.written {
                    ParameterFormat::Styled(writing) => writing.segment(name, &value),
                    ParameterFormat::Content { json } => content(&value, *json),
                };
                if text.chars().any(char::is_control) {
                    return Err(ArgumentError::Control(parameter.argument.clone()));
                }
                request.headers.push((name.clone(), text));
            }
        }
    }
    let mut path = expand_path(&operation.path, &segments);
    // Some descriptions distinguish operations by a query in the path.
    if let Some((before, query)) = path.clone().split_once('?') {
        path = before.to_owned();
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        request.query.splice(0..0, pairs);
    }
    request.path = path;
    request.body = body(operation, arguments)?;
    Ok(request)
}

/// Replaces the parameters of a path. A fragment distinguishes operations of one path, and is not sent.
fn expand_path(path: &str, segments: &HashMap<&str, String>) -> String {
    let template = path.split('#').next().unwrap_or_default();
    let mut expanded = String::new();
    let mut end = 0;
    for parameter in path_parameters(template) {
        if let Some(segment) = segments.get(parameter.name) {
            expanded.push_str(&template[end..parameter.range.start]);
            expanded.push_str(segment);
            end = parameter.range.end;
        }
    }
    expanded + &template[end..]
}

fn segment(parameter: &OperationParameter, value: &Value) -> Result<String, ArgumentError> {
    let text = match &parameter.written {
        ParameterFormat::Styled(writing) => writing.segment(&parameter.name, value),
        ParameterFormat::Content { json } => {
            encoded(&content(value, *json), AllowedCharacters::Unreserved)
        }
    };
    if text.is_empty() {
        return Err(ArgumentError::Empty(parameter.argument.clone()));
    }
    if has_steps(&text) {
        return Err(ArgumentError::Elsewhere(parameter.argument.clone()));
    }
    Ok(text)
}

fn pairs(parameter: &OperationParameter, value: &Value) -> Vec<EncodedPair> {
    match &parameter.written {
        ParameterFormat::Styled(writing) => writing.pairs(&parameter.name, value),
        ParameterFormat::Content { json } => {
            let encoded = |text: &str| encoded(text, AllowedCharacters::Unreserved);
            vec![(encoded(&parameter.name), encoded(&content(value, *json)))]
        }
    }
}

fn content(value: &Value, json: bool) -> String {
    match json {
        true => value.to_string(),
        false => plain(value),
    }
}

fn body(
    operation: &OpenApiOperation,
    mut arguments: Map<String, Value>,
) -> Result<Option<RequestBody>, ArgumentError> {
    let Some(described) = &operation.body else {
        return Ok(None);
    };
    let (name, value) = match &described.given {
        BodyArguments::Whole(name) => match arguments.shift_remove(name) {
            Some(value) => (name.as_str(), value),
            None => return Ok(None),
        },
        BodyArguments::Members if arguments.is_empty() && !described.required => return Ok(None),
        BodyArguments::Members => ("body", Value::Object(arguments)),
    };
    let media = described.media.clone();
    Ok(Some(match &described.kind {
        BodyKind::Json if media == "application/json" => RequestBody::Json(value),
        BodyKind::Json => RequestBody::Bytes {
            media,
            bytes: value.to_string().into_bytes(),
        },
        BodyKind::Text => RequestBody::Bytes {
            media,
            bytes: plain(&value).into_bytes(),
        },
        BodyKind::Bytes => RequestBody::Bytes {
            media,
            bytes: bytes(name, &value)?,
        },
        BodyKind::Form(said) => {
            let fields = value.as_object().into_iter().flatten();
            RequestBody::Form(
                fields
                    .flat_map(|(name, value)| form(name, value, said.get(name)))
                    .collect(),
            )
        }
        BodyKind::Multipart(fields) => {
            let mut members = match value {
                Value::Object(members) => members,
                _ => Map::new(),
            };
            let mut parts = Vec::new();
            for field in fields {
                if let Some(value) = members.shift_remove(&field.name) {
                    multipart(&field.name, &value, Some(field), &mut parts)?;
                }
            }
            for (name, value) in &members {
                multipart(name, value, None, &mut parts)?;
            }
            RequestBody::Multipart(MultipartBody {
                media: essence(&media),
                parts,
            })
        }
    }))
}

/// Encodes a form member. By default a list is repeated and an object is JSON.
fn form(name: &str, value: &Value, said: Option<&ParameterEncoding>) -> Vec<EncodedPair> {
    let usual = ParameterEncoding {
        style: ParameterStyle::Form,
        explode: true,
        letters: AllowedCharacters::Unreserved,
    };
    match (value, said) {
        (Value::Object(_), None) => vec![(usual.encoded(name), usual.encoded(&value.to_string()))],
        (_, said) => said.unwrap_or(&usual).pairs(name, value),
    }
}

fn multipart(
    name: &str,
    value: &Value,
    said: Option<&MultipartField>,
    parts: &mut Vec<FormPart>,
) -> Result<(), ArgumentError> {
    let file = said.map_or(FileUse::None, |said| said.file);
    let is_file = match file {
        FileUse::None => false,
        FileUse::File => true,
        FileUse::FileOrOther => value.get("base64").is_some(),
    };
    let media = said.and_then(|said| said.media.clone());
    let part = match value {
        Value::Null => return Ok(()),
        Value::Array(items) => {
            for item in items {
                multipart(name, item, said, parts)?;
            }
            return Ok(());
        }
        _ if is_file => {
            let said = |member: &str| value.get(member).and_then(Value::as_str);
            let file_name = said("name").unwrap_or(name);
            if file_name.chars().any(char::is_control) {
                return Err(ArgumentError::Control(name.to_owned()));
            }
            FormPart {
                name: name.to_owned(),
                file_name: Some(file_name.to_owned()),
                media: said("type")
                    .map(str::to_owned)
                    .or(media)
                    .or_else(|| Some("application/octet-stream".into())),
                bytes: bytes(name, value)?,
            }
        }
        Value::Object(_) => FormPart {
            name: name.to_owned(),
            file_name: None,
            media: media.or_else(|| Some("application/json".into())),
            bytes: value.to_string().into_bytes(),
        },
        one => FormPart {
            name: name.to_owned(),
            file_name: None,
            media,
            bytes: plain(one).into_bytes(),
        },
    };
    parts.push(part);
    Ok(())
}

/// The bytes of a file: of base64 text, of an object with it, or of a `data:` URL.
fn bytes(name: &str, value: &Value) -> Result<Vec<u8>, ArgumentError> {
    let text = value.as_str().or_else(|| value.get("base64")?.as_str());
    let text = text.ok_or_else(|| ArgumentError::NoFile(name.to_owned()))?;
    let text = match text.strip_prefix("data:").and_then(|it| it.split_once(',')) {
        Some((_, data)) => data,
        None => text,
    };
    let letters: String = text.split_ascii_whitespace().collect();
    let alphabet = match letters.contains(['-', '_']) {
        true => alphabet::URL_SAFE,
        false => alphabet::STANDARD,
    };
    let padding =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = GeneralPurpose::new(&alphabet, padding).decode(letters);
    decoded.map_err(|_| ArgumentError::NotBase64(name.to_owned()))
}
