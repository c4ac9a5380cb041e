//! Between the daemon's own types and the contract's.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use mux_proto as wire;
use mux_wire::{Fault, Level};
use serde_json::{Value, json};

use super::{approvals, login, program, sources};
use crate::state::Report;
use mux_auth::Standing;
use mux_handles::{Handle, Held, Page};
use mux_runs::{Event, Happening, inspect::Inspection};
use mux_settings::{ServerDefinition, Share};
use mux_text::json_depth;
use mux_typecheck::CheckerStatus;
use mux_upstream::{Server, State, Upstreams};

pub(super) fn welcome() -> wire::Welcome {
    let features = wire::version::FEATURES.iter();
    wire::Welcome {
        contract: wire::version::CONTRACT,
        build: wire::version::BUILD.into(),
        pid: std::process::id(),
        features: features.map(|feature| (*feature).to_owned()).collect(),
    }
}

pub(super) fn error(fault: Fault) -> wire::Error {
    wire::Error {
        kind: wire::Kind::from_name(fault.kind.as_str()),
        message: fault.message,
        hint: fault.hint,
        agent_hint: fault.agent_hint,
        line: fault.line,
        column: fault.column,
        path: fault.path,
        recoverable: fault.recoverable,
        details: fault.details.map(details),
    }
}

/// They are a help and no result: what is more than that is only measured.
fn details(text: String) -> Value {
    const MOST: usize = 4 << 20;
    let readable = || serde_json::from_str(&text).ok();
    let short =
        Some(&text).filter(|text| text.len() <= MOST && json_depth::check(text, "").is_ok());
    short
        .and_then(|_| readable())
        .unwrap_or_else(|| json!({ "omitted_bytes": text.len() }))
}

/// A message that is longer than a frame would end the connection without a word.
pub(super) fn fits(text: &str, value: &Value) -> Result<(), wire::Error> {
    // Room for the envelope.
    const MOST: usize = wire::transport::MAX_FRAME - 4096;
    // `1e15` is written anew as `1000000000000000.0`, and nothing grows by more.
    const LARGEST_GROWTH: usize = 5;
    if text.len() <= MOST / LARGEST_GROWTH {
        return Ok(());
    }
    let length = serde_json::to_vec(value).map_or(usize::MAX, |text| text.len());
    if length <= MOST {
        return Ok(());
    }
    let message = format!("the value is {length} bytes, and a message carries {MOST}");
    Err(wire::Error::new(wire::Kind::Limit, message).hint("return only what you need"))
}

/// JSON text that we made ourselves, or that a worker did.
fn value(text: &str) -> Result<Value, wire::Error> {
    json_depth::check(text, "the result").map_err(error)?;
    serde_json::from_str(text)
        .map_err(|e| wire::Error::new(wire::Kind::Internal, format!("the result is not JSON: {e}")))
}

pub(super) fn event(event: Event) -> wire::Event {
    wire::Event {
        seq: event.seq,
        at_ms: millis(event.at),
        event: match event.what {
            Happening::Checked {
                warnings,
                unchecked,
            } => wire::EventKind::Checked {
                warnings: warnings.into_iter().map(error).collect(),
                unchecked,
            },
            Happening::Started => wire::EventKind::Started {},
            Happening::ServerStarting { server } => wire::EventKind::ServerStarting { server },
            Happening::ServerReady { server, took } => wire::EventKind::ServerReady {
                server,
                ms: millis(took),
            },
            Happening::CallStarted { call, path } => wire::EventKind::CallStarted { call, path },
            Happening::CallProgress {
                call,
                path,
                progress,
            } => wire::EventKind::CallProgress {
                call,
                path,
                progress: progress.progress,
                total: progress.total,
                message: progress.message,
            },
            Happening::CallEnded {
                call,
                path,
                took,
                outcome,
            } => wire::EventKind::CallEnded {
                call,
                path,
                ms: took.as_secs_f64() * 1e3,
                bytes: *outcome.as_ref().unwrap_or(&0),
                error: outcome.err().map(error),
            },
            Happening::Step(event) => program::step(event),
            Happening::Console { level: l, text } => wire::EventKind::Console {
                level: level(l),
                text,
            },
            Happening::Recorded(recording) => wire::EventKind::Recorded {
                recording: handle(recording),
            },
            Happening::Emitted(part) => wire::EventKind::Emitted {
                part: held(part).unwrap_or(wire::Held::Value(Value::Null)),
            },
            Happening::Resumed { run, calls } => wire::EventKind::Resumed { run, calls },
            Happening::ApprovalAsked(request) => {
                wire::EventKind::ApprovalAsked(approvals::asked(request))
            }
            Happening::ApprovalOver {
                approval,
                path,
                ending,
            } => wire::EventKind::ApprovalOver(approvals::over(approval, path, ending)),
            Happening::Ended(outcome) => wire::EventKind::Ended {
                outcome: match outcome.map_err(error).and_then(held) {
                    Ok(wire::Held::Value(value)) => wire::Outcome::Result(value),
                    Ok(wire::Held::Stored(handle)) => wire::Outcome::Stored(handle),
                    Err(error) => wire::Outcome::Error(error),
                },
            },
        },
    }
}

pub(super) fn held(held: Held) -> Result<wire::Held, wire::Error> {
    Ok(match held {
        Held::Inline(text) => {
            let value = value(&text)?;
            fits(&text, &value)?;
            wire::Held::Value(value)
        }
        Held::Stored(stored) => wire::Held::Stored(handle(stored)),
    })
}

fn handle(handle: Handle) -> wire::Handle {
    let left = handle.expires.duration_since(SystemTime::now());
    wire::Handle {
        handle: handle.name,
        bytes: handle.bytes,
        preview: handle.preview,
        expires_ms: millis(left.unwrap_or_default()),
    }
}

pub(super) fn page(page: Page) -> wire::ReadPage {
    wire::ReadPage {
        text: page.text,
        offset: page.offset,
        next: page.next,
        total: page.total,
    }
}

pub(super) fn run(run: mux_runs::View) -> wire::RunInfo {
    let accepted = run.accepted.duration_since(UNIX_EPOCH).unwrap_or_default();
    wire::RunInfo {
        run: run.id,
        state: match run.state {
            mux_runs::State::Waiting => wire::RunState::Waiting,
            mux_runs::State::Running => wire::RunState::Running,
            mux_runs::State::Succeeded => wire::RunState::Succeeded,
            mux_runs::State::Failed => wire::RunState::Failed,
        },
        client: run.origin.client.clone(),
        agent: run.origin.agent.clone(),
        workspace: run.origin.workspace.clone(),
        detached: run.detached,
        title: run.title,
        accepted_ms: millis(accepted),
        ms: millis(run.took),
        calls: run.calls.started,
        calls_ended: run.calls.ended,
        calls_failed: run.calls.failed,
        error: run.error.map(error),
        events: run.events,
    }
}

pub(super) fn inspection(found: Inspection) -> wire::Diagnostics {
    wire::Diagnostics {
        errors: found.errors.into_iter().map(error).collect(),
        warnings: found.warnings.into_iter().map(error).collect(),
        unchecked: found.unchecked,
    }
}

pub(super) fn checker(status: CheckerStatus) -> wire::CheckerStatus {
    wire::CheckerStatus {
        compiler: status.compiler,
        version: status.version,
        pid: status.pid,
        rss_bytes: status.rss_bytes,
        checks: status.checks,
        cached: status.cached,
        problem: status.problem,
    }
}

pub(super) fn instructions((server, text): (String, Arc<str>)) -> wire::ServerInstructions {
    wire::ServerInstructions {
        server,
        text: text.to_string(),
    }
}

fn level(level: Level) -> wire::Level {
    match level {
        Level::Debug => wire::Level::Debug,
        Level::Log => wire::Level::Log,
        Level::Info => wire::Level::Info,
        Level::Warn => wire::Level::Warn,
        Level::Error => wire::Level::Error,
    }
}

/// What `mux doctor` knows it by are its first words.
const WRITTEN_OUT: &str = "a secret seems to be written out in its `args`: it is shown as ***, and stands in config.toml \
                           and in the list of processes";

pub(super) fn server(upstreams: &Upstreams, server: &Server) -> wire::ServerInfo {
    let view = server.view();
    let account = login::account(upstreams.auth(), server);
    let described = sources::described(upstreams, server);
    let warning = account.as_ref().and_then(|account| account.warning());
    let warning =
        warning.map(|warning| format!("{warning}: `mux servers login {}`", server.name()));
    let remarks = view.tools.as_ref().map(|tools| tools.remarks());
    let mut warnings = view.warnings;
    warnings.extend(remarks.unwrap_or_default());
    warnings.extend(warning);
    let has_secrets = |known: &ServerDefinition| known.link.has_secret_arguments();
    if server.definition().as_ref().is_ok_and(has_secrets) {
        warnings.push(WRITTEN_OUT.to_owned());
    }
    warnings.extend(described.iter().flat_map(sources::warnings));
    wire::ServerInfo {
        name: server.name().to_owned(),
        state: state(view.state),
        reason: view.reason,
        command: match server.definition() {
            Ok(definition) => definition.link.shown(),
            Err(_) => String::new(),
        },
        pid: view.pid,
        tools: view.tools.map(|set| set.len()),
        identity: view.identity,
        protocol: view.protocol,
        start_ms: view.start_time.map(millis),
        starts: view.starts,
        calls: view.calls,
        in_flight: view.in_flight,
        transport: view.transport.map(str::to_owned),
        share: view.share.map(|share| {
            let word = match share {
                Share::User => "user",
                Share::Workspace => "workspace",
                Share::Client => "client",
                Share::Run => "run",
            };
            word.into()
        }),
        share_reason: view.share_reason.map(str::to_owned),
        sessions: view
            .sessions
            .into_iter()
            .map(|session| wire::SessionInfo {
                of: session.of,
                state: state(session.state),
                reason: session.reason,
                pid: session.pid,
            })
            .collect(),
        auth: account
            .as_ref()
            .and_then(|account| account.standing())
            .map(standing),
        retry_in_ms: view.retry_in.map(millis),
        warnings,
        project: server.project().map(Into::into),
        source: described.map(sources::info),
    }
}

/// A server that is switched off.
pub(super) fn disabled((name, command): (String, String)) -> wire::ServerInfo {
    wire::ServerInfo {
        name,
        state: wire::ServerState::Disabled,
        reason: None,
        command,
        pid: None,
        tools: None,
        identity: None,
        protocol: None,
        start_ms: None,
        starts: 0,
        calls: 0,
        in_flight: 0,
        transport: None,
        share: None,
        share_reason: None,
        sessions: Vec::new(),
        auth: None,
        retry_in_ms: None,
        warnings: Vec::new(),
        project: None,
        source: None,
    }
}

fn standing(standing: Standing) -> wire::AuthState {
    match standing {
        Standing::Required => wire::AuthState::Required,
        Standing::SignedIn => wire::AuthState::SignedIn,
    }
}

/// What concerns the servers that are seen from a project, or from nowhere.
pub(super) fn reload(report: Report, project: Option<&Path>) -> wire::ReloadReport {
    let end = project.map(|root| mux_settings::key("", Some(root)));
    let seen = |key: String| match (key.contains('@'), &end) {
        (false, _) => Some(key),
        (true, Some(end)) => key.strip_suffix(end.as_str()).map(str::to_owned),
        (true, None) => None,
    };
    let all = |keys: Vec<String>| keys.into_iter().filter_map(seen).collect();
    let differences = report.differences;
    let changed = differences.changed.into_iter();
    let reasons: BTreeMap<_, _> = changed
        .filter_map(|(key, reasons)| Some((seen(key)?, reasons)))
        .collect();
    wire::ReloadReport {
        added: all(differences.added),
        removed: all(differences.removed),
        changed: reasons.keys().cloned().collect(),
        unchanged: all(differences.unchanged),
        problems: report.problems,
        reasons,
    }
}

pub(super) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn state(state: State) -> wire::ServerState {
    match state {
        State::Cold => wire::ServerState::Cold,
        State::Starting => wire::ServerState::Starting,
        State::Ready => wire::ServerState::Ready,
        State::Degraded => wire::ServerState::Degraded,
        State::BackingOff => wire::ServerState::BackingOff,
        State::Failed => wire::ServerState::Failed,
        State::Broken => wire::ServerState::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_grows_out_of_its_frame_is_an_error_and_no_broken_connection() {
        let fitting = format!("[{}1]", "1,".repeat(2 << 20));
        assert!(held(Held::Inline(fitting)).is_ok());
        let growing = format!("[{}1]", "1e15,".repeat(1 << 20));
        let error = held(Held::Inline(growing)).unwrap_err();
        assert_eq!(error.kind, wire::Kind::Limit);
        assert!(error.message.contains("16773120"), "{error:?}");
    }
}
