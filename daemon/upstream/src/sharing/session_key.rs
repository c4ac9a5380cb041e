//! The key of a session, and the identity of a caller.
//!
//! Invariant: every property of a caller that may affect a session's behavior is part of the key. Only callers with the
//! same key may share a process.

use std::{fmt, path::PathBuf};

use mux_caller::{CallCause, Caller, RunAccess};

/// The owner of a session.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum SessionKey {
    /// All callers that have no more specific key.
    User,
    Workspace(PathBuf),
    /// A connection, by its number.
    Client(u64),
    Run(String),
}

impl SessionKey {
    /// The name of an owner that exists in later daemons, too.
    pub(crate) fn lasting_owner(&self) -> Option<String> {
        match self {
            Self::User => Some("user".into()),
            Self::Workspace(workspace) => Some(workspace.to_string_lossy().into_owned()),
            Self::Client(_) | Self::Run(_) => None,
        }
    }
}

/// The properties of a caller that select its session.
#[derive(Clone, Debug, Default)]
pub struct CallerIdentity {
    pub workspace: Option<PathBuf>,
    pub connection: Option<u64>,
    pub run: Option<String>,
    /// Set for the user's own clients. Selects no session.
    pub is_user: bool,
}

impl CallerIdentity {
    pub fn of(caller: &Caller) -> Self {
        let run = match &caller.cause {
            CallCause::Run(run) => Some(run.clone()),
            CallCause::Call(_) => None,
        };
        Self {
            // A relative path has no known base.
            workspace: caller.workspace.clone().filter(|dir| dir.is_absolute()),
            connection: caller.connection(),
            run,
            is_user: RunAccess::of(&caller.origin, caller.origin.for_agent).is_user(),
        }
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("all other callers"),
            Self::Workspace(workspace) => workspace.display().fmt(f),
            Self::Client(number) => write!(f, "client {number}"),
            Self::Run(run) => write!(f, "run {run}"),
        }
    }
}
