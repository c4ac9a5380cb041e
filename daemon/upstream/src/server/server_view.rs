//! Snapshots of a server's state for readers.
//!
//! Invariant: a view is a copy, and readers block nothing.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{Server, slot::SlotView, unavailable::failed_earlier_fault};
use crate::link::{Repairs, SandboxState, without_output};

use mux_catalog::{
    ServerWarning,
    ServerWarningCode::{DiscardedFiles, Instructions, LeftOut, Other, Repaired, SecretResult},
    ToolSet,
};
use mux_messages::{ServerCause, ServerInfo, ServerState, SessionInfo, millis};
use mux_settings::{EntryError, ShareMode, StartMode};
use mux_wire::Fault;

/// A snapshot of a server over all its sessions.
#[derive(Clone, Debug, Default)]
pub struct ServerView {
    /// The public part, without the facts of its definition and its login. The reasons may quote the server's
    /// output.
    pub info: ServerInfo,
    /// The tools of the latest session, which may have been opened by another daemon.
    pub tools: Option<Arc<ToolSet>>,
    /// Warnings for the user.
    pub warnings: Vec<ServerWarning>,
    pub sandbox: SandboxState,
}

/// The reason a server cannot be used, if the remedy depends on the reason.
fn cause_of_entry_error(error: &EntryError) -> Option<ServerCause> {
    let name = |name: &str| name.to_owned();
    Some(match error {
        EntryError::UnsetVariable(unset) => ServerCause::UnsetVariable { name: name(unset) },
        EntryError::UnsetSecret(unset) => ServerCause::UnsetSecret { name: name(unset) },
        EntryError::UnreadableSecret { name: secret, .. } => {
            ServerCause::UnreadableSecret { name: name(secret) }
        }
        EntryError::Invalid(_) => return None,
    })
}

impl Server {
    /// A snapshot of each slot.
    pub fn slot_views(&self) -> Vec<SlotView> {
        self.all_slots().iter().map(|slot| slot.view()).collect()
    }

    /// How long a list request waits for this server, if it waits `patience` for a server that it starts. The wait is
    /// shorter if the start began earlier, and zero if the last start failed.
    pub fn list_patience(&self, patience: Duration) -> Duration {
        let views = self.slot_views();
        let best = views.iter().min_by_key(|view| view.state);
        match best.map(|view| (view.state, view.starting_for)) {
            Some((ServerState::Starting, Some(elapsed))) => patience.saturating_sub(elapsed),
            Some((ServerState::Failed | ServerState::BackingOff, _)) => Duration::ZERO,
            _ => patience,
        }
    }

    /// The reason the server has no session, if its last start failed.
    pub fn start_failure(&self) -> Option<Fault> {
        let views = self.slot_views();
        let best = views.iter().min_by_key(|view| view.state)?;
        match best.state {
            ServerState::Failed | ServerState::BackingOff => {
                let reason = best.reason.as_deref().unwrap_or("its last start failed");
                let reason = if best.quotes_calls {
                    without_output(reason)
                } else {
                    reason
                };
                Some(failed_earlier_fault(self.name(), reason))
            }
            _ => None,
        }
    }

    pub fn view(&self) -> ServerView {
        let Some(server_shared) = &self.server_shared else {
            let error = self.definition().as_ref().err();
            let info = ServerInfo {
                name: self.name.clone(),
                state: ServerState::Broken,
                reason: error.map(ToString::to_string),
                cause: error.and_then(cause_of_entry_error),
                ..ServerInfo::default()
            };
            return ServerView {
                info,
                ..ServerView::default()
            };
        };
        let facts = server_shared.facts();
        let shared = server_shared.sharing.current_sharing();
        let mut slots = self.all_slots();
        slots.sort_by_key(|slot| slot.scope.key());
        let views: Vec<SlotView> = slots.iter().map(|slot| slot.view()).collect();
        let best = views.iter().min_by_key(|view| view.state).cloned();
        let best = best.unwrap_or_default();
        let several = views.len() > 1 || shared.share != ShareMode::User;
        let is_eager = server_shared.definition.start == StartMode::Eager;
        let eager_note = is_eager && shared.share != ShareMode::User;
        let eager_note = eager_note.then(|| {
            let key_kind = shared.share;
            format!(
                "start = \"eager\" has no effect yet: it has a session for each {key_kind}, and none has connected"
            )
        });
        let list_warnings = server_shared.list_warnings().into_iter();
        let repairs = server_shared.repairs();
        let repairs = repairs.as_deref();
        let secret_results = server_shared
            .secret_results
            .warning(&server_shared.definition);
        let sessions = views.into_iter().filter(|_| several);
        let sessions = sessions.map(|view| SessionInfo {
            of: view.of,
            state: view.state,
            reason: view.reason,
            pid: view.pid,
        });
        let info = ServerInfo {
            name: self.name.clone(),
            state: best.state,
            reason: best.reason,
            detail: best.detail,
            cause: best.cause,
            pid: best.pid,
            retry_in_ms: best.retry_in.map(millis),
            has_log: server_shared.existing_log().is_some(),
            transport: facts.transport.map(str::to_owned),
            identity: facts.identity,
            protocol: facts.protocol,
            start_ms: facts.start_time.map(millis),
            starts: facts.starts,
            tools: facts.tools.as_ref().map(|tools| tools.len()),
            calls: server_shared.calls.load(Ordering::Relaxed),
            in_flight: server_shared.in_flight.load(Ordering::Relaxed),
            share: Some(shared.share.to_string()),
            share_reason: shared.reason.map(str::to_owned),
            sessions: sessions.collect(),
            ..ServerInfo::default()
        };
        ServerView {
            info,
            tools: facts.tools,
            sandbox: server_shared.sandbox_state(),
            warnings: [
                (Other, server_shared.sharing.sharing_warning()),
                (Other, eager_note.filter(|_| slots.is_empty())),
            ]
            .into_iter()
            .chain(list_warnings.map(|text| (Instructions, Some(text))))
            .chain([
                (SecretResult, secret_results),
                (DiscardedFiles, server_shared.discarded_files_warning()),
                (LeftOut, repairs.and_then(Repairs::left_out_warning)),
                (Repaired, repairs.and_then(Repairs::remark)),
            ])
            .filter_map(|(code, text)| Some(code.warning(text?)))
            .collect(),
        }
    }
}
