//! Whose a session is, and who asks for one.
//!
//! Invariant: everything about a caller that may decide what a session does stands in its key: two
//! callers with the same key may share a process, and no others do.

use std::{fmt, path::PathBuf};

use mux_caller::{CallCause, Caller};
use mux_settings::ShareMode;

/// Whose a session is.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum SessionKey {
    /// Everybody's, or of those who work nowhere.
    User,
    Workspace(PathBuf),
    /// A connection, by number.
    Client(u64),
    Run(String),
}

/// Who asks.
#[derive(Clone, Debug, Default)]
pub struct CallerIdentity {
    pub workspace: Option<PathBuf>,
    pub connection: Option<u64>,
    pub run: Option<String>,
}

impl CallerIdentity {
    pub fn of(caller: &Caller) -> Self {
        let run = match &caller.cause {
            CallCause::Run(run) => Some(run.clone()),
            CallCause::Call(_) => None,
        };
        Self {
            // What is relative to something that we do not know is nowhere.
            workspace: caller.workspace.clone().filter(|dir| dir.is_absolute()),
            connection: caller.connection(),
            run,
        }
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("everybody else"),
            Self::Workspace(workspace) => workspace.display().fmt(f),
            Self::Client(number) => write!(f, "client {number}"),
            Self::Run(run) => write!(f, "run {run}"),
        }
    }
}

/// As one says it in the configuration.
pub(super) fn share_name(share: ShareMode) -> &'static str {
    match share {
        ShareMode::User => "user",
        ShareMode::Workspace => "workspace",
        ShareMode::Client => "client",
        ShareMode::Run => "run",
    }
}
