//! Snapshots of a server's state for readers.
//!
//! Invariant: a view is a copy, and readers block nothing.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    Server,
    slot::{SlotView, UpstreamState},
    unavailable::failed_earlier_fault,
};
use crate::link::{Repairs, SandboxState, without_output};

use mux_catalog::{
    ServerWarning,
    ServerWarningCode::{DiscardedFiles, Instructions, LeftOut, Other, Repaired, SecretResult},
    ToolSet,
};
pub use mux_messages::ServerCause as UnavailableCause;
use mux_settings::{EntryError, ShareMode, StartMode};
use mux_wire::Fault;

/// A snapshot of a server over all its sessions.
#[derive(Clone, Debug, Default)]
pub struct ServerView {
    pub state: UpstreamState,
    /// The reason for the state, if it is not obvious.
    pub reason: Option<String>,
    /// The text shown with the reason to a user who asks for more detail.
    pub detail: Option<String>,
    pub cause: Option<UnavailableCause>,
    pub pid: Option<u32>,
    /// The transport of the latest session.
    pub transport: Option<&'static str>,
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Option<Duration>,
    pub starts: u64,
    /// The tools of the latest session, which may have been opened by another daemon.
    pub tools: Option<Arc<ToolSet>>,
    pub calls: u64,
    pub in_flight: u64,
    pub share: Option<ShareMode>,
    /// The reason for the sharing, if `share` is not configured.
    pub share_reason: Option<&'static str>,
    /// The sessions, if there may be several.
    pub sessions: Vec<SlotView>,
    /// The time until the next start attempt.
    pub retry_in: Option<Duration>,
    /// Warnings for the user.
    pub warnings: Vec<ServerWarning>,
    /// Set if the server has written a log.
    pub has_log: bool,
    pub sandbox: SandboxState,
}

/// The reason a server cannot be used, if the remedy depends on the reason.
fn cause_of_entry_error(error: &EntryError) -> Option<UnavailableCause> {
    let name = |name: &str| name.to_owned();
    Some(match error {
        EntryError::UnsetVariable(unset) => UnavailableCause::UnsetVariable { name: name(unset) },
        EntryError::UnsetSecret(unset) => UnavailableCause::UnsetSecret { name: name(unset) },
        EntryError::UnreadableSecret { name: secret, .. } => {
            UnavailableCause::UnreadableSecret { name: name(secret) }
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
            Some((UpstreamState::Starting, Some(elapsed))) => patience.saturating_sub(elapsed),
            Some((UpstreamState::Failed | UpstreamState::BackingOff, _)) => Duration::ZERO,
            _ => patience,
        }
    }

    /// The reason the server has no session, if its last start failed.
    pub fn start_failure(&self) -> Option<Fault> {
        let views = self.slot_views();
        let best = views.iter().min_by_key(|view| view.state)?;
        match best.state {
            UpstreamState::Failed | UpstreamState::BackingOff => {
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
            return ServerView {
                state: UpstreamState::Broken,
                reason: error.map(ToString::to_string),
                cause: error.and_then(cause_of_entry_error),
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
        ServerView {
            state: best.state,
            reason: best.reason,
            detail: best.detail,
            cause: best.cause,
            pid: best.pid,
            retry_in: best.retry_in,
            has_log: server_shared.existing_log().is_some(),
            sandbox: server_shared.sandbox_state(),
            transport: facts.transport,
            identity: facts.identity,
            protocol: facts.protocol,
            start_time: facts.start_time,
            starts: facts.starts,
            tools: facts.tools,
            calls: server_shared.calls.load(Ordering::Relaxed),
            in_flight: server_shared.in_flight.load(Ordering::Relaxed),
            share: Some(shared.share),
            share_reason: shared.reason,
            sessions: if several { views } else { Vec::new() },
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
