//! muxd with the same servers: lists the tools of each and calls `echo`, over the daemon's socket.

use std::collections::HashMap;

use futures::{StreamExt as _, stream};
use mux_client::{ClientIdentity, Session, ValuePages, within_seconds};
use mux_proto::{CallRequest, Error, Held, ToolsRequest};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    case::Subject,
    outcome::{Answer, Block, Outcome},
    sdks::{Limits, Servers},
};
use crate::{TestEnv, env::binary};

/// How many servers one daemon has: about as many as its settings let start at a time.
const SERVERS_PER_DAEMON: usize = 60;
/// How many daemons there are at a time. Most of their time, they wait for servers that do not answer.
const DAEMONS: usize = 5;
const CLIENT: &str = "muxd";
/// The most that the settings allow.
const STARTS: usize = 64;

/// Tries all subjects. The outcomes are by name.
pub(super) fn outcomes_of_muxd(
    servers: &Servers<'_>,
    subjects: &[Subject],
    limits: Limits,
) -> HashMap<String, Outcome> {
    let batches = subjects.chunks(SERVERS_PER_DAEMON);
    let tried = batches.map(|batch| try_batch(servers, batch, limits));
    let all = stream::iter(tried)
        .buffer_unordered(DAEMONS)
        .collect::<Vec<_>>();
    let outcomes = Runtime::new().unwrap().block_on(all);
    outcomes.into_iter().flatten().collect()
}

async fn try_batch(
    servers: &Servers<'_>,
    subjects: &[Subject],
    limits: Limits,
) -> Vec<(String, Outcome)> {
    let entry = |(number, subject): (usize, &Subject)| {
        let address = servers.entry(CLIENT, subject);
        let place = match address["url"].as_str() {
            Some(url) => format!("url = {url:?}\n"),
            None => format!(
                "command = {}\nargs = {}\n",
                address["command"], address["args"]
            ),
        };
        let seconds = limits.seconds;
        format!(
            "[servers.s{number}]\n{place}start = \"lazy\"\npins = \"off\"\n\
             start_timeout = \"{}s\"\ncall_timeout = \"{seconds}s\"\n",
            seconds * 2
        )
    };
    let entries: String = subjects.iter().enumerate().map(entry).collect();
    let env =
        TestEnv::with_config(&format!("[limits]\nstarts = {STARTS}\n{entries}")).with_default_log();
    let identity = ClientIdentity::new("differential", "0");
    let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity)
        .await
        .unwrap();
    let tried = subjects.iter().enumerate().map(|(number, subject)| {
        let session = &session;
        async move {
            let outcome = try_server(session, &format!("s{number}"), limits).await;
            (subject.name(), outcome)
        }
    });
    let outcomes: Vec<_> = stream::iter(tried)
        .buffer_unordered(limits.at_once)
        .collect()
        .await;
    outcomes
}

async fn try_server(session: &Session, server: &str, limits: Limits) -> Outcome {
    let mut outcome = Outcome::default();
    match tools(session, server, limits).await {
        Ok(tools) => outcome.tools = Some(tools),
        Err(error) => outcome.error = Some(words(&error)),
    }
    if outcome.tools.is_some() {
        match call(session, server, limits).await {
            Ok(answer) => outcome.answer = Some(answer),
            Err(error) => outcome.error = Some(words(&error)),
        }
    }
    outcome
}

async fn tools(session: &Session, server: &str, limits: Limits) -> Result<Vec<String>, Error> {
    let request = ToolsRequest {
        server: Some(server.to_owned()),
        limit: Some(1000),
        ..ToolsRequest::default()
    };
    let answer = session.client.tools(patience(limits), request).await;
    let list = answer.map_err(mux_client::rpc_error)??;
    if let Some(missing) = list.missing.into_iter().next() {
        return Err(missing.error);
    }
    Ok(list.tools.into_iter().map(|tool| tool.name).collect())
}

async fn call(session: &Session, server: &str, limits: Limits) -> Result<Answer, Error> {
    let request = CallRequest {
        path: format!("{server}.echo"),
        arguments: json!({ "text": "hi" }).into(),
        raw: true,
        ..CallRequest::default()
    };
    let answer = session.client.call(patience(limits), request).await;
    let answer = answer.map_err(mux_client::rpc_error)??;
    let text = match answer.result {
        Held::Value(text) => text.as_str().to_owned(),
        Held::Stored(handle) => {
            let mut text = String::new();
            let mut pages = ValuePages::new(session, &handle.handle, 0, None);
            while let Some(page) = pages.next().await? {
                text.push_str(&page.text);
            }
            text
        }
    };
    let result: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{server}: {e}"));
    Ok(answer_of(&result))
}

/// The parts of a `CallToolResult` that are compared.
fn answer_of(result: &Value) -> Answer {
    let block = |block: &Value| Block {
        kind: block["type"].as_str().unwrap_or_default().to_owned(),
        text: (block["type"] == "text")
            .then(|| block["text"].as_str().unwrap_or_default().to_owned()),
    };
    let content = result["content"].as_array().into_iter().flatten();
    Answer {
        content: content.map(block).collect(),
        structured: result
            .get("structuredContent")
            .filter(|value| !value.is_null())
            .cloned(),
        is_error: result["isError"] == true,
    }
}

fn words(error: &Error) -> String {
    let kind = error.kind.as_str();
    match &error.hint {
        Some(hint) => format!("{kind}: {} ({hint})", error.message),
        None => format!("{kind}: {}", error.message),
    }
}

/// Longer than the limits of the daemon, which should report the timeout itself.
fn patience(limits: Limits) -> tarpc::context::Context {
    within_seconds(limits.seconds * 20)
}
