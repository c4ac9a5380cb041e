//! The schema of an endpoint, asked for as a description is fetched.
//!
//! Invariant: an error tells what to write where the endpoint keeps its schema to itself.

use std::time::Duration;

use futures::{FutureExt as _, future::BoxFuture};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    answer,
    call::{Means, request},
    endpoint::was_looked_at,
    functions::Room,
    introspection,
};
use crate::{
    CallFailure, Telling,
    description::{Far, Fetch, Fetched, Version},
    http::{Api, Reply},
    making::Making,
};

/// For one question.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beside `graphql`, where an endpoint does not tell.
const WAY_OUT: &str = "write `schema = \"schema.graphql\"` beside `graphql`: a file or an address with SDL, or with \
                       the answer to an introspection";

struct Ask {
    api: Api,
    name: String,
    /// The endpoint, for the eye.
    shown: String,
    credentials: Vec<String>,
}

pub(super) fn far(making: &Making, api: Api) -> Far {
    let settings = &making.settings;
    let endpoint = settings.base_url.clone().unwrap_or_default();
    Far {
        address: format!("introspection of {endpoint}"),
        base: None,
        fetch: std::sync::Arc::new(Ask {
            api,
            name: making.name.clone(),
            shown: settings.shown(),
            credentials: settings.credentials.keys().cloned().collect(),
        }),
    }
}

impl Ask {
    async fn ask(&self) -> Result<Fetched, String> {
        let mut refusal = String::new();
        for query in introspection::queries() {
            let reply = self.reply(query).await?;
            let text = reply.text();
            let Some(mut answer) = answer::read(text.as_bytes()).filter(|_| was_looked_at(&reply))
            else {
                return Err(self.told(&self.strange(&reply)));
            };
            match (answer.shift_remove("errors"), answer.shift_remove("data")) {
                // An older server takes the whole question amiss for one word.
                (Some(errors), _) => refusal = answer::message(&errors),
                (None, Some(data)) if data.get("__schema").is_some_and(Value::is_object) => {
                    return Ok(Fetched::New {
                        text: data.to_string(),
                        version: Version::default(),
                        private: false,
                    });
                }
                (None, _) => "the answer holds no schema".clone_into(&mut refusal),
            }
        }
        Err(self.told(&format!("does not tell its schema ({refusal}); {WAY_OUT}")))
    }

    async fn reply(&self, query: String) -> Result<Reply, String> {
        // Of functions, which are not there yet.
        let room = Room::default();
        let means = Means {
            depth: 1,
            room: &room,
            credentials: &self.credentials,
        };
        let request = request(json!({ "query": query }), true, means);
        let telling = Telling::to_nobody(PATIENCE);
        let sent = tokio::time::timeout(PATIENCE, self.api.send(&request, &telling)).await;
        match sent {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(CallFailure::Credential { why, fix } | CallFailure::Forbidden { why, fix })) => {
                Err(format!("{why}; {fix}"))
            }
            Ok(Err(failure)) => Err(self.api.mask().words(&failure.to_string())),
            Err(_) => Err(self.told(&format!("did not tell its schema within {PATIENCE:?}"))),
        }
    }

    /// What is wrong with what is no answer of GraphQL.
    fn strange(&self, reply: &Reply) -> String {
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

impl Fetch for Ask {
    /// No server says whether its schema is still the same.
    fn fetch<'a>(&'a self, _known: Option<&'a Version>) -> BoxFuture<'a, Result<Fetched, String>> {
        self.ask().boxed()
    }
}
