//! Makes the request of a function call.
//!
//! Invariant: argument values are sent as variables, never within the query text. A query may be retried, a mutation
//! may not.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{
    super::http::{ApiRequest, RequestBody},
    argument_schema::SELECT_ARGUMENT,
    custom_selection,
    equivalent_fields::{self, CallEffects, FieldJudge},
    query_document::{DocumentEffect, DocumentError, QueryDocument},
    schema_model::{GraphqlSchema, OperationKind, SchemaField},
    tool_list::{self, ANY_QUERY_TOOL, OFFERED_OPERATIONS, ToolBudget},
};

/// The accepted media types. With the first type, a server uses status codes by its own rules.
pub(super) const GRAPHQL_ACCEPT: &str = "application/graphql-response+json, application/json;q=0.9";

/// The request, and the part of the response that is the result.
#[derive(Debug)]
pub(super) struct FunctionCall {
    pub(super) request: ApiRequest,
    /// The field whose value is the result. `None` for the whole response.
    pub(super) field: Option<String>,
}

/// The reason no request can be made.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum FunctionCallError {
    Unknown,
    /// The arguments are wrong. The text says what to write instead.
    Mistake(String),
}

/// Options that all calls of an endpoint share.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallOptions<'a> {
    pub(super) depth: u32,
    pub(super) room: &'a ToolBudget,
    /// The names of the entry's credentials, all of which are sent.
    pub(super) credentials: &'a [String],
}

pub(super) fn call(
    schema: &GraphqlSchema,
    tool: &str,
    arguments: Map<String, Value>,
    means: CallOptions<'_>,
) -> Result<FunctionCall, FunctionCallError> {
    if tool == ANY_QUERY_TOOL {
        let query = document_of(&arguments)
            .map_err(|error| FunctionCallError::Mistake(error.to_string()))?;
        let document = QueryDocument::read(query);
        // Policy could not check a document that cannot be parsed, so it is not sent.
        let document = document.map_err(|error| FunctionCallError::Mistake(error.to_string()))?;
        let effect = document.effect(operation_name(&arguments));
        if effect == DocumentEffect::Subscribes {
            let why = "subscriptions are not supported: only queries and mutations can be sent";
            return Err(FunctionCallError::Mistake(why.into()));
        }
        let safe = effect == DocumentEffect::Reads;
        return Ok(FunctionCall {
            request: request(Value::Object(arguments), safe, means),
            field: None,
        });
    }
    let (operation, field) = function(schema, tool).ok_or(FunctionCallError::Unknown)?;
    let query =
        query(schema, operation, field, &arguments, means).map_err(FunctionCallError::Mistake)?;
    let mut variables = arguments;
    variables.shift_remove(SELECT_ARGUMENT);
    Ok(FunctionCall {
        request: request(
            json!({ "query": query, "variables": variables }),
            operation == OperationKind::Query,
            means,
        ),
        field: Some(field.name.clone()),
    })
}

/// The document that a call of [`ANY_QUERY_TOOL`] sends.
pub(super) fn document_of(arguments: &Map<String, Value>) -> Result<&str, DocumentError> {
    let query = arguments.get("query").and_then(Value::as_str);
    query.ok_or_else(|| DocumentError::Invalid("`query` is missing".into()))
}

/// The name of the operation in the document to run.
fn operation_name(arguments: &Map<String, Value>) -> Option<&str> {
    arguments.get("operationName").and_then(Value::as_str)
}

/// Reports the fields that a function call reaches besides its own: none with the default selection.
pub(super) fn reached_by_selection(
    schema: &GraphqlSchema,
    tool: &str,
    arguments: &Map<String, Value>,
    means: CallOptions<'_>,
    judge: &mut FieldJudge<'_>,
) -> Result<CallEffects, DocumentError> {
    let chosen = arguments
        .get(SELECT_ARGUMENT)
        .is_some_and(|choice| !choice.is_null());
    let Some((operation, field)) = function(schema, tool).filter(|_| chosen) else {
        return Ok(CallEffects::default());
    };
    let deadline = equivalent_fields::judging_deadline();
    // The query that will be sent.
    let query =
        query(schema, operation, field, arguments, means).map_err(DocumentError::Invalid)?;
    let document = QueryDocument::read(&query)?;
    let ty = field.ty.name();
    let reached =
        equivalent_fields::judge_function_document(schema, &document, ty, deadline, judge)?;
    Ok(CallEffects {
        may_destroy: reached.may_destroy && operation == OperationKind::Mutation,
        ..reached
    })
}

/// The query of each function with its required arguments only.
pub(super) fn queries(
    schema: &GraphqlSchema,
    depth: u32,
    room: &ToolBudget,
) -> Result<Vec<(String, String)>, String> {
    let means = CallOptions {
        depth,
        room,
        credentials: &[],
    };
    let mut queries = Vec::new();
    for operation in OFFERED_OPERATIONS {
        for field in operation.fields(schema) {
            let needed = field
                .arguments
                .iter()
                .filter(|argument| argument.is_required());
            let needed = needed.map(|argument| (argument.name.clone(), Value::Null));
            let query = query(schema, operation, field, &needed.collect(), means)?;
            queries.push((format!("{}.{}", operation.word(), field.name), query));
        }
    }
    Ok(queries)
}

fn function<'a>(schema: &'a GraphqlSchema, tool: &str) -> Option<(OperationKind, &'a SchemaField)> {
    let (word, name) = tool.split_once('.')?;
    let operation = OFFERED_OPERATIONS
        .into_iter()
        .find(|one| one.word() == word)?;
    let mut fields = operation.fields(schema).iter();
    Some((operation, fields.find(|field| field.name == name)?))
}

/// The query of a call: `query user($id: ID!) { user(id: $id) { name } }`. The query names only the given arguments, so
/// a call still works after the API has removed an optional argument.
fn query(
    schema: &GraphqlSchema,
    operation: OperationKind,
    field: &SchemaField,
    arguments: &Map<String, Value>,
    means: CallOptions<'_>,
) -> Result<String, String> {
    let given = field.arguments.iter();
    let given: Vec<_> = given
        .filter(|argument| arguments.contains_key(&argument.name))
        .collect();
    let list = |item: &dyn Fn(&super::schema_model::SchemaArgument) -> String| {
        let items: Vec<String> = given.iter().map(|argument| item(argument)).collect();
        if items.is_empty() {
            String::new()
        } else {
            format!("({})", items.join(", "))
        }
    };
    let declared = list(&|argument| format!("${}: {}", argument.name, argument.ty));
    let passed = list(&|argument| format!("{0}: ${0}", argument.name));
    let ty = field.ty.name();
    let selection = match arguments.get(SELECT_ARGUMENT) {
        _ if !schema.is_composite(ty) => String::new(),
        Some(choice) if !choice.is_null() => {
            custom_selection::spelled(schema, ty, choice, means.room)?
        }
        _ => {
            let default = tool_list::default(schema, operation, field, means.depth, means.room);
            default
                .map(|selection| selection.text())
                .unwrap_or_default()
        }
    };
    let word = operation.word();
    let name = &field.name;
    let blank = if selection.is_empty() { "" } else { " " };
    Ok(format!(
        "{word} {name}{declared} {{ {name}{passed}{blank}{selection} }}"
    ))
}

/// A request to the endpoint. `safe` means that it may be retried.
pub(super) fn request(body: Value, safe: bool, means: CallOptions<'_>) -> ApiRequest {
    let security = if means.credentials.is_empty() {
        Vec::new()
    } else {
        vec![means.credentials.to_vec()]
    };
    ApiRequest {
        method: Method::POST,
        path: String::new(),
        query: Vec::new(),
        headers: vec![("Accept".into(), GRAPHQL_ACCEPT.into())],
        cookies: Vec::new(),
        body: Some(RequestBody::Json(body)),
        security,
        safe,
    }
}
