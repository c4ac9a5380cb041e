//! The records of the audit log, and the lines that they become.

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

/// The maximum length of a path as the caller passed it, in bytes.
const MAX_PATH_BYTES: usize = 512;
/// The maximum length of all paths that one call reaches, in bytes.
const MAX_REACHED_PATHS_BYTES: usize = 4 << 10;

/// An entry in the queue of the writer.
#[derive(Debug)]
pub(super) enum AuditRecord {
    Call(Box<CallRecord>),
    Deed(Box<AdminEventRecord>),
    /// Is signaled when everything before it is written.
    Settle(oneshot::Sender<()>),
}

#[derive(Debug)]
pub(super) struct CallRecord {
    at: SystemTime,
    pub(super) path: String,
    /// Raw JSON.
    pub(super) arguments: Option<Arc<str>>,
    caller: Arc<Caller>,
    pub(super) number: Option<u32>,
    /// The paths of functions that would do the same.
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

/// An event other than a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminEvent {
    /// The files of a project. The subject is its root.
    ProjectApproved,
    ProjectRevoked,
    /// The current tools of a server. The subject is its name.
    PinsAccepted,
    Login,
    Logout,
    SecretSet,
    SecretRemoved,
    ServerRestarted,
    /// The sessions of a server run without its sandbox from now on, in order to suggest one.
    ServerObserved,
    /// The policy rules changed.
    PolicyLoaded,
    /// The configured servers changed.
    ServersChanged,
    /// A held call. The subject begins with the ID of its approval.
    CallApproved,
    CallDenied,
    /// A lasting grant. The subject begins with its name.
    ApprovalRevoked,
    /// Lines are missing before this line. The subject is their number.
    LinesLost,
}

/// A line of the log. The order of the fields is the order of output.
#[serde_with::skip_serializing_none]
#[derive(Default, Serialize)]
struct AuditLine<'a> {
    at: String,
    kind: AuditLineKind,
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reaches: &'a [String],
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    client: &'a str,
    pid: Option<u32>,
    uid: Option<u32>,
    agent: Option<&'a str>,
    workspace: Option<String>,
    run: Option<&'a str>,
    call: Option<u32>,
    arguments: Option<String>,
    decision: Option<&'a str>,
    by: Option<&'a str>,
    outcome: Option<&'a str>,
    ms: Option<f64>,
    bytes: Option<usize>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "snake_case")]
enum AuditLineKind {
    #[default]
    Call,
    #[serde(untagged)]
    Deed(AdminEvent),
}

impl<'a> AuditLine<'a> {
    fn of(at: SystemTime, kind: AuditLineKind, by: &'a ClientOrigin) -> Self {
        let workspace = by.workspace.as_deref();
        Self {
            at: humantime::format_rfc3339_millis(at).to_string(),
            kind,
            client: &by.client,
            pid: by.pid,
            uid: by.uid,
            agent: by.agent.as_deref(),
            workspace: workspace.map(|path| path.display().to_string()),
            ..Self::default()
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        // A line of strings and numbers always serializes.
        let before = out.len();
        match serde_json::to_writer(&mut *out, self) {
            Ok(()) => out.push(b'\n'),
            Err(_) => out.truncate(before),
        }
    }
}

/// Masks secrets in a path, because a caller may pass anything, and cuts it.
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

    /// Sets the reached paths: as many as fit, then `…` if some are left out.
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
    /// Counts its arguments as waiting, or drops them if there is no room.
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

    /// Stops counting its arguments as waiting.
    pub(super) fn release_argument_bytes(&self, waiting: &AtomicUsize) {
        if let Self::Call(call) = self
            && let Some(arguments) = &call.arguments
        {
            waiting.fetch_sub(arguments.len(), Ordering::Relaxed);
        }
    }

    /// Appends the record to `out` as a line.
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
                    ..AuditLine::of(call.at, AuditLineKind::Call, &caller.origin)
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
