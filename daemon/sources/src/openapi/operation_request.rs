//! Makes a request from arguments.
//!
//! Invariant: pure. An argument changes only its own value, not other segments of the path, not other pairs of the
//! query or the form, and not other headers.

use std::{collections::HashMap, ops::Range};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::{Map, Value};

use super::{
    exploded_members::check_exploded_members,
    media_types::essence,
    operation::OpenApiOperation,
    operation_body::{BodyArguments, BodyKind, FileUse, MultipartField},
    parameter_style::{
        AllowedCharacters, EncodedPair, ParameterEncoding, ParameterLocation, ParameterStyle,
        encoded, plain,
    },
    parameters::{OperationParameter, ParameterFormat, PathParameter, path_parameters},
};
use crate::http::{ApiRequest, FormPart, MultipartBody, RequestBody, has_steps};

/// Arguments that are valid by their schema but do not make a request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("`{0}` is a part of the path and must not be empty")]
    Empty(String),
    #[error("`{0}` would lead to another path")]
    Elsewhere(String),
    #[error(
        "`{argument}` has the member {member:?}, which would be sent as the argument `{other}`: leave it out of \
         `{argument}`, and give `{other}` if the function takes it"
    )]
    TakesArgument {
        argument: String,
        member: String,
        other: String,
    },
    #[error(
        "`{argument}` has the member {member:?}, which would be sent as a credential: leave it out of `{argument}`"
    )]
    TakesCredential { argument: String, member: String },
    #[error(
        "`{0}` contains a line break or another control character, which headers cannot contain"
    )]
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
    check_exploded_members(operation, &arguments)?;
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
        match parameter.location {
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
    let (path, query) = expand_path(&operation.path, &segments);
    request.path = path;
    request.query.splice(0..0, query);
    request.body = body(operation, arguments)?;
    Ok(request)
}

/// Replaces the parameters of a path. Some descriptions distinguish operations by a query in the path, which is split
/// before it is filled in: a `?` or `&` in an argument begins nothing. A fragment distinguishes operations with one
/// path, and is not sent.
fn expand_path(path: &str, segments: &HashMap<&str, String>) -> (String, Vec<EncodedPair>) {
    let template = path.split('#').next().unwrap_or_default();
    let parameters = path_parameters(template);
    let expand = |range: Range<usize>| expand_part(template, range, &parameters, segments);
    let is_literal = |index: usize| {
        let mut parameters = parameters.iter();
        !parameters.any(|parameter| parameter.range.contains(&index))
    };
    let separators = |range: Range<usize>, separator: char| {
        let found = template[range.clone()].match_indices(separator);
        let found = found.map(move |(index, _)| range.start + index);
        found.filter(|index| is_literal(*index)).collect::<Vec<_>>()
    };
    let Some(&mark) = separators(0..template.len(), '?').first() else {
        return (expand(0..template.len()), Vec::new());
    };
    let mut pairs = Vec::new();
    let mut start = mark + 1;
    let ends = separators(start..template.len(), '&');
    for end in ends.into_iter().chain([template.len()]) {
        if start < end {
            pairs.push(match separators(start..end, '=').first() {
                Some(&sign) => (expand(start..sign), expand(sign + 1..end)),
                None => (expand(start..end), String::new()),
            });
        }
        start = end + 1;
    }
    (expand(0..mark), pairs)
}

/// Replaces the parameters of a part of a template.
fn expand_part(
    template: &str,
    part: Range<usize>,
    parameters: &[PathParameter<'_>],
    segments: &HashMap<&str, String>,
) -> String {
    let mut expanded = String::new();
    let mut from = part.start;
    let is_inside =
        |it: &&PathParameter<'_>| part.start <= it.range.start && it.range.end <= part.end;
    for parameter in parameters.iter().filter(is_inside) {
        if let Some(segment) = segments.get(parameter.name) {
            expanded.push_str(&template[from..parameter.range.start]);
            expanded.push_str(segment);
            from = parameter.range.end;
        }
    }
    expanded + &template[from..part.end]
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
    if json {
        value.to_string()
    } else {
        plain(value)
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

/// The bytes of a file: from a base64 string, from an object with one, or from a `data:` URL.
fn bytes(name: &str, value: &Value) -> Result<Vec<u8>, ArgumentError> {
    let text = value.as_str().or_else(|| value.get("base64")?.as_str());
    let text = text.ok_or_else(|| ArgumentError::NoFile(name.to_owned()))?;
    let text = match text.strip_prefix("data:").and_then(|it| it.split_once(',')) {
        Some((_, data)) => data,
        None => text,
    };
    let letters: String = text.split_ascii_whitespace().collect();
    let alphabet = if letters.contains(['-', '_']) {
        alphabet::URL_SAFE
    } else {
        alphabet::STANDARD
    };
    let padding =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = GeneralPurpose::new(&alphabet, padding).decode(letters);
    decoded.map_err(|_| ArgumentError::NotBase64(name.to_owned()))
}
