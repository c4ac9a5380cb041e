//! Fields of a GraphQL schema as functions: `query.user`, `mutation.createUser`, and `graphql` for any query.
//!
//! A schema is asked for (`asking`, `introspection`) or was written down (`sdl`); either becomes one `model`.
//! `functions` makes tools of it: `arguments` are what a field takes, `selection` is what comes back where nobody says
//! it, `results` are the types of that. A `call` becomes a request, with the selection that the caller has `chosen`;
//! an `answer` becomes a result.
//!
//! Invariant: a function does what its name says and nothing beside it: one operation with one field.

mod answer;
mod arguments;
mod asking;
mod call;
mod chosen;
mod credentials;
mod endpoint;
mod functions;
mod introspection;
mod literal;
mod model;
mod reached;
mod results;
mod scalars;
mod sdl;
mod selection;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use serde_json::Value;

pub use self::reached::{Reached, reached, takes_any};
use self::{endpoint::Endpoint, model::Schema};
use super::{
    Source,
    description::{Document, Origin},
    http::{Api, Origins},
    making::Making,
    weight,
};
use crate::settings::Place;

/// Of an introspection, by their weight. As much as a description of OpenAPI may have.
const MOST_VALUES: usize = 4_000_000;

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
