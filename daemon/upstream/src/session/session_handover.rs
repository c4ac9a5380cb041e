//! The state of a session that one daemon hands to the next.
//!
//! Invariant: no request is in flight on a session that is handed over, and every unread byte from the server goes with
//! it.

use std::path::{Path, PathBuf};

use rmcp::model::ServerPeerInfo;
use serde::{Deserialize, Serialize};

use crate::{link::TERMINATION_GRACE_PERIOD, sharing::SessionKey};
use mux_catalog::ProtocolEra;
use mux_keeper::KeptChild;
use mux_settings::{ServerDefinition, ServerEndpoint};
use mux_text::digest::Digest;

/// Identifies the slot of a session that can be handed over: the user's or a workspace's. Clients and runs have other
/// ids in another daemon.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct HandoverKey {
    /// Distinguishes the server from a server of the same name in another project.
    pub server: String,
    pub workspace: Option<PathBuf>,
}

impl HandoverKey {
    pub(crate) fn of(server: &str, key: &SessionKey) -> Option<Self> {
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

    pub(crate) fn key(&self) -> SessionKey {
        match &self.workspace {
            None => SessionKey::User,
            Some(workspace) => SessionKey::Workspace(workspace.clone()),
        }
    }
}

/// The state that the next daemon needs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HandoverState {
    pub place: HandoverKey,
    /// The fingerprint of the definition from which the process was started.
    pub started_as: String,
    pub pid: u32,
    /// The keeper's id of the process.
    pub id: u64,
    pub modern: bool,
    /// The server's info from the handshake.
    pub server: ServerPeerInfo,
    /// The next request id: neither this nor a greater id has been used.
    pub next: i64,
    /// Output that has not been parsed yet.
    pub unread: Vec<u8>,
    /// Set if the server has asked for roots.
    pub asks_for_roots: bool,
    /// The layers of the sandbox around its process. Earlier versions of the daemon do not name them.
    #[serde(default)]
    pub sandbox_layers: Vec<String>,
}

/// A session that was handed over, with its process.
#[derive(Debug)]
pub struct HandedSession {
    pub state: HandoverState,
    /// Holds the pipes in the daemon that takes it over.
    pub child: KeptChild,
}

impl HandoverState {
    pub(crate) fn era(&self) -> ProtocolEra {
        if self.modern {
            ProtocolEra::Modern
        } else {
            ProtocolEra::Legacy
        }
    }
}

impl HandedSession {
    /// Stops the process of a session that no slot takes.
    pub(crate) fn stop_process(self) {
        tokio::spawn(self.child.stop(TERMINATION_GRACE_PERIOD));
    }
}

/// The fingerprint of a process's definition. `None` if the server is not a process.
pub(crate) fn process_fingerprint(definition: &ServerDefinition) -> Option<String> {
    let ServerEndpoint::Process(process) = &definition.endpoint else {
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
