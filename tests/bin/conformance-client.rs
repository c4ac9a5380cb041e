//! `mux-conformance-client`: the client that MCP's conformance suite tests. The client is `muxd` itself: a
//! daemon with its own home, which gets the suite's server in its configuration and uses it like an agent.
//! If a sign-in is needed, this program does that first.
//!
//! Invariant: every request that the suite sees is one of the daemon's session. This program speaks to the
//! daemon alone, and, in a user's place, to the pages of an authorization server.

#[path = "conformance-client/login.rs"]
mod login;

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, Result};
use futures::future::join_all;
use mux_client::{ClientIdentity, Session, connect_or_spawn, within_seconds};
use mux_proto::{
    Answer, AnswerRequest, AskKind, CallRequest, Error, MuxClient, NoticeKind, NoticesRequest,
    OfferKind, OffersRequest, PromptRequest, ResourceRequest, ToolsRequest,
};
use mux_tests::{
    TestEnv,
    env::{binary, may_sample},
};
use serde_json::{Map, Value, json};

/// Longer than the suite waits.
const PATIENCE: u64 = 60;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().next_back().context("no URL was given")?;
    let env = TestEnv::new();
    let rule = may_sample("suite");
    let entry = |issuer: Option<&str>| {
        let oauth = login::entry(&context(), issuer);
        format!("[servers.suite]\nurl = {}\n{oauth}{rule}", json!(url))
    };
    std::fs::write(env.dirs.config_file(), entry(None))?;
    let identity = ClientIdentity::new("conformance", "0");
    let muxd: &Path = &binary("muxd");
    let session = connect_or_spawn(&env.dirs, Some(muxd.to_owned()), &identity).await?;
    let answering = tokio::spawn(answer_all(session.client.clone()));
    let mut outcome = login::signing_in(&session, || everything(&session)).await;
    if let Some(issuer) = login::wanted_issuer(&outcome) {
        std::fs::write(env.dirs.config_file(), entry(Some(&issuer)))?;
        let reloaded = session.client.reload(within_seconds(PATIENCE));
        reloaded.await??;
        outcome = login::signing_in(&session, || everything(&session)).await;
    }
    answering.abort();
    env.stop();
    outcome
}

#[expect(
    clippy::disallowed_methods,
    reason = "the suite says by it which calls it wants"
)]
fn context() -> Value {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&context).unwrap_or_default()
}

/// Everything that an agent could do with a server, once each, with the calls at the same time.
async fn everything(session: &Session) -> Result<()> {
    let client = &session.client;
    let request = ToolsRequest {
        schemas: true,
        ..ToolsRequest::default()
    };
    let found = client.tools(within_seconds(PATIENCE), request).await??;
    if let Some(missing) = found.missing.into_iter().next() {
        return Err(missing.error.into());
    }
    let calls: Vec<(String, Value)> = if let Some(wanted) = context()["toolCalls"].as_array() {
        wanted
            .iter()
            .map(|call| (text(&call["name"]), without_nulls(&call["arguments"])))
            .collect()
    } else {
        let all = found.tools.into_iter();
        all.map(|tool| (tool.name, filled(&tool.input_schema.unwrap_or_default())))
            .collect()
    };
    let made = join_all(calls.into_iter().map(|(tool, arguments)| {
        let request = CallRequest {
            path: format!("suite.{tool}"),
            arguments: arguments.into(),
            ..CallRequest::default()
        };
        client.call(within_seconds(PATIENCE), request)
    }));
    for outcome in made.await {
        // A tool may fail; a server that could not be reached, or wants a token, is the suite's matter.
        worked(outcome?)?;
    }
    for kind in [OfferKind::Resources, OfferKind::Prompts] {
        let request = OffersRequest {
            kind,
            server: Some("suite".into()),
            wait_ms: None,
        };
        let list = client.offers(within_seconds(PATIENCE), request).await??;
        for offer in list.offers {
            if kind == OfferKind::Prompts {
                let request = PromptRequest {
                    server: "suite".into(),
                    name: text(&offer.offer["name"]),
                    arguments: arguments_of(&offer.offer),
                    token: None,
                    meta: Map::default(),
                };
                worked(client.get_prompt(within_seconds(PATIENCE), request).await?)?;
            } else {
                let request = ResourceRequest {
                    server: "suite".into(),
                    uri: text(&offer.offer["uri"]),
                    token: None,
                    meta: Map::default(),
                };
                worked(
                    client
                        .read_resource(within_seconds(PATIENCE), request)
                        .await?,
                )?;
            }
        }
    }
    Ok(())
}

/// Leaves out nulls, because a schema without null rejects them.
fn without_nulls(arguments: &Value) -> Value {
    let members = arguments.as_object().into_iter().flatten();
    let given = members.filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(n, v)| (n.clone(), v.clone())).collect())
}

/// Something for each.
fn arguments_of(prompt: &Value) -> Map<String, Value> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    arguments
        .map(|argument| (text(&argument["name"]), json!("x")))
        .collect()
}

fn worked<T>(outcome: Result<T, Error>) -> Result<()> {
    use mux_proto::Kind::{AuthRequired, Unavailable};
    match outcome {
        Err(error) if error.kind == AuthRequired || error.kind == Unavailable => Err(error.into()),
        _ => Ok(()),
    }
}

/// The smallest arguments that a schema of plain members takes.
fn filled(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten();
    let members: Map<String, Value> = required
        .filter_map(Value::as_str)
        .map(|name| {
            let value = match schema["properties"][name]["type"].as_str() {
                Some("integer" | "number") => json!(1),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                Some("object") => json!({}),
                Some("null") => json!(null),
                _ => json!("x"),
            };
            (name.to_owned(), value)
        })
        .collect();
    Value::Object(members)
}

/// Accepts every form unchanged.
async fn answer_all(client: MuxClient) -> Result<()> {
    let mut after = 0;
    loop {
        let request = NoticesRequest {
            after,
            wait_ms: 10_000,
            answers: vec![AskKind::Elicitation, AskKind::Sampling, AskKind::Roots],
        };
        let page = client.notices(within_seconds(PATIENCE), request).await??;
        for notice in page.notices {
            after = notice.seq;
            let NoticeKind::Ask {
                ask, kind, params, ..
            } = notice.notice
            else {
                continue;
            };
            let answer = Answer::Result(match kind {
                AskKind::Elicitation => {
                    json!({ "action": "accept", "content": defaults(&params["requestedSchema"]) })
                }
                AskKind::Sampling => json!({
                    "role": "assistant",
                    "model": "none",
                    "content": { "type": "text", "text": "four" },
                }),
                AskKind::Roots => json!({ "roots": [] }),
                AskKind::Approval => json!({ "decision": "once" }),
            });
            let request = AnswerRequest { ask, answer };
            client.answer(within_seconds(PATIENCE), request).await??;
        }
    }
}

/// The values of a form that its user leaves unchanged.
fn defaults(schema: &Value) -> BTreeMap<String, Value> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members
        .map(|(name, member)| {
            let value = match (&member["default"], member["type"].as_str()) {
                (Value::Null, Some("integer" | "number")) => json!(1),
                (Value::Null, Some("boolean")) => json!(true),
                (Value::Null, _) => json!("x"),
                (default, _) => default.clone(),
            };
            (name.clone(), value)
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
