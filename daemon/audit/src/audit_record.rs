//! What there is to write down, and the line that it becomes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use mux_secrets::Masker;
use serde::Serialize;
use tokio::sync::oneshot;

use super::{MAX_QUEUED_ARGUMENT_BYTES, argument_hasher::ArgumentHasher};
use mux_caller::{CallCause, Caller, ClientOrigin};

/// A path that somebody made up is not kept longer than this.
const MAX_PATH_BYTES: usize = 512;
/// The same of all that one call reaches, in bytes.
const MAX_REACHED_PATHS_BYTES: usize = 4 << 10;

/// One thing to write down.
#[derive(Debug)]
pub(super) enum AuditRecord {
    Call(Box<CallRecord>),
    Deed(Box<AdminEventRecord>),
    /// Wants to know when everything before it is written.
    Settle(oneshot::Sender<()>),
}

#[derive(Debug)]
pub(super) struct CallRecord {
    at: SystemTime,
    pub(super) path: String,
    /// JSON text.
    pub(super) arguments: Option<Arc<str>>,
    caller: Arc<Caller>,
    pub(super) number: Option<u32>,
    /// Functions that would do the same.
    reaches: Vec<String>,
    pub(super) decision: Option<(&'static str, String)>,
    pub(super) outcome: &'static str,
    pub(super) bytes: Option<usize>,
    pub(super) took: Duration,
}

#[derive(Debug)]
pub(super) struct AdminEventRecord {
    pub(super) at: SystemTime,
    pub(super) deed: AdminEvent,
    pub(super) subject: String,
    pub(super) by: ClientOrigin,
}

/// What somebody did that is no call.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminEvent {
    /// The files of a project, by its root.
    ProjectApproved,
    ProjectRevoked,
    /// Tools as they are now, by their server.
    PinsAccepted,
    Login,
    Logout,
    SecretSet,
    SecretRemoved,
    ServerRestarted,
    /// Other rules are in force than before.
    PolicyLoaded,
    /// Other servers are.
    ServersChanged,
    /// A call that was held, by the id of its approval.
    CallApproved,
    CallDenied,
    /// What was always allowed, by its grant.
    ApprovalRevoked,
    /// So many lines are missing before this one.
    LinesLost,
}

/// A line, in the order in which a person reads it.
#[derive(Serialize)]
struct AuditLine<'a> {
    at: String,
    kind: AuditLineKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reaches: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    client: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AuditLineKind {
    Call(&'static str),
    Deed(AdminEvent),
}

impl<'a> AuditLine<'a> {
    fn of(at: SystemTime, kind: AuditLineKind, by: &'a ClientOrigin) -> Self {
        let workspace = by.workspace.as_deref();
        Self {
            at: humantime::format_rfc3339_millis(at).to_string(),
            kind,
            path: None,
            reaches: &[],
            subject: None,
            client: &by.client,
            pid: by.pid,
            uid: by.uid,
            agent: by.agent.as_deref(),
            workspace: workspace.map(|path| path.display().to_string()),
            run: None,
            call: None,
            arguments: None,
            decision: None,
            by: None,
            outcome: None,
            ms: None,
            bytes: None,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        // Names and numbers: there is nothing in it that cannot be written.
        let before = out.len();
        match serde_json::to_writer(&mut *out, self) {
            Ok(()) => out.push(b'\n'),
            Err(_) => out.truncate(before),
        }
    }
}

/// Whoever makes up a path may make it of a token.
fn masked_path(path: &str) -> String {
    let mut shown = Masker::default().text(path);
    shown.truncate(shown.floor_char_boundary(MAX_PATH_BYTES));
    shown
}

impl CallRecord {
    pub(super) fn new(path: &str, arguments: Option<Arc<str>>, caller: Arc<Caller>) -> Self {
        Self {
            at: SystemTime::now(),
            path: masked_path(path),
            arguments,
            caller,
            number: None,
            reaches: Vec::new(),
            decision: None,
            outcome: "",
            bytes: None,
            took: Duration::ZERO,
        }
    }

    /// As many as there is room for, and `…` for the others.
    pub(super) fn set_reached_paths(&mut self, paths: &[String]) {
        self.reaches.clear();
        let mut room = MAX_REACHED_PATHS_BYTES;
        for path in paths {
            let Some(left) = room.checked_sub(path.len()) else {
                self.reaches.push("…".into());
                return;
            };
            room = left;
            self.reaches.push(path.clone());
        }
    }
}

impl AuditRecord {
    /// Its arguments wait with it, if there is room for them.
    pub(super) fn reserve_argument_bytes(&mut self, waiting: &AtomicUsize) {
        if let Self::Call(call) = self
            && let Some(arguments) = &call.arguments
        {
            let length = arguments.len();
            if waiting.fetch_add(length, Ordering::Relaxed) + length > MAX_QUEUED_ARGUMENT_BYTES {
                waiting.fetch_sub(length, Ordering::Relaxed);
                call.arguments = None;
            }
        }
    }

    /// They wait no more.
    pub(super) fn release_argument_bytes(&self, waiting: &AtomicUsize) {
        if let Self::Call(call) = self
            && let Some(arguments) = &call.arguments
        {
            waiting.fetch_sub(arguments.len(), Ordering::Relaxed);
        }
    }

    /// As a line, behind what is there already.
    pub(super) fn write(&self, hasher: Option<&ArgumentHasher>, out: &mut Vec<u8>) {
        match self {
            Self::Call(call) => {
                let caller = &*call.caller;
                let decision = call.decision.as_ref();
                let by = decision.map(|(_, by)| by.as_str());
                AuditLine {
                    path: Some(&call.path),
                    reaches: &call.reaches,
                    run: match &caller.cause {
                        CallCause::Run(run) => Some(run),
                        CallCause::Call(_) => None,
                    },
                    call: call.number,
                    arguments: call
                        .arguments
                        .as_ref()
                        .and_then(|text| Some(hasher?.hash_arguments(text))),
                    decision: decision.map(|(decision, _)| *decision),
                    by: by.filter(|by| !by.is_empty()),
                    outcome: Some(call.outcome),
                    ms: Some((call.took.as_secs_f64() * 1e6).round() / 1e3),
                    bytes: call.bytes,
                    ..AuditLine::of(call.at, AuditLineKind::Call("call"), &caller.origin)
                }
                .write(out);
            }
            Self::Deed(deed) => AuditLine {
                subject: Some(&deed.subject),
                ..AuditLine::of(deed.at, AuditLineKind::Deed(deed.deed), &deed.by)
            }
            .write(out),
            Self::Settle(_) => {}
        }
    }
}
