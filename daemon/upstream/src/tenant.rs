//! Whose one session is, as the session itself knows it: what it answers when its server asks for roots.
//!
//! Invariant: a server that has been told of one workspace serves no caller of another, unless the user has
//! said so.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{key::Key, server::Server};

#[derive(Debug, Default)]
pub(super) struct Tenant {
    server: Weak<Server>,
    state: Mutex<State>,
}

/// Guarded by `Tenant`.
#[derive(Debug)]
struct State {
    key: Key,
    /// Of everybody who shares it.
    workspace: Option<PathBuf>,
    /// Of the one for whom it was opened.
    opener: Option<PathBuf>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            key: Key::User,
            workspace: None,
            opener: None,
        }
    }
}

impl Tenant {
    pub(super) fn new(server: Weak<Server>, key: Key, workspace: Option<PathBuf>) -> Arc<Self> {
        let workspace = workspace.filter(|_| key != Key::User);
        let state = State {
            key,
            workspace,
            opener: None,
        };
        Arc::new(Self {
            server,
            state: Mutex::new(state),
        })
    }

    pub(super) fn key(&self) -> Key {
        self.state().key.clone()
    }

    pub(super) fn workspace(&self) -> Option<PathBuf> {
        self.state().workspace.clone()
    }

    pub(super) fn opened_for(&self, workspace: Option<PathBuf>) {
        self.state().opener = workspace;
    }

    /// From now on it is that workspace's.
    pub(super) fn moves_to(&self, workspace: PathBuf) {
        let mut state = self.state();
        state.key = Key::Workspace(workspace.clone());
        state.workspace = Some(workspace);
    }

    /// The server asks, while a call from `caller` is on its way, if one is. The workspace to tell it of.
    pub(super) fn asks_for_roots(&self, caller: Option<PathBuf>) -> Option<PathBuf> {
        if let Some(server) = self.server.upgrade() {
            let opener = self.state().opener.clone();
            server.asked_for_roots(self, caller.clone().or(opener));
        }
        caller.or_else(|| self.workspace())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
