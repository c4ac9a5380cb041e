//! A session that one daemon hands to the next: what is known of it, and its pipes.
//!
//! Invariant: nothing is on its way over a session that is handed over, and every byte that the server has written
//! goes with it.

use std::path::{Path, PathBuf};

use rmcp::model::ServerPeerInfo;
use serde::{Deserialize, Serialize};
use tokio::net::unix::pipe;

use super::{session_key::SessionKey, slot::Slot, stdio_transport::TransportPipes};
use mux_catalog::ProtocolEra;
use mux_keeper::KeptChild;
use mux_settings::{ServerDefinition, ServerEndpoint};
use mux_text::digest::Digest;

/// The place of a session that can have another daemon: everybody's, or that of a workspace. Clients and runs have
/// other numbers there.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct HandoverKey {
    /// What tells the server apart from one of the same name in another project.
    pub server: String,
    pub workspace: Option<PathBuf>,
}

impl HandoverKey {
    pub(super) fn of(server: &str, key: &SessionKey) -> Option<Self> {
        let workspace = match key {
            SessionKey::User => None,
            SessionKey::Workspace(workspace) => Some(workspace.clone()),
            SessionKey::Client(_) | SessionKey::Run(_) => return None,
        };
        Some(Self {
            server: server.to_owned(),
            workspace,
        })
    }

    pub(super) fn key(&self) -> SessionKey {
        match &self.workspace {
            None => SessionKey::User,
            Some(workspace) => SessionKey::Workspace(workspace.clone()),
        }
    }
}

/// What the next daemon has to know.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HandoverState {
    pub place: HandoverKey,
    /// Names how the process was started.
    pub started_as: String,
    pub pid: u32,
    /// By which the keeper knows it.
    pub id: u64,
    pub modern: bool,
    /// What it said when the session began.
    pub server: ServerPeerInfo,
    /// No request has had this number yet, nor one above it.
    pub next: i64,
    /// What it has written and nobody has read.
    pub unread: Vec<u8>,
    /// It has asked for roots.
    pub asks_for_roots: bool,
}

/// With its process.
#[derive(Debug)]
pub struct HandedSession {
    pub state: HandoverState,
    /// Has its pipes in the daemon that takes it over.
    pub child: KeptChild,
}

impl HandoverState {
    pub(super) fn era(&self) -> ProtocolEra {
        match self.modern {
            true => ProtocolEra::Modern,
            false => ProtocolEra::Legacy,
        }
    }
}

impl HandedSession {
    /// Nobody wants it: it ends as any server does.
    pub(super) fn stop_process(self) {
        tokio::spawn(self.child.stop(super::connect::TERMINATION_GRACE_PERIOD));
    }
}

/// What is left of a session whose messages go over elsewhere.
#[derive(Debug)]
pub(super) struct DetachedSession {
    pub(super) child: KeptChild,
    pub(super) pipes: TransportPipes<pipe::Receiver, pipe::Sender>,
    pub(super) stderr: pipe::Receiver,
}

/// Names how a process is started; none for what is none.
pub(super) fn process_fingerprint(definition: &ServerDefinition) -> Option<String> {
    let ServerEndpoint::Process(process) = &definition.link else {
        return None;
    };
    let path = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
    let mut digest = Digest::new().text(&process.command);
    digest = digest.bytes(&process.args.len().to_le_bytes());
    for arg in &process.args {
        digest = digest.text(arg.expose());
    }
    for (name, value) in &process.env {
        digest = digest.text(name).text(value.expose());
    }
    let key = digest.bytes(&path(&process.cwd)).key();
    Some(blake3::Hash::from(key).to_hex().to_string())
}

/// A session's place that may go over, and how.
pub struct OutgoingSession {
    pub place: HandoverKey,
    pub(super) slot: std::sync::Arc<Slot>,
}

impl OutgoingSession {
    /// Resolves when nothing is on its way over it, and no run that lives has used it.
    pub async fn wait_until_free(&self) {
        self.slot.wait_until_unused().await;
    }

    /// Takes the session out of this daemon. None if there is none any more, or it cannot be done: then it ends.
    pub async fn detach(&self) -> Option<(HandoverState, KeptChild, [std::os::fd::OwnedFd; 3])> {
        self.slot.detach_session(&self.place).await
    }
}
