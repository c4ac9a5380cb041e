//! The schema of an endpoint, asked for as a description is fetched.
//!
//! Invariant: an error tells what to write where the endpoint keeps its schema to itself.

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
    CallFailure, CallProgress,
    description::{FetchDescription, FetchOutcome, HttpValidators, RemoteDescription},
    http::{ApiClient, ApiResponse},
    source_config::SourceConfig,
};

/// For one question.
const INTROSPECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Beside `graphql`, where an endpoint does not tell.
const SCHEMA_REMEDY: &str = "write `schema = \"schema.graphql\"` beside `graphql`: a file or an address with SDL, or with \
                       the answer to an introspection";

struct IntrospectionFetcher {
    api: ApiClient,
    name: String,
    /// The endpoint, for the eye.
    shown: String,
    credentials: Vec<String>,
}

pub(super) fn far(making: &SourceConfig, api: ApiClient) -> RemoteDescription {
    let settings = &making.settings;
    let endpoint = settings.base_url.clone().unwrap_or_default();
    RemoteDescription {
        address: format!("introspection of {endpoint}"),
        base: None,
        fetch: std::sync::Arc::new(IntrospectionFetcher {
            api,
            name: making.name.clone(),
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
                return Err(self.told(&self.strange(&reply)));
            };
            match (answer.shift_remove("errors"), answer.shift_remove("data")) {
                // An older server takes the whole question amiss for one word.
                (Some(errors), _) => refusal = graphql_response::message(&errors),
                (None, Some(data)) if data.get("__schema").is_some_and(Value::is_object) => {
                    return Ok(FetchOutcome::New {
                        text: data.to_string(),
                        version: HttpValidators::default(),
                        private: false,
                    });
                }
                (None, _) => "the answer holds no schema".clone_into(&mut refusal),
            }
        }
        Err(self.told(&format!(
            "does not tell its schema ({refusal}); {SCHEMA_REMEDY}"
        )))
    }

    async fn reply(&self, query: String) -> Result<ApiResponse, String> {
        // Of functions, which are not there yet.
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
            Err(_) => Err(self.told(&format!(
                "did not tell its schema within {INTROSPECTION_TIMEOUT:?}"
            ))),
        }
    }

    /// What is wrong with what is no answer of GraphQL.
    fn strange(&self, reply: &ApiResponse) -> String {
        match reply.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => format!(
                "answers HTTP {}: it wants another credential; in [sources.{}] of config.toml: \
                 auth = {{ bearer = \"${{TOKEN}}\" }}, auth = {{ basic = {{ username = \"…\", password = \"…\" }} }} \
                 or a header by its name",
                reply.status, self.name
            ),
            status if status.is_success() => {
                "does not answer as GraphQL does: is the address right?".into()
            }
            status => format!("answers HTTP {status}: is the address right?"),
        }
    }

    fn told(&self, what: &str) -> String {
        self.api.mask().words(&format!("{} {what}", self.shown))
    }
}

impl FetchDescription for IntrospectionFetcher {
    /// No server says whether its schema is still the same.
    fn fetch<'a>(
        &'a self,
        _known: Option<&'a HttpValidators>,
    ) -> BoxFuture<'a, Result<FetchOutcome, String>> {
        self.ask().boxed()
    }
}
