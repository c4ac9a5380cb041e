//! Fields of a GraphQL schema as functions: `query.user`, `mutation.createUser`, and `graphql` for any query.
//!
//! A schema is asked for (`asking`, `introspection`) or was written down (`sdl`); either becomes one `model`.
//! `functions` makes tools of it: `arguments` are what a field takes, `selection` is what comes back where nobody says
//! it, `results` are the types of that. A `call` becomes a request, with the selection that the caller has `chosen`;
//! an `answer` becomes a result. What a caller's own `document` does is told as `equivalent_fields`, for policy.
//!
//! Invariant: a function does what its name says and nothing beside it: one operation with one field.

mod answer;
mod arguments;
mod asking;
mod call;
mod chosen;
mod credentials;
mod document;
mod endpoint;
mod equivalent_fields;
mod functions;
mod introspection;
mod literal;
mod model;
mod results;
mod scalars;
mod sdl;
mod selection;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use serde_json::{Map, Value};

use self::{arguments::SELECT, endpoint::Endpoint, functions::ANY, model::Schema};
pub use self::{
    document::DocumentError,
    equivalent_fields::{EquivalentField, FieldJudge, Reach},
};
use super::{
    Source,
    description::{Document, Origin},
    http::{Api, Origins},
    making::Making,
    weight,
};
use mux_settings::Place;

/// Of an introspection, by their weight. As much as a description of OpenAPI may have.
const MOST_VALUES: usize = 4_000_000;

/// Whether what a call of this function does stands in its arguments: a document, or a selection.
pub fn does_as_told(function: &str, arguments: &Map<String, Value>) -> bool {
    takes_any(function)
        || arguments
            .get(SELECT)
            .is_some_and(|choice| !choice.is_null())
}

/// Whether the function of this name takes any document.
pub fn takes_any(function: &str) -> bool {
    function == ANY
}

/// What a call does while the schema is not known.
pub fn equivalent_fields_without_schema(
    function: &str,
    arguments: &Map<String, Value>,
    judge: &mut FieldJudge<'_>,
) -> Result<Reach, DocumentError> {
    if !takes_any(function) {
        return Ok(Reach {
            undecided: Some("the schema is not known".into()),
            ..Reach::default()
        });
    }
    let deadline = equivalent_fields::deadline();
    let document = document::Document::read(call::document_of(arguments)?)?;
    let given = arguments.get("variables").and_then(Value::as_object);
    equivalent_fields::of_document(None, &document, given, deadline, judge)
}

/// Where the schema comes from: what the entry names, or the endpoint itself.
pub(super) fn origin(making: &Making) -> Result<Origin, String> {
    match making.settings.description {
        Some(_) => making.described(),
        None => Ok(Origin::Far(asking::far(making, api(making)?))),
    }
}

pub(super) fn read(making: &Making, document: &Document) -> Result<Arc<dyn Source>, String> {
    let place = match &making.settings.description {
        Some(Place::File(path)) => path.display().to_string(),
        Some(Place::Url(_)) => "the schema".to_owned(),
        None => making.settings.shown(),
    };
    let (schema, left_out) = understood(&document.text, &place)?;
    let endpoint = Endpoint::new(api(making)?, schema, &making.settings, left_out);
    Ok(Arc::new(endpoint))
}

/// The functions of a schema, as MCP's `Tool`s. `place` is what an error calls it.
pub fn tools_of(text: &str, place: &str, depth: u32) -> Result<Vec<Value>, String> {
    let (schema, _) = understood(text, place)?;
    Ok(functions::all(&schema, depth).tools)
}

/// What each of them sends if it is given what it needs and no more.
pub fn queries_of(text: &str, place: &str, depth: u32) -> Result<Vec<(String, String)>, String> {
    let (schema, _) = understood(text, place)?;
    let room = functions::all(&schema, depth).room;
    call::queries(&schema, depth, &room)
}

/// The endpoint itself, to which all of the entry's credentials go.
fn api(making: &Making) -> Result<Api, String> {
    let schemes = credentials::schemes(&making.settings.credentials)?;
    let settings = &making.settings;
    let address = settings.base_url.as_deref().unwrap_or_default();
    let origins = Origins::listed(&making.name, settings).with_calls(address);
    making.api(address, origins, schemes)
}

/// A source of a schema at an address where nobody answers, for tests of what is decided on documents.
pub fn source_of(schema: &str) -> Arc<dyn Source> {
    use std::{collections::BTreeMap, time::Duration};

    use super::addresses::Addresses;
    use mux_http::http_client;

    let settings = mux_settings::Source {
        kind: mux_settings::SourceKind::Graphql,
        description: Some(Place::File("schema.graphql".into())),
        written: "x".into(),
        base_url: Some("http://127.0.0.1:9/graphql".into()),
        variables: BTreeMap::new(),
        headers: BTreeMap::new(),
        credentials: BTreeMap::new(),
        origins: Vec::new(),
        secret_headers: Vec::new(),
        scopes: None,
        rate: None,
        refresh: Duration::from_secs(3600),
        depth: 2,
        network: Arc::default(),
    };
    let nowhere = Arc::new(Addresses::new("/nowhere/sources.json".into()));
    let making = Making::new("blog", &settings, http_client::builder, nowhere);
    let document = Document {
        text: schema.into(),
        base: None,
    };
    read(&making, &document).unwrap()
}

/// A schema in either form, and how much was left out of it.
fn understood(text: &str, place: &str) -> Result<(Schema, usize), String> {
    let mut schema = match text.trim_start().starts_with('{') {
        true => {
            if weight::of(text.as_bytes(), MOST_VALUES).is_none() {
                return Err(format!(
                    "{place}: it holds too many values: more than {MOST_VALUES}, {}",
                    weight::RULE
                ));
            }
            let answer: Value = serde_json::from_str(text)
                .map_err(|error| format!("{place}: it is neither SDL nor JSON: {error}"))?;
            introspection::read(&answer).map_err(|why| format!("{place}: {why}"))?
        }
        false => sdl::read(text, place)?,
    };
    let left_out = schema.settle();
    match schema.query.is_none() && schema.mutation.is_none() {
        true => Err(format!(
            "{place}: the schema has neither queries nor mutations"
        )),
        false => Ok((schema, left_out)),
    }
}
