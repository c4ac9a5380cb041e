//! The parameters of an operation, and their arguments.
//!
//! Invariant: the arguments of an operation have different names.

use std::{collections::BTreeSet, ops::Range};

use serde_json::{Map, Value, json};

use super::{
    openapi_document::{OpenApiDocument, UnresolvedReference, is_true, items, members, text},
    parameter_style::{AllowedCharacters, ParameterEncoding, ParameterLocation, ParameterStyle},
};

/// How the value of a parameter is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ParameterFormat {
    Styled(ParameterEncoding),
    /// As JSON, or as plain text.
    Content {
        json: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) struct OperationParameter {
    /// The name in the API.
    pub(super) name: String,
    /// The name of the argument.
    pub(super) argument: String,
    pub(super) location: ParameterLocation,
    pub(super) written: ParameterFormat,
}

/// A parameter, with the schema of its argument.
#[derive(Debug)]
pub(super) struct DescribedParameter {
    pub(super) parameter: OperationParameter,
    pub(super) required: bool,
    /// The schema in the description.
    pub(super) schema: Value,
}

/// Headers that the request sets itself, that carry credentials, or that control the connection.
const RESERVED_HEADERS: [&str; 16] = [
    "accept",
    "content-type",
    "authorization",
    "proxy-authorization",
    "cookie",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "proxy-connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
];

/// The number of parameters in one path.
const MAX_PATH_PARAMETERS: usize = 100;

/// The parameters of an operation: the path item's parameters, which the operation can override, then its own.
pub(super) fn read_parameters(
    document: &OpenApiDocument,
    item: &Value,
    operation: &Value,
    path: &str,
) -> Result<Vec<DescribedParameter>, UnresolvedReference> {
    let template = path_parameters(path);
    let mut found: Vec<DescribedParameter> = Vec::new();
    for parameter in items(item, "parameters").chain(items(operation, "parameters")) {
        let parameter = document.resolve(parameter)?;
        let Some(described) = describe_parameter(document, parameter, &template) else {
            continue;
        };
        let of = |it: &DescribedParameter| (it.parameter.location, it.parameter.name.clone());
        match found.iter_mut().find(|it| of(it) == of(&described)) {
            Some(before) => *before = described,
            None => found.push(described),
        }
    }
    // Parameters of the path that the description omits.
    for PathParameter { name, .. } in &template {
        let known = |it: &DescribedParameter| {
            it.parameter.location == ParameterLocation::Path && it.parameter.name == *name
        };
        if !found.iter().any(known) {
            let parameter = json!({ "name": name, "in": "path", "schema": { "type": "string" } });
            found.extend(describe_parameter(document, &parameter, &template));
        }
    }
    assign_argument_names(&mut found);
    Ok(found)
}

/// A parameter in the template of a path.
#[derive(Debug)]
pub(super) struct PathParameter<'a> {
    /// The range of the braces and everything between them.
    pub(super) range: Range<usize>,
    pub(super) name: &'a str,
    written: &'a str,
    is_multi_segment: bool,
}

/// The parameters of a path, without its fragment. Router marks are removed from a name, unless two names would then be
/// equal: `{path+}`, `{path*}`, `{+path}` and `{id:int}` stand for the parameters `path` and `id`.
pub(super) fn path_parameters(path: &str) -> Vec<PathParameter<'_>> {
    let template = path.split('#').next().unwrap_or_default();
    let mut parameters = Vec::new();
    let mut from = 0;
    while let Some(range) = next_braces(template, from)
        && parameters.len() < MAX_PATH_PARAMETERS
    {
        from = range.end;
        let written = &template[range.start + 1..range.end - 1];
        let (name, suffix) = written.split_once(':').unwrap_or((written, ""));
        let plain = name.trim_matches(['+', '*']).trim_end_matches('?');
        parameters.push(PathParameter {
            range,
            name: if plain.is_empty() { written } else { plain },
            written,
            is_multi_segment: name.starts_with(['+', '*'])
                || name.ends_with(['+', '*'])
                || matches!(suffix, "path" | ".*" | ".+"),
        });
    }
    let is_unique = |one: &PathParameter<'_>| {
        let mut others = parameters.iter();
        others.all(|other| other.name != one.name || other.written == one.written)
    };
    let unique: Vec<bool> = parameters.iter().map(is_unique).collect();
    for (parameter, is_unique) in parameters.iter_mut().zip(unique) {
        if !is_unique {
            parameter.name = parameter.written;
        }
    }
    parameters
}

/// The next pair of braces from a position, with the braces inside it.
fn next_braces(template: &str, from: usize) -> Option<Range<usize>> {
    let start = from + template[from..].find('{')?;
    let mut depth = 0;
    for (index, letter) in template[start..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(start..start + index + 1);
        }
    }
    None
}

fn describe_parameter(
    document: &OpenApiDocument,
    parameter: &Value,
    template: &[PathParameter<'_>],
) -> Option<DescribedParameter> {
    let name = text(parameter, "name")?;
    // The parameter may be named with the marks, too.
    let in_path = template
        .iter()
        .find(|it| it.name == name || it.written == name);
    let location = match text(parameter, "in")? {
        "path" if in_path.is_some() => ParameterLocation::Path,
        "query" => ParameterLocation::Query,
        "header" if !RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => {
            ParameterLocation::Header
        }
        "cookie" => ParameterLocation::Cookie,
        _ => return None,
    };
    let content = members(parameter, "content").next();
    let (schema, written) = match content {
        Some((media, content)) => {
            let json = media.contains("json");
            (content.get("schema"), ParameterFormat::Content { json })
        }
        None => (
            parameter.get("schema"),
            ParameterFormat::Styled(parameter_encoding(
                parameter,
                location,
                in_path.is_some_and(|it| it.is_multi_segment),
            )),
        ),
    };
    let mut schema = schema.cloned().unwrap_or_else(|| json!({}));
    annotate_schema(parameter, &mut schema, document);
    let name = match (location, in_path) {
        (ParameterLocation::Path, Some(in_path)) => in_path.name,
        _ => name,
    };
    Some(DescribedParameter {
        parameter: OperationParameter {
            name: name.to_owned(),
            argument: name.to_owned(),
            location,
            written,
        },
        required: location == ParameterLocation::Path || is_true(parameter, "required"),
        schema,
    })
}

fn parameter_encoding(
    parameter: &Value,
    location: ParameterLocation,
    is_multi_segment: bool,
) -> ParameterEncoding {
    let style = text(parameter, "style").and_then(|word| word.parse().ok());
    let style = style.unwrap_or_else(|| ParameterStyle::usual(location));
    let explode = match parameter.get("explode") {
        Some(Value::Bool(said)) => *said,
        // A cookie has one value.
        _ => style == ParameterStyle::Form && location == ParameterLocation::Query,
    };
    let letters = match location {
        ParameterLocation::Header => AllowedCharacters::Any,
        ParameterLocation::Path if is_multi_segment || is_true(parameter, "x-multi-segment") => {
            AllowedCharacters::Segments
        }
        ParameterLocation::Path if is_true(parameter, "allowReserved") => {
            AllowedCharacters::ReservedInSegment
        }
        // Not for cookies, which a reserved character would end.
        ParameterLocation::Query if is_true(parameter, "allowReserved") => {
            AllowedCharacters::Reserved
        }
        _ => AllowedCharacters::Unreserved,
    };
    ParameterEncoding {
        style,
        explode,
        letters,
    }
}

/// Adds the parameter's description and example to its schema.
fn annotate_schema(parameter: &Value, schema: &mut Value, document: &OpenApiDocument) {
    let mut words = text(parameter, "description").map(str::to_owned);
    if is_true(parameter, "deprecated") {
        words = Some(format!("Deprecated. {}", words.unwrap_or_default()));
    }
    let example = parameter.get("example").cloned().or_else(|| {
        let (_, example) = members(parameter, "examples").next()?;
        document.resolve(example).ok()?.get("value").cloned()
    });
    if schema.get("$ref").is_some() && (words.is_some() || example.is_some()) {
        *schema = json!({ "allOf": [schema.take()] });
    }
    let Value::Object(schema) = schema else {
        return;
    };
    schema.extend(words.map(|words| ("description".to_owned(), words.trim().into())));
    schema.extend(example.map(|example| ("example".to_owned(), example)));
}

/// Names the arguments. If locations share a name, it belongs to the first of path, query, header and cookie. The
/// others get the location as a suffix: `id_header`.
fn assign_argument_names(found: &mut [DescribedParameter]) {
    let order = [
        ParameterLocation::Path,
        ParameterLocation::Query,
        ParameterLocation::Header,
        ParameterLocation::Cookie,
    ];
    let mut taken = BTreeSet::new();
    for location in order {
        for described in found
            .iter_mut()
            .filter(|it| it.parameter.location == location)
        {
            let parameter = &mut described.parameter;
            let plain = parameter.name.clone();
            let with_location = format!("{plain}_{location}");
            let numbered = (2..).map(|number: u32| format!("{with_location}{number}"));
            let mut names = [plain, with_location.clone()].into_iter().chain(numbered);
            let free = names.find(|name| !taken.contains(name));
            parameter.argument = free.unwrap_or(with_location);
            taken.insert(parameter.argument.clone());
        }
    }
}

/// The arguments as members of an object schema: `(properties, required)`.
pub(super) fn parameters_schema(
    parameters: &[DescribedParameter],
) -> (Map<String, Value>, Vec<String>) {
    let argument = |it: &DescribedParameter| it.parameter.argument.clone();
    let properties = parameters
        .iter()
        .map(|it| (argument(it), it.schema.clone()));
    let required = parameters.iter().filter(|it| it.required).map(argument);
    (properties.collect(), required.collect())
}
