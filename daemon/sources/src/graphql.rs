//! Fields of a GraphQL schema as functions: `query.user`, `mutation.createUser`, and `graphql` for any document.
//!
//! The schema (`schema_model`) comes from introspection (`introspection_fetcher`, `introspection`) or from SDL (`sdl`).
//! `tool_list` makes a tool of each field. `function_call` makes a call's request, with the caller's own selection
//! (`custom_selection`) or the default selection (`default_selection`), and `graphql_response` makes the result. For
//! policy, `query_document` and `equivalent_fields` find the functions that a caller's own document amounts to.
//!
//! Invariant: a function does only what its name says: it sends one operation with one field.

mod argument_schema;
mod custom_selection;
mod default_selection;
mod description_text;
mod entry_schemes;
mod equivalent_fields;
mod function_call;
#[cfg(test)]
mod fuzz;
mod graphql_endpoint;
mod graphql_response;
mod introspection;
mod introspection_fetcher;
mod query_document;
mod result_schema;
mod scalar_types;
mod schema_model;
mod sdl;
#[cfg(test)]
mod tests;
mod tool_list;
mod value_literal;

use std::sync::Arc;

use serde_json::{Map, Value};

use self::{
    argument_schema::SELECT_ARGUMENT, graphql_endpoint::GraphqlEndpoint,
    schema_model::GraphqlSchema, tool_list::ANY_QUERY_TOOL,
};
pub use self::{
    equivalent_fields::{CallEffects, EquivalentField, FieldJudge},
    query_document::DocumentError,
};
use super::{
    description::{DescriptionDocument, DescriptionOrigin},
    http::{AllowedOrigins, ApiClient},
    source::Source,
    source_config::SourceConfig,
};
use mux_settings::DescriptionLocation;
use mux_text::json_weight as weight;

/// The limit of an introspection result, in `json_weight` values. The same as for an OpenAPI description.
const MAX_INTROSPECTION_VALUES: usize = 4_000_000;

/// True if the effect of a call depends on its arguments: a document, or a selection.
pub fn depends_on_arguments(function: &str, arguments: &Map<String, Value>) -> bool {
    takes_any_document(function)
        || arguments
            .get(SELECT_ARGUMENT)
            .is_some_and(|choice| !choice.is_null())
}

/// True if this function takes any document.
pub fn takes_any_document(function: &str) -> bool {
    function == ANY_QUERY_TOOL
}

/// Reports the effects of a call while the schema is not known.
pub fn equivalent_fields_without_schema(
    function: &str,
    arguments: &Map<String, Value>,
    judge: &mut FieldJudge<'_>,
) -> Result<CallEffects, DocumentError> {
    if !takes_any_document(function) {
        return Ok(CallEffects {
            undecided: Some("the schema is not known".into()),
            ..CallEffects::default()
        });
    }
    let deadline = equivalent_fields::judging_deadline();
    let document = query_document::QueryDocument::read(function_call::document_of(arguments)?)?;
    let given = arguments.get("variables").and_then(Value::as_object);
    equivalent_fields::judge_document(None, &document, given, deadline, judge)
}

/// The origin of the schema: the location that the entry names, or the endpoint.
pub(super) fn schema_origin(config: &SourceConfig) -> Result<DescriptionOrigin, String> {
    match config.settings.description {
        Some(_) => config.described(),
        None => Ok(DescriptionOrigin::Far(introspection_fetcher::far(
            config,
            endpoint_api(config)?,
        ))),
    }
}

pub(super) fn read(
    config: &SourceConfig,
    document: &DescriptionDocument,
) -> Result<Arc<dyn Source>, String> {
    let name = match &config.settings.description {
        Some(DescriptionLocation::File(path)) => path.display().to_string(),
        Some(DescriptionLocation::Url(_)) => "the schema".to_owned(),
        None => config.settings.shown(),
    };
    let (schema, left_out) = parse_schema(&document.text, &name)?;
    let endpoint = GraphqlEndpoint::new(endpoint_api(config)?, schema, &config.settings, left_out);
    Ok(Arc::new(endpoint))
}

/// The functions of a schema as MCP tools. `name` is the schema's name in error messages.
pub fn schema_tools(text: &str, name: &str, depth: u32) -> Result<Vec<Value>, String> {
    let (schema, _) = parse_schema(text, name)?;
    Ok(tool_list::all(&schema, depth).tools)
}

/// The query that each function sends when it is called with its required arguments only.
pub fn schema_queries(text: &str, name: &str, depth: u32) -> Result<Vec<(String, String)>, String> {
    let (schema, _) = parse_schema(text, name)?;
    let room = tool_list::all(&schema, depth).room;
    function_call::queries(&schema, depth, &room)
}

/// The client of the endpoint, to which all of the entry's credentials are sent.
fn endpoint_api(config: &SourceConfig) -> Result<ApiClient, String> {
    let schemes = entry_schemes::schemes(&config.settings.credentials)?;
    let settings = &config.settings;
    let address = settings.base_url.as_deref().unwrap_or_default();
    let origins = AllowedOrigins::listed(&config.name, settings).with_calls(address);
    config.api(address, origins, schemes)
}

/// A source with this schema at an address that does not answer, for tests of policy on documents.
pub fn source_for_tests(schema: &str) -> Arc<dyn Source> {
    use std::{collections::BTreeMap, time::Duration};

    use super::first_seen_origins::FirstSeenOrigins;

    let settings = mux_settings::SourceDefinition {
        kind: mux_settings::SourceKind::Graphql,
        description: Some(DescriptionLocation::File("schema.graphql".into())),
        written: "x".into(),
        base_url: Some("http://127.0.0.1:9/graphql".into()),
        variables: BTreeMap::new(),
        headers: BTreeMap::new(),
        credentials: BTreeMap::new(),
        origins: Vec::new(),
        secret_headers: Vec::new(),
        account: None,
        scopes: None,
        rate: None,
        refresh: Duration::from_hours(1),
        depth: 2,
        max_functions: 20_000,
        exclude: Vec::new(),
        network: Arc::default(),
    };
    let nowhere = Arc::new(FirstSeenOrigins::new("/nowhere/sources.json".into()));
    let config = SourceConfig::new("blog", &settings, nowhere);
    let document = DescriptionDocument {
        text: schema.into(),
        base: None,
    };
    read(&config, &document).unwrap()
}

/// Parses SDL or an introspection result. Also returns how many items were left out.
fn parse_schema(text: &str, name: &str) -> Result<(GraphqlSchema, usize), String> {
    let mut schema = if text.trim_start().starts_with('{') {
        if weight::of(text.as_bytes(), MAX_INTROSPECTION_VALUES).is_none() {
            return Err(format!(
                "{name}: it holds too many values: more than {MAX_INTROSPECTION_VALUES}, {}",
                weight::WEIGHT_RULE_TEXT
            ));
        }
        let answer: Value = serde_json::from_str(text)
            .map_err(|error| format!("{name}: it is neither SDL nor JSON: {error}"))?;
        introspection::read(&answer).map_err(|why| format!("{name}: {why}"))?
    } else {
        sdl::read(text, name)?
    };
    let left_out = schema.settle();
    if schema.query.is_none() && schema.mutation.is_none() {
        Err(format!(
            "{name}: the schema has neither queries nor mutations"
        ))
    } else {
        Ok((schema, left_out))
    }
}
