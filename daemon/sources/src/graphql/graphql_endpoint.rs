//! A GraphQL endpoint as a source: the functions of its schema, and their calls.
//!
//! Invariant: a GraphQL response counts as a result regardless of its status, unless the status says that the query was
//! not processed: unauthorized, rate limited, or a server error.

use std::{collections::BTreeSet, sync::Arc};

use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use reqwest::StatusCode;
use serde_json::{Map, Value};

use super::{
    equivalent_fields::{self, CallEffects, FieldJudge},
    function_call::{self, CallOptions, FunctionCall, FunctionCallError},
    graphql_response,
    query_document::{DocumentError, QueryDocument},
    schema_model::GraphqlSchema,
    tool_list::{self, ANY_QUERY_TOOL, ToolBudget},
};
use crate::{
    call_progress::CallProgress,
    http::{ApiClient, ApiResponse},
    source::{CallFailure, Source, SourceReport},
};
use mux_process::blocking_pool;

/// The media type of an endpoint that follows the status code rules of GraphQL over HTTP.
const GRAPHQL_RESPONSE_MEDIA_TYPE: &str = "application/graphql-response+json";

#[derive(Debug)]
pub(super) struct GraphqlEndpoint {
    api: ApiClient,
    schema: GraphqlSchema,
    host: String,
    depth: u32,
    /// The budget of the tools, also used for calls.
    room: ToolBudget,
    /// The names of the entry's credentials, all of which are sent.
    credentials: Vec<String>,
    notes: Vec<String>,
    /// Built together with `room`. The first [`Source::tools`] takes them.
    tools: Mutex<Option<Vec<Value>>>,
    functions: usize,
}

impl GraphqlEndpoint {
    /// Takes as long as it takes to generate the tools.
    pub(super) fn new(
        api: ApiClient,
        schema: GraphqlSchema,
        settings: &mux_settings::SourceDefinition,
        left_out: usize,
    ) -> Self {
        let made = tool_list::all(&schema, settings.depth);
        let mut notes = Vec::new();
        if let Some(events) = &schema.subscription {
            let count = schema.fields(events).map_or(0, <[_]>::len);
            notes.push(format!(
                "subscriptions are not offered ({count}): only queries and mutations are"
            ));
        }
        if left_out > 0 {
            notes.push(format!(
                "{left_out} names of the schema are left out: they are not valid GraphQL names, are reserved, or \
                 refer to types that are not defined"
            ));
        }
        if !made.complete {
            let count = made.tools.len();
            notes.push(format!(
                "only {count} functions fit into the list; `graphql` reaches the others"
            ));
        }
        let address = settings.base_url.as_deref().map(url::Url::parse);
        let host = address.and_then(|url| Some(url.ok()?.host_str()?.to_owned()));
        Self {
            api,
            schema,
            host: host.unwrap_or_default(),
            depth: settings.depth,
            room: made.room,
            credentials: settings.credentials.keys().cloned().collect(),
            notes,
            functions: made.tools.len(),
            tools: Mutex::new(Some(made.tools)),
        }
    }

    fn means(&self) -> CallOptions<'_> {
        CallOptions {
            depth: self.depth,
            room: &self.room,
            credentials: &self.credentials,
        }
    }

    async fn answered(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: &CallProgress,
    ) -> Result<Value, CallFailure> {
        // CPU-bound: its time depends on the arguments and the schema.
        let this = Arc::clone(&self);
        let call = blocking_pool::run(move || this.request(tool, arguments)).await?;
        let reply = self.api.send(&call.request, telling).await?;
        Ok(self.result(&call, &reply))
    }

    fn request(
        &self,
        tool: String,
        arguments: Map<String, Value>,
    ) -> Result<FunctionCall, CallFailure> {
        let call = function_call::call(&self.schema, &tool, arguments, self.means());
        call.map_err(|refusal| match refusal {
            FunctionCallError::Unknown => CallFailure::Unknown(tool),
            FunctionCallError::Mistake(why) => CallFailure::Unfit(why),
        })
    }

    fn result(&self, call: &FunctionCall, reply: &ApiResponse) -> Value {
        let text = self.api.mask().content(&reply.text());
        match graphql_response::read(text.as_bytes()).filter(|_| was_looked_at(reply)) {
            Some(answer) => {
                graphql_response::result(answer, call.field.as_deref(), reply.status.as_u16())
            }
            None if reply.status.is_success() => graphql_response::refused(&format!(
                "{} answered with {}, which is not a GraphQL response: is its address right?",
                self.host,
                match reply.media().as_str() {
                    "" => "something",
                    media => media,
                }
            )),
            None => self.api.result(&call.request, reply),
        }
    }
}

impl Source for GraphqlEndpoint {
    fn identity(&self) -> (String, String) {
        (format!("GraphQL at {}", self.host), String::new())
    }

    fn tools(&self, _page: usize) -> Vec<Value> {
        let made = self.tools.lock().take();
        made.unwrap_or_else(|| tool_list::all(&self.schema, self.depth).tools)
    }

    fn function_count(&self) -> usize {
        self.functions
    }

    fn report(&self) -> SourceReport {
        SourceReport {
            notes: self.notes.iter().cloned().map(Into::into).collect(),
            missing: Vec::new(),
            forbidden: BTreeSet::new(),
            origins: BTreeSet::new(),
            requests: self.api.requests(),
        }
    }

    fn equivalent_fields(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        judge: &mut FieldJudge<'_>,
    ) -> Result<CallEffects, DocumentError> {
        if tool != ANY_QUERY_TOOL {
            return function_call::reached_by_selection(
                &self.schema,
                tool,
                arguments,
                self.means(),
                judge,
            );
        }
        let deadline = equivalent_fields::judging_deadline();
        let query = function_call::document_of(arguments)?;
        let document = QueryDocument::read(query)?;
        let given = arguments.get("variables").and_then(Value::as_object);
        equivalent_fields::judge_document(Some(&self.schema), &document, given, deadline, judge)
    }

    fn call(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: CallProgress,
    ) -> BoxFuture<'static, Result<Value, CallFailure>> {
        async move { self.answered(tool, arguments, &telling).await }.boxed()
    }
}

/// True if the endpoint processed the query. A gateway may send an error status with JSON that looks like a response.
pub(super) fn was_looked_at(reply: &ApiResponse) -> bool {
    let refuses = matches!(
        reply.status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    reply.media() == GRAPHQL_RESPONSE_MEDIA_TYPE || !(refuses || reply.status.is_server_error())
}
