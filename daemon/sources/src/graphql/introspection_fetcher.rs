//! Fetches the schema of an endpoint by introspection, as a description.
//!
//! Invariant: if the endpoint does not allow introspection, the error says what to write instead.

use std::time::Duration;

use futures::{FutureExt as _, future::BoxFuture};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    function_call::{CallOptions, request},
    graphql_endpoint::was_looked_at,
    graphql_response, introspection,
    tool_list::ToolBudget,
};
use crate::{
    call_progress::CallProgress,
    description::{FetchDescription, FetchOutcome, HttpValidators, RemoteDescription},
    http::{ApiClient, ApiResponse},
    source::CallFailure,
    source_config::SourceConfig,
};

/// The limit for one introspection query.
const INTROSPECTION_TIMEOUT: Duration = Duration::from_mins(1);
/// The remedy if an endpoint does not allow introspection.
const SCHEMA_REMEDY: &str = "write `schema = \"schema.graphql\"` next to `graphql`: a file or a URL with SDL, or with \
                       the result of an introspection query";

struct IntrospectionFetcher {
    api: ApiClient,
    name: String,
    /// The endpoint, for display.
    shown: String,
    credentials: Vec<String>,
}

pub(super) fn far(config: &SourceConfig, api: ApiClient) -> RemoteDescription {
    let settings = &config.settings;
    let endpoint = settings.base_url.clone().unwrap_or_default();
    RemoteDescription {
        address: format!("introspection of {endpoint}"),
        base: None,
        fetch: std::sync::Arc::new(IntrospectionFetcher {
            api,
            name: config.name.clone(),
            shown: settings.shown(),
            credentials: settings.credentials.keys().cloned().collect(),
        }),
    }
}

impl IntrospectionFetcher {
    async fn ask(&self) -> Result<FetchOutcome, String> {
        let mut refusal = String::new();
        for query in introspection::introspection_queries() {
            let reply = self.reply(query).await?;
            let text = reply.text();
            let Some(mut answer) =
                graphql_response::read(text.as_bytes()).filter(|_| was_looked_at(&reply))
            else {
                return Err(self.problem_text(&self.strange(&reply)));
            };
            match (answer.shift_remove("errors"), answer.shift_remove("data")) {
                // An older server rejects the whole query for one unknown field.
                (Some(errors), _) => refusal = graphql_response::message(&errors),
                (None, Some(data)) if data.get("__schema").is_some_and(Value::is_object) => {
                    return Ok(FetchOutcome::New {
                        text: data.to_string(),
                        version: HttpValidators::default(),
                        private: false,
                    });
                }
                (None, _) => "the response has no schema".clone_into(&mut refusal),
            }
        }
        Err(self.problem_text(&format!(
            "does not disclose its schema ({refusal}); {SCHEMA_REMEDY}"
        )))
    }

    async fn reply(&self, query: String) -> Result<ApiResponse, String> {
        // The budget is for functions, of which there are none yet.
        let room = ToolBudget::default();
        let means = CallOptions {
            depth: 1,
            room: &room,
            credentials: &self.credentials,
        };
        let request = request(json!({ "query": query }), true, means);
        let telling = CallProgress::to_nobody(INTROSPECTION_TIMEOUT);
        let sent =
            tokio::time::timeout(INTROSPECTION_TIMEOUT, self.api.send(&request, &telling)).await;
        match sent {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(CallFailure::Credential { why, fix } | CallFailure::Forbidden { why, fix })) => {
                Err(format!("{why}; {fix}"))
            }
            Ok(Err(failure)) => Err(self.api.mask().words(&failure.to_string())),
            Err(_) => Err(self.problem_text(&format!(
                "did not return its schema within {INTROSPECTION_TIMEOUT:?}"
            ))),
        }
    }

    /// Describes a response that is not a GraphQL response.
    fn strange(&self, reply: &ApiResponse) -> String {
        match reply.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => format!(
                "answers HTTP {}: it requires another credential; in [sources.{}] of config.toml: \
                 auth = {{ bearer = \"${{TOKEN}}\" }}, auth = {{ basic = {{ username = \"…\", password = \"…\" }} }} \
                 or a header by its name",
                reply.status, self.name
            ),
            status if status.is_success() => {
                "does not answer with a GraphQL response: is the address right?".into()
            }
            status => format!("answers HTTP {status}: is the address right?"),
        }
    }

    fn problem_text(&self, what: &str) -> String {
        self.api.mask().words(&format!("{} {what}", self.shown))
    }
}

impl FetchDescription for IntrospectionFetcher {
    /// Always fetches: introspection has no validators.
    fn fetch<'a>(
        &'a self,
        _known: Option<&'a HttpValidators>,
    ) -> BoxFuture<'a, Result<FetchOutcome, String>> {
        self.ask().boxed()
    }
}
