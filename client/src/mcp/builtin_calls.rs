//! Executes the built-in tools: each sends a request to the daemon and renders the response for the agent.
//!
//! Invariant: a failure that an agent can act on is an error result, not a protocol error.

use std::{sync::Arc, time::Duration};

use futures::FutureExt as _;
use mux_client::{rpc_error, within_seconds};
use mux_proto::{
    CallRequest, Cause, DescribeRequest, Error, Held, Kind, Language, MuxClient, ReadRequest,
    ResumeRequest, RunRequest, SearchRequest,
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, JsonObject},
};
use serde_json::Value;
use tokio::{sync::mpsc, time::timeout};

use super::{
    builtins,
    daemon_access::DaemonAccess,
    daemon_link::{DaemonConnection, DaemonLink},
    fence::DataOrigin,
    guide,
    pending_jobs::{JobContext, JobFuture, JobOutput},
    progress_sender,
    result_reader::{DataPart, ModelResult},
    run_texts, tool_results,
    transcript::{RunTranscript, progress_message},
};

/// The default length of a `read`, in bytes: a context has less room than a program.
const DEFAULT_READ_BYTES: u64 = 32 * 1024;
/// How long a search waits for servers whose tools were never listed, in milliseconds.
const SEARCH_WAIT_MS: u64 = 5_000;
/// The size of an answer to `search`, in tokens: 1,500 with the lines around the tools.
const SEARCH_BUDGET_TOKENS: usize = 1_300;
/// The maximum length of its server list, in bytes.
const MAX_SERVER_NAMES_CHARS: usize = 300;
const DEFAULT_RESUME_WAIT_SECONDS: f64 = 30.0;
const MAX_RESUME_WAIT_SECONDS: f64 = 300.0;

/// The work of a built-in tool, or `None` if there is no such tool.
pub(super) fn builtin_work(
    access: DaemonAccess,
    name: &str,
    arguments: Option<JsonObject>,
) -> Option<impl FnOnce(JobContext) -> JobFuture + use<>> {
    let name = *builtins::BUILTIN_TOOLS
        .iter()
        .find(|known| **known == name)?;
    Some(move |job: JobContext| {
        async move {
            let result = match execute_builtin(&access, name, arguments, job).await {
                Ok(result) => result,
                Err(error) => {
                    let error = access.reader.shorten_error(error, &access.link).await;
                    tool_results::error_result(&error)
                }
            };
            Ok(JobOutput::Tool(result))
        }
        .boxed()
    })
}

async fn execute_builtin(
    access: &DaemonAccess,
    name: &'static str,
    arguments: Option<JsonObject>,
    job: JobContext,
) -> Result<CallToolResult, Error> {
    let DaemonAccess {
        link,
        fences,
        reader,
    } = access;
    match name {
        "run" => execute_run(access, builtins::parse_tool_args(name, arguments)?, job).await,
        "run_program" => {
            execute_run_program(access, builtins::parse_tool_args(name, arguments)?, job).await
        }
        "search" => execute_search(link, builtins::parse_tool_args(name, arguments)?).await,
        "describe" => execute_describe(access, builtins::parse_tool_args(name, arguments)?).await,
        "call" => {
            let builtins::CallToolArgs {
                path,
                args,
                timeout_seconds,
            } = builtins::parse_tool_args(name, arguments)?;
            let origin = DataOrigin::of_path(&path);
            let asked = CallRequest {
                path,
                arguments: Value::Object(args).into(),
                timeout_ms: timeout_seconds.map(seconds_to_millis),
                // A stored value is read by a program or in parts, and needs no duplicate content.
                lean: true,
                ..CallRequest::default()
            };
            Ok(match send_call(link, asked, job).await {
                Ok((connection, held)) => {
                    tool_results::called_result(held, &connection, &origin, access).await
                }
                Err(error) => {
                    let error = reader.shorten_error(error, link).await;
                    tool_results::call_error_result(&error, &origin, fences)
                }
            })
        }
        "read" => execute_read(access, builtins::parse_tool_args(name, arguments)?).await,
        _ => execute_resume(access, builtins::parse_tool_args(name, arguments)?, job).await,
    }
}

async fn execute_run(
    access: &DaemonAccess,
    asked: builtins::RunToolArgs,
    job: JobContext,
) -> Result<CallToolResult, Error> {
    let request = RunRequest {
        source: asked.code,
        input: asked.input.into(),
        timeout_ms: asked.timeout_seconds.map(seconds_to_millis),
        detach: asked.detach,
        no_check: asked.check == Some(false),
        traceparent: job.trace.parent.clone(),
        tracestate: job.trace.state.clone(),
        ..RunRequest::default()
    };
    start_and_follow(access, request, job).await
}

async fn execute_run_program(
    access: &DaemonAccess,
    asked: builtins::RunProgramToolArgs,
    job: JobContext,
) -> Result<CallToolResult, Error> {
    let request = RunRequest {
        source: asked.program_json(),
        language: Language::Json,
        input: asked.input.into(),
        timeout_ms: asked.timeout_seconds.map(seconds_to_millis),
        detach: asked.detach,
        traceparent: job.trace.parent.clone(),
        tracestate: job.trace.state.clone(),
        ..RunRequest::default()
    };
    start_and_follow(access, request, job).await
}

/// Starts a run, and waits for its end unless it is detached.
async fn start_and_follow(
    access: &DaemonAccess,
    request: RunRequest,
    job: JobContext,
) -> Result<CallToolResult, Error> {
    let detach = request.detach;
    let mut transcript =
        RunTranscript::new(Arc::clone(&job.unchecked_warning_shown), &access.fences);
    let has_stored =
        names_stored_value(&request.source) || names_stored_value(request.input.as_str());
    if has_stored {
        transcript.add_stored_value();
    }
    let (connection, run) = access
        .link
        .send_with_retry(|connection| {
            let request = request.clone();
            async move {
                let run = mux_client::start(&connection.session, request).await?;
                Ok((connection, run))
            }
        })
        .await?;
    if !has_stored {
        job.runs_without_stored_values.remember(&run);
    }
    if detach {
        return Ok(transcript.running_result(&run, access.reader.structured));
    }
    let mut cancel = CancelOnDrop(Some((Arc::clone(&connection), run.clone())));
    let followed = FollowedRun {
        access,
        connection: &connection,
        run: &run,
    };
    let result = Box::pin(followed.follow(transcript, None, job)).await;
    // A run that cannot be followed any more is cancelled: the agent is told that it failed.
    if result.is_ok() {
        cancel.0 = None;
    }
    result
}

/// Returns true if a string has the handle of a stored value in quotes. A program can read such a value.
fn names_stored_value(text: &str) -> bool {
    ["\"h_", "'h_", "`h_"]
        .iter()
        .any(|begin| text.contains(begin))
}

async fn execute_resume(
    access: &DaemonAccess,
    asked: builtins::ResumeToolArgs,
    job: JobContext,
) -> Result<CallToolResult, Error> {
    let seconds = asked
        .wait_seconds
        .unwrap_or(DEFAULT_RESUME_WAIT_SECONDS)
        .clamp(0.0, MAX_RESUME_WAIT_SECONDS);
    let connection = access.link.open().await?;
    let wait = Duration::from_secs_f64(seconds);
    let has_stored = !job.runs_without_stored_values.contains(&asked.run);
    let request = ResumeRequest {
        id: asked.run,
        detach: false,
    };
    let client = &connection.session.client;
    let resumed = client.resume_run(within_seconds(30), request).await;
    let run = resumed.map_err(rpc_error)??.run;
    let mut transcript =
        RunTranscript::new(Arc::clone(&job.unchecked_warning_shown), &access.fences);
    if has_stored {
        transcript.add_stored_value();
    } else {
        job.runs_without_stored_values.remember(&run);
    }
    let followed = FollowedRun {
        access,
        connection: &connection,
        run: &run,
    };
    Box::pin(followed.follow(transcript, Some(wait), job)).await
}

/// A run whose events are read on a connection.
struct FollowedRun<'a> {
    access: &'a DaemonAccess,
    connection: &'a Arc<DaemonConnection>,
    run: &'a str,
}

impl FollowedRun<'_> {
    /// Reports the run's progress until it has ended, or until `wait` is over.
    async fn follow(
        self,
        mut transcript: RunTranscript,
        wait: Option<Duration>,
        job: JobContext,
    ) -> Result<CallToolResult, Error> {
        let FollowedRun {
            access,
            connection,
            run,
        } = self;
        let cause = Cause::Run(run.to_owned());
        let _registration =
            job.question_router
                .register_request(cause, job.questions, job.progress_sender.clone());
        let (tell, mut progress) = mpsc::unbounded_channel();
        let wants_progress = job.progress_sender.wants_progress();
        let watching = async {
            let finished = mux_client::watch(&connection.session, run, 0, |event| {
                transcript.add(event);
                if wants_progress && let Some(words) = progress_message(event) {
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
            while let Some(words) = progress_sender::next_or_heartbeat(&mut progress).await {
                job.progress_sender.advance_with_message(words).await;
            }
        };
        match futures::join!(watching, telling).0 {
            None => Ok(transcript.running_result(run, access.reader.structured)),
            Some(finished) => {
                let outcome = finished?.outcome;
                Ok(transcript
                    .into_tool_result(run, &outcome, connection, access)
                    .await)
            }
        }
    }
}

/// Calls one tool. Returns its `CallToolResult`, and the connection on which a stored result can be read.
async fn send_call(
    link: &DaemonLink,
    asked: CallRequest,
    job: JobContext,
) -> Result<(Arc<DaemonConnection>, Held), Error> {
    let trace = job.trace.clone();
    let meta = job.meta.clone();
    let (token, _registration) = job.register_call();
    let request = CallRequest {
        traceparent: trace.parent,
        tracestate: trace.state,
        raw: true,
        token: Some(token),
        meta,
        ..asked
    };
    link.call(request).await
}

/// The work that calls a listed tool of a server. The server's protocol errors are passed on, and with `whole` a stored
/// result is sent whole, for agents without the tool `read`.
pub(super) fn direct_call(
    access: DaemonAccess,
    path: String,
    arguments: JsonObject,
    whole: bool,
    job: JobContext,
) -> JobFuture {
    async move {
        let DaemonAccess { link, fences, .. } = &access;
        let origin = DataOrigin::of_path(&path);
        let called = async {
            let asked = CallRequest {
                path,
                arguments: Value::Object(arguments).into(),
                ..CallRequest::default()
            };
            let (connection, held) = send_call(link, asked, job).await?;
            let held = if whole {
                Held::Value(connection.full_value(held).await?)
            } else {
                held
            };
            Ok(tool_results::direct_result(held, &connection, &origin, &access).await)
        };
        let result = called
            .await
            .or_else(|error| tool_results::direct_error(&error, &origin, fences))?;
        Ok::<_, ErrorData>(JobOutput::Tool(result))
    }
    .boxed()
}

async fn execute_search(
    link: &DaemonLink,
    asked: builtins::SearchToolArgs,
) -> Result<CallToolResult, Error> {
    let words = asked.query.clone();
    let server = asked.server.clone();
    let request = SearchRequest {
        query: asked.query,
        server: asked.server,
        limit: asked.limit,
        cursor: asked.cursor,
        budget_tokens: Some(SEARCH_BUDGET_TOKENS),
        wait_ms: SEARCH_WAIT_MS,
    };
    let page = link.request(30, request, MuxClient::search).await?;
    let shown = page.results.len();
    let mut lines = vec![match (page.total, shown) {
        (0, _) => no_match_message(&words, server.as_deref()),
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
        let names = run_texts::names_within(&page.unknown, MAX_SERVER_NAMES_CHARS);
        lines.push(format!(
            "not searched, because they have never been connected: {names}; describe connects a server"
        ));
    }
    Ok(tool_results::text_result(lines.join("\n")))
}

/// The message for a search without matches.
fn no_match_message(words: &str, server: Option<&str>) -> String {
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

async fn execute_describe(
    access: &DaemonAccess,
    asked: builtins::DescribeToolArgs,
) -> Result<CallToolResult, Error> {
    let mut origin = DataOrigin::default();
    asked.paths.iter().for_each(|path| origin.add_path(path));
    let request = DescribeRequest {
        paths: asked.paths,
        ..DescribeRequest::default()
    };
    let described = access.link.request(120, request, MuxClient::describe);
    let described = described.await?;
    let instructions = described.instructions.iter();
    let mut texts: Vec<String> = instructions
        .map(|instructions| guide::quote_instructions(&instructions.server, &instructions.text))
        .collect();
    for tool in &described.tools {
        texts.push(tool.declaration.trim_end().to_owned());
        if let Some(learned) = &tool.learned {
            let fence = DataOrigin::of_path(&tool.tool.path).fence(&access.fences);
            let shape = match fence {
                Some(fence) => fence.enclose_text(learned.clone()),
                None => learned.clone(),
            };
            texts.push(format!("// Its results so far had this shape:\n{shape}"));
        }
    }
    // The error of a server that does not start contains the server's text.
    let fence = origin.fence(&access.fences);
    let missing = described.missing.iter();
    texts.extend(missing.map(|error| tool_results::render_fenced_error(error, fence.as_ref())));
    let is_missing = !described.missing.is_empty();
    let is_error = is_missing && described.tools.is_empty() && described.instructions.is_empty();
    let text = texts.join("\n\n");
    let text = if is_error {
        format!("{}: {text}", Kind::NotFound)
    } else {
        text
    };
    let result = ModelResult {
        data: vec![DataPart::list("The description", text)],
        ..ModelResult::default()
    };
    let content = access.reader.content(result, None, &access.link).await;
    let mut result = if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    if is_missing {
        origin.mark_meta(&mut result.meta);
    }
    Ok(result)
}

async fn execute_read(
    access: &DaemonAccess,
    asked: builtins::ReadToolArgs,
) -> Result<CallToolResult, Error> {
    let request = ReadRequest {
        handle: asked.handle,
        offset: asked.offset,
        length: Some(
            asked
                .length
                .unwrap_or(DEFAULT_READ_BYTES)
                .min(access.reader.max_page_bytes()),
        ),
    };
    let page = access.link.request(30, request, MuxClient::read).await?;
    let end = page.offset + page.text.len() as u64;
    let more = match page.next {
        Some(next) => format!("; the next part starts at offset {next}"),
        None => "; this is the last part".into(),
    };
    let range = format!("bytes {} to {end} of {}{more}", page.offset, page.total);
    let origin = DataOrigin::stored_value();
    let page = ModelResult {
        data: vec![DataPart::text("The page", page.text)],
        after: vec![range],
        ..ModelResult::default()
    };
    let content = page.into_content(origin.fence(&access.fences).as_ref());
    let mut result = CallToolResult::success(content);
    origin.mark_meta(&mut result.meta);
    Ok(result)
}

/// Seconds as milliseconds. The daemon rejects values outside its limits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn seconds_to_millis(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// Cancels a run that is no longer awaited.
struct CancelOnDrop(Option<(Arc<DaemonConnection>, String)>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((connection, run)) = self.0.take() else {
            return;
        };
        tokio::spawn(async move {
            let client = &connection.session.client;
            // Cancelling a run that has ended is harmless.
            drop(client.cancel_run(within_seconds(10), run).await);
        });
    }
}
