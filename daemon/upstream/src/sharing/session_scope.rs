//! The key and the workspace of one session, which determine the roots that its server gets.
//!
//! Invariant: a server that was given the roots of one workspace serves no caller of another, unless the user has
//! configured it.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use super::session_key::SessionKey;

/// Learns that the server of a session has asked for roots.
pub(crate) trait RootsObserver: Send + Sync {
    /// `workspace` is the workspace for which the server asks.
    fn handle_roots_request(&self, scope: &SessionScope, workspace: Option<PathBuf>);
}

#[derive(Debug, Default)]
pub(crate) struct SessionScope {
    observer: Option<Weak<dyn RootsObserver>>,
    state: Mutex<SessionScopeState>,
}

/// The state that `SessionScope` guards.
#[derive(Debug)]
struct SessionScopeState {
    key: SessionKey,
    /// The workspace of all callers that share the session.
    workspace: Option<PathBuf>,
    /// The workspace of the caller for whom the session was opened.
    opener: Option<PathBuf>,
}

impl Default for SessionScopeState {
    fn default() -> Self {
        Self {
            key: SessionKey::User,
            workspace: None,
            opener: None,
        }
    }
}

impl SessionScope {
    pub(crate) fn new(
        observer: Weak<dyn RootsObserver>,
        key: SessionKey,
        workspace: Option<PathBuf>,
    ) -> Arc<Self> {
        let workspace = workspace.filter(|_| key != SessionKey::User);
        let state = SessionScopeState {
            key,
            workspace,
            opener: None,
        };
        Arc::new(Self {
            observer: Some(observer),
            state: Mutex::new(state),
        })
    }

    pub(crate) fn key(&self) -> SessionKey {
        self.state.lock().key.clone()
    }

    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        self.state.lock().workspace.clone()
    }

    pub(crate) fn set_opener(&self, workspace: Option<PathBuf>) {
        self.state.lock().opener = workspace;
    }

    /// Moves the session to this workspace's key.
    pub(crate) fn move_to_workspace(&self, workspace: PathBuf) {
        let mut state = self.state.lock();
        state.key = SessionKey::Workspace(workspace.clone());
        state.workspace = Some(workspace);
    }

    /// Handles the server's request for roots. `caller` is the workspace of the call in flight, if there is one.
    /// Returns the workspace for the answer.
    pub(crate) fn workspace_for_roots(&self, caller: Option<PathBuf>) -> Option<PathBuf> {
        if let Some(observer) = self.observer.as_ref().and_then(Weak::upgrade) {
            let opener = self.state.lock().opener.clone();
            observer.handle_roots_request(self, caller.clone().or(opener));
        }
        caller.or_else(|| self.workspace())
    }
}
