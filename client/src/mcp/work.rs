//! Executes the built-in tools: each sends a request to the daemon and renders the response for the agent.
//!
//! Invariant: a failure that an agent can act on is an error result, not a protocol error.

use std::{sync::Arc, time::Duration};

use futures::FutureExt as _;
use mux_client::{lost, within_seconds};
use mux_proto::{
    CallRequest, Cause, DescribeRequest, Error, Held, Kind, Language, MuxClient, ReadRequest,
    ResumeRequest, RunRequest, SearchRequest, transport,
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, JsonObject},
};
use serde_json::Value;
use tokio::{sync::mpsc, time::timeout};

use super::{
    answers,
    catalog::FIRST_SIGHT,
    guide,
    job::{Ear, Output, Work},
    link::{Line, Link},
    own,
    transcript::{Transcript, news},
};

/// The timeout of a request. The daemon limits each call itself, and pauses that limit while a server waits for the
/// user; this is for a daemon that hangs.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// The default length of a `read`, in bytes: a context has less room than a program.
const READ: u64 = 32 * 1024;
const WAIT: f64 = 30.0;
const MOST_WAIT: f64 = 300.0;

/// The work of a built-in tool; `None` if there is none of this name.
pub(super) fn own(
    link: Link,
    name: &str,
    arguments: Option<JsonObject>,
) -> Option<impl FnOnce(Ear) -> Work + use<>> {
    let name = *own::NAMES.iter().find(|known| **known == name)?;
    Some(move |ear: Ear| {
        async move {
            let done = perform(&link, name, arguments, ear).await;
            let result = done.unwrap_or_else(|error| answers::failure(&error));
            Ok(Output::Tool(result))
        }
        .boxed()
    })
}

async fn perform(
    link: &Link,
    name: &'static str,
    arguments: Option<JsonObject>,
    ear: Ear,
) -> Result<CallToolResult, Error> {
    match name {
        "run" => run(link, own::read(name, arguments)?, ear).await,
        "run_program" => run_program(link, own::read(name, arguments)?, ear).await,
        "search" => search(link, own::read(name, arguments)?).await,
        "describe" => describe(link, own::read(name, arguments)?).await,
        "call" => {
            let own::Call {
                path,
                args,
                timeout_seconds,
            } = own::read(name, arguments)?;
            let asked = CallRequest {
                path,
                arguments: Value::Object(args),
                timeout_ms: timeout_seconds.map(millis),
                // A stored value is read by a program or in parts, and needs no duplicate content.
                lean: true,
                ..CallRequest::default()
            };
            let called = call(link, asked, ear).await?;
            Ok(answers::passed(called.1))
        }
        "read" => read(link, own::read(name, arguments)?).await,
        _ => resume(link, own::read(name, arguments)?, ear).await,
    }
}

async fn run(link: &Link, asked: own::Run, ear: Ear) -> Result<CallToolResult, Error> {
    let request = RunRequest {
        source: asked.code,
        input: asked.input,
        timeout_ms: asked.timeout_seconds.map(millis),
        detach: asked.detach,
        no_check: asked.check == Some(false),
        traceparent: ear.trace.parent.clone(),
        tracestate: ear.trace.state.clone(),
        ..RunRequest::default()
    };
    to_its_end(link, request, ear).await
}

async fn run_program(
    link: &Link,
    asked: own::RunProgram,
    ear: Ear,
) -> Result<CallToolResult, Error> {
    let request = RunRequest {
        source: asked.source(),
        language: Language::Json,
        input: asked.input,
        timeout_ms: asked.timeout_seconds.map(millis),
        detach: asked.detach,
        traceparent: ear.trace.parent.clone(),
        tracestate: ear.trace.state.clone(),
        ..RunRequest::default()
    };
    to_its_end(link, request, ear).await
}

/// Starts a run, and waits for its end unless it is detached.
async fn to_its_end(link: &Link, request: RunRequest, ear: Ear) -> Result<CallToolResult, Error> {
    let detach = request.detach;
    let (line, run) = link
        .ask(|line| {
            let request = request.clone();
            async move {
                let run = mux_client::start(&line.session, request).await?;
                Ok((line, run))
            }
        })
        .await?;
    if detach {
        return Ok(Transcript::new(ear.unchecked_told).running(&run));
    }
    let mut cancel = CancelOnDrop(Some((Arc::clone(&line), run.clone())));
    let result = follow(&line, &run, None, ear).await;
    // A run that cannot be followed any more is cancelled: the agent is told that it failed.
    if result.is_ok() {
        cancel.0 = None;
    }
    result
}

async fn resume(link: &Link, asked: own::Resume, ear: Ear) -> Result<CallToolResult, Error> {
    let seconds = asked.wait_seconds.unwrap_or(WAIT).clamp(0.0, MOST_WAIT);
    let line = link.open().await?;
    let wait = Duration::from_secs_f64(seconds);
    let mut run = asked.run;
    if line.session.require("resume_run").is_ok() {
        let request = ResumeRequest {
            id: run,
            detach: false,
        };
        let client = &line.session.client;
        let resumed = client.resume_run(within_seconds(30), request).await;
        run = resumed.map_err(lost)??.run;
    }
    follow(&line, &run, Some(wait), ear).await
}

/// Reports a run's progress until it has ended, or until `wait` is over.
async fn follow(
    line: &Arc<Line>,
    run: &str,
    wait: Option<Duration>,
    ear: Ear,
) -> Result<CallToolResult, Error> {
    let cause = Cause::Run(run.to_owned());
    let _seat = ear.desk.sit(cause, ear.questions, ear.teller.clone());
    let mut transcript = Transcript::new(ear.unchecked_told);
    let (tell, mut told) = mpsc::unbounded_channel();
    let is_heard = ear.teller.is_heard();
    let watching = async {
        let finished = mux_client::watch(&line.session, run, 0, |event| {
            transcript.add(event);
            if is_heard && let Some(words) = news(event) {
                // The receiver lives as long as this future.
                drop(tell.send(words));
            }
        });
        let finished = match wait {
            None => Some(finished.await),
            Some(wait) => timeout(wait, finished).await.ok(),
        };
        drop(tell);
        finished
    };
    let telling = async {
        while let Some(words) = told.recv().await {
            ear.teller.say(words).await;
        }
    };
    match futures::join!(watching, telling).0 {
        None => Ok(transcript.running(run)),
        Some(finished) => Ok(transcript.ended(run, &finished?.outcome)),
    }
}

/// Calls one tool. Returns its `CallToolResult`, and the connection on which a stored result can be read.
async fn call(link: &Link, asked: CallRequest, ear: Ear) -> Result<(Arc<Line>, Held), Error> {
    let trace = ear.trace.clone();
    let (token, _seat) = ear.sit();
    let request = CallRequest {
        traceparent: trace.parent,
        tracestate: trace.state,
        raw: true,
        token: Some(token),
        ..asked
    };
    let send = |client: MuxClient, request| async move {
        client.call(transport::within(PATIENCE), request).await
    };
    let called = link.send("call", request, send).await;
    // Notices about the call are delivered before its result.
    if let Ok((line, _)) = &called {
        line.all_heard().await;
    }
    called
}

/// The work that calls a listed tool of a server. The server's protocol errors are passed on, and with `whole` a stored
/// result is sent whole, for agents without the tool `read`.
pub(super) fn passed_through(
    link: Link,
    path: String,
    arguments: JsonObject,
    whole: bool,
    ear: Ear,
) -> Work {
    async move {
        let called = async {
            let asked = CallRequest {
                path,
                arguments: Value::Object(arguments),
                ..CallRequest::default()
            };
            let (line, held) = call(&link, asked, ear).await?;
            let held = match whole {
                true => Held::Value(line.whole(held).await?),
                false => held,
            };
            Ok(answers::passed(held))
        };
        let result = called.await.or_else(|error| answers::refused(&error))?;
        Ok::<_, ErrorData>(Output::Tool(result))
    }
    .boxed()
}

async fn search(link: &Link, asked: own::Search) -> Result<CallToolResult, Error> {
    let (words, server) = (asked.query.clone(), asked.server.clone());
    let request = SearchRequest {
        query: asked.query,
        server: asked.server,
        limit: asked.limit,
        cursor: asked.cursor,
        wait_ms: FIRST_SIGHT,
    };
    let send = |client: MuxClient, request| async move {
        client.search(within_seconds(30), request).await
    };
    let page = link.request("search", request, send).await?;
    let shown = page.results.len();
    let mut lines = vec![match (page.total, shown) {
        (0, _) => nothing_found(&words, server.as_deref()),
        (1, 1) => "1 tool:".to_owned(),
        (total, shown) if total == shown => format!("{total} tools:"),
        (total, shown) => format!("{shown} of {total} tools:"),
    }];
    for hit in &page.results {
        let description = hit.description.as_deref().unwrap_or_default();
        let dash = if description.is_empty() { "" } else { "  // " };
        lines.push(format!("{}{dash}{description}", hit.signature));
    }
    if let Some(next) = &page.next {
        lines.push(format!("for more, pass cursor {next}"));
    }
    if !page.unknown.is_empty() {
        let names = page.unknown.join(", ");
        lines.push(format!(
            "not searched, because they have never been connected: {names}; describe connects a server"
        ));
    }
    Ok(answers::text(lines.join("\n")))
}

/// The message for a search without matches.
fn nothing_found(words: &str, server: Option<&str>) -> String {
    let of = server.map_or_else(String::new, |server| format!(" of the server {server}"));
    let all = match server {
        Some(server) => format!("describe \"{server}\" shows all of its tools"),
        None => "an empty query lists all tools".to_owned(),
    };
    match words.trim() {
        "" => format!("There are no tools{of}."),
        words => format!(
            "No tool{of} matches {words:?}. Try other or fewer words, such as a verb or the name of a service; {all}."
        ),
    }
}

async fn describe(link: &Link, asked: own::Describe) -> Result<CallToolResult, Error> {
    let request = DescribeRequest {
        paths: asked.paths,
        ..DescribeRequest::default()
    };
    let send = |client: MuxClient, request| async move {
        client.describe(within_seconds(120), request).await
    };
    let described = link.request("describe", request, send).await?;
    let told = described.instructions.iter();
    let mut texts: Vec<String> = told
        .map(|told| guide::quoted(&told.server, &told.text))
        .collect();
    let tools = described.tools.iter();
    texts.extend(tools.map(|tool| tool.declaration.trim_end().to_owned()));
    texts.extend(described.missing.iter().map(answers::told));
    let text = texts.join("\n\n");
    let nothing = described.tools.is_empty() && described.instructions.is_empty();
    if nothing && !described.missing.is_empty() {
        let error = Error::new(Kind::NotFound, text);
        return Ok(answers::failure(&error));
    }
    Ok(answers::text(text))
}

async fn read(link: &Link, asked: own::Read) -> Result<CallToolResult, Error> {
    let request = ReadRequest {
        handle: asked.handle,
        offset: asked.offset,
        length: Some(asked.length.unwrap_or(READ)),
    };
    let send =
        |client: MuxClient, request| async move { client.read(within_seconds(30), request).await };
    let page = link.request("read", request, send).await?;
    let end = page.offset + page.text.len() as u64;
    let more = match page.next {
        Some(next) => format!("; the next part starts at offset {next}"),
        None => "; this is the last part".into(),
    };
    let place = format!("bytes {} to {end} of {}{more}", page.offset, page.total);
    let mut result = answers::text(page.text);
    result.content.push(rmcp::model::ContentBlock::text(place));
    Ok(result)
}

/// Seconds as milliseconds. The daemon rejects values outside its limits.
fn millis(seconds: f64) -> u64 {
    // The cast saturates.
    (seconds * 1000.0).round() as u64
}

/// Cancels a run that is no longer awaited.
struct CancelOnDrop(Option<(Arc<Line>, String)>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((line, run)) = self.0.take() else {
            return;
        };
        tokio::spawn(async move {
            let client = &line.session.client;
            // Cancelling a run that has ended is harmless.
            drop(client.cancel_run(within_seconds(10), run).await);
        });
    }
}
