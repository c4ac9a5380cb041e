//! The parameters of an operation, and the arguments that stand for them.
//!
//! Invariant: no two arguments of an operation have one name.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    document::{Document, Unresolved, is_true, items, members, text},
    style::{Letters, Place, Style, Writing},
};

/// Of a value whose place holds no JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Written {
    Styled(Writing),
    /// As JSON text, or as it is.
    Content {
        json: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// As the API calls it.
    pub(super) name: String,
    /// As a program calls it.
    pub(super) argument: String,
    pub(super) place: Place,
    pub(super) written: Written,
}

/// A parameter with what a program is told of it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) parameter: Parameter,
    pub(super) required: bool,
    /// As the description has it.
    pub(super) schema: Value,
}

/// What the request itself says, or who it is from, and what decides where it goes and where it ends.
const NOT_ASKED: [&str; 16] = [
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

/// Those of the path item, unless the operation says otherwise, then its own.
pub(super) fn read(
    document: &Document,
    item: &Value,
    operation: &Value,
    path: &str,
) -> Result<Vec<Described>, Unresolved> {
    let mut found: Vec<Described> = Vec::new();
    for parameter in items(item, "parameters").chain(items(operation, "parameters")) {
        let parameter = document.resolve(parameter)?;
        let Some(described) = described(document, parameter, path) else {
            continue;
        };
        let of = |it: &Described| (it.parameter.place, it.parameter.name.clone());
        match found.iter_mut().find(|it| of(it) == of(&described)) {
            Some(before) => *before = described,
            None => found.push(described),
        }
    }
    // What the path needs and nobody describes.
    for name in in_braces(path) {
        let known = |it: &Described| it.parameter.place == Place::Path && it.parameter.name == name;
        if !found.iter().any(known) {
            let parameter = json!({ "name": name, "in": "path", "schema": { "type": "string" } });
            found.extend(described(document, &parameter, path));
        }
    }
    tell_apart(&mut found);
    Ok(found)
}

/// The names of a path's parameters.
pub(super) fn in_braces(path: &str) -> impl Iterator<Item = &str> {
    let after = path.split('{').skip(1);
    after.filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

fn described(document: &Document, parameter: &Value, path: &str) -> Option<Described> {
    let name = text(parameter, "name")?;
    let place = match text(parameter, "in")? {
        "path" if in_braces(path).any(|it| it == name) => Place::Path,
        "query" => Place::Query,
        "header" if !NOT_ASKED.contains(&name.to_ascii_lowercase().as_str()) => Place::Header,
        "cookie" => Place::Cookie,
        _ => return None,
    };
    let content = members(parameter, "content").next();
    let (schema, written) = match content {
        Some((media, content)) => {
            let json = media.contains("json");
            (content.get("schema"), Written::Content { json })
        }
        None => (
            parameter.get("schema"),
            Written::Styled(writing(parameter, place)),
        ),
    };
    let mut schema = schema.cloned().unwrap_or_else(|| json!({}));
    tell(parameter, &mut schema, document);
    Some(Described {
        parameter: Parameter {
            name: name.to_owned(),
            argument: name.to_owned(),
            place,
            written,
        },
        required: place == Place::Path || is_true(parameter, "required"),
        schema,
    })
}

fn writing(parameter: &Value, place: Place) -> Writing {
    let style = text(parameter, "style").and_then(Style::of);
    let style = style.unwrap_or_else(|| Style::usual(place));
    let explode = match parameter.get("explode") {
        Some(Value::Bool(said)) => *said,
        // One cookie has one value.
        _ => style == Style::Form && place == Place::Query,
    };
    let letters = match place {
        Place::Header => Letters::Any,
        Place::Path if is_true(parameter, "x-multi-segment") => Letters::Segments,
        // A cookie ends where a reserved letter stands.
        Place::Path | Place::Query if is_true(parameter, "allowReserved") => Letters::Reserved,
        _ => Letters::Unreserved,
    };
    Writing {
        style,
        explode,
        letters,
    }
}

/// What is said of the parameter is said of its schema.
fn tell(parameter: &Value, schema: &mut Value, document: &Document) {
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

/// A name that two places have is the argument of the first: path, query, header, cookie. In the others the place is
/// added: `id_header`.
fn tell_apart(found: &mut [Described]) {
    let order = [Place::Path, Place::Query, Place::Header, Place::Cookie];
    let mut taken = BTreeSet::new();
    for place in order {
        for described in found.iter_mut().filter(|it| it.parameter.place == place) {
            let parameter = &mut described.parameter;
            let plain = parameter.name.clone();
            let with_place = format!("{plain}_{}", word(place));
            let numbered = (2..).map(|number: u32| format!("{with_place}{number}"));
            let mut names = [plain, with_place.clone()].into_iter().chain(numbered);
            let free = names.find(|name| !taken.contains(name));
            parameter.argument = free.unwrap_or(with_place);
            taken.insert(parameter.argument.clone());
        }
    }
}

fn word(place: Place) -> &'static str {
    match place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
        Place::Cookie => "cookie",
    }
}

/// As members of one object: `(properties, required)`.
pub(super) fn asked(parameters: &[Described]) -> (Map<String, Value>, Vec<String>) {
    let argument = |it: &Described| it.parameter.argument.clone();
    let properties = parameters
        .iter()
        .map(|it| (argument(it), it.schema.clone()));
    let required = parameters.iter().filter(|it| it.required).map(argument);
    (properties.collect(), required.collect())
}
