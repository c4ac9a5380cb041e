//! Between the daemon's own types and the contract's.

use mux_proto as wire;
use mux_sandbox::{Fault, Level};
use serde_json::{Value, json};

use crate::{
    nesting,
    runs::{Event, Happening},
    upstream::{Changes, Server, State},
};

pub(super) fn error(fault: Fault) -> wire::Error {
    wire::Error {
        kind: wire::Kind::from_name(fault.kind.as_str()),
        message: fault.message,
        hint: fault.hint,
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
    let short = Some(&text).filter(|text| text.len() <= MOST && nesting::check(text, "").is_ok());
    short
        .and_then(|_| readable())
        .unwrap_or_else(|| json!({ "omitted_bytes": text.len() }))
}

/// An answer that is longer than a frame would end the connection without a word.
pub(super) fn fits(text: &str) -> Result<(), wire::Error> {
    // Room for the envelope.
    const MOST: usize = wire::transport::MAX_FRAME - 4096;
    if text.len() <= MOST {
        return Ok(());
    }
    let message = format!(
        "the result is {} bytes, over the limit of {MOST}",
        text.len()
    );
    let hint = "call it in a program, and return only what you need";
    Err(wire::Error::new(wire::Kind::Limit, message).hint(hint))
}

/// JSON text that we made ourselves, or that a worker did.
pub(super) fn value(text: &str) -> Result<Value, wire::Error> {
    nesting::check(text, "the result").map_err(error)?;
    serde_json::from_str(text)
        .map_err(|e| wire::Error::new(wire::Kind::Internal, format!("the result is not JSON: {e}")))
}

pub(super) fn event(event: Event) -> wire::Event {
    wire::Event {
        seq: event.seq,
        at_ms: millis(event.at),
        event: match event.what {
            Happening::Started => wire::EventKind::Started {},
            Happening::ServerStarting { server } => wire::EventKind::ServerStarting { server },
            Happening::ServerReady { server, took } => wire::EventKind::ServerReady {
                server,
                ms: millis(took),
            },
            Happening::CallStarted { call, path } => wire::EventKind::CallStarted { call, path },
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
            Happening::Console { level: l, text } => wire::EventKind::Console {
                level: level(l),
                text,
            },
            Happening::Ended(outcome) => wire::EventKind::Ended {
                outcome: match outcome.map_err(error).and_then(|text| value(&text)) {
                    Ok(value) => wire::Outcome::Result(value),
                    Err(error) => wire::Outcome::Error(error),
                },
            },
        },
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

pub(super) fn server(server: &Server) -> wire::ServerInfo {
    let view = server.view();
    wire::ServerInfo {
        name: server.name().to_owned(),
        state: match view.state {
            State::Cold => wire::ServerState::Cold,
            State::Starting => wire::ServerState::Starting,
            State::Ready => wire::ServerState::Ready,
            State::Failed => wire::ServerState::Failed,
            State::Broken => wire::ServerState::Broken,
        },
        reason: view.reason,
        command: match server.definition() {
            Ok(definition) => definition.command_line(),
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
    }
}

pub(super) fn reload(changes: Changes, problems: Vec<String>) -> wire::ReloadReport {
    wire::ReloadReport {
        added: changes.added,
        removed: changes.removed,
        changed: changes.changed,
        unchanged: changes.unchanged,
        problems,
    }
}

pub(super) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
