//! Whose one session is, as the session itself knows it: what it answers when its server asks for roots.
//!
//! Invariant: a server that has been told of one workspace serves no caller of another, unless the user has
//! said so.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{server::Server, session_key::SessionKey};

#[derive(Debug, Default)]
pub(super) struct SessionScope {
    server: Weak<Server>,
    state: Mutex<SessionScopeState>,
}

/// Guarded by `SessionScope`.
#[derive(Debug)]
struct SessionScopeState {
    key: SessionKey,
    /// Of everybody who shares it.
    workspace: Option<PathBuf>,
    /// Of the one for whom it was opened.
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
    pub(super) fn new(
        server: Weak<Server>,
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
            server,
            state: Mutex::new(state),
        })
    }

    pub(super) fn key(&self) -> SessionKey {
        self.state().key.clone()
    }

    pub(super) fn workspace(&self) -> Option<PathBuf> {
        self.state().workspace.clone()
    }

    pub(super) fn set_opener(&self, workspace: Option<PathBuf>) {
        self.state().opener = workspace;
    }

    /// From now on it is that workspace's.
    pub(super) fn move_to_workspace(&self, workspace: PathBuf) {
        let mut state = self.state();
        state.key = SessionKey::Workspace(workspace.clone());
        state.workspace = Some(workspace);
    }

    /// The server asks, while a call from `caller` is on its way, if one is. The workspace to tell it of.
    pub(super) fn workspace_for_roots(&self, caller: Option<PathBuf>) -> Option<PathBuf> {
        if let Some(server) = self.server.upgrade() {
            let opener = self.state().opener.clone();
            server.handle_roots_request(self, caller.clone().or(opener));
        }
        caller.or_else(|| self.workspace())
    }

    fn state(&self) -> MutexGuard<'_, SessionScopeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
