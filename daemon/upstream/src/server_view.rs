//! What can be seen of a server from outside.
//!
//! Invariant: a view is a copy. Nobody who looks holds anything up.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{server::Server, session_key::share_name};

use mux_catalog::ToolSet;
use mux_settings::ShareMode;

/// A server, over all its sessions.
#[derive(Clone, Debug, Default)]
pub struct ServerView {
    pub state: UpstreamState,
    /// Why, where that is not obvious.
    pub reason: Option<String>,
    pub pid: Option<u32>,
    /// Of the latest session.
    pub transport: Option<&'static str>,
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Option<Duration>,
    pub starts: u64,
    /// Of the latest session, which may have been another daemon's.
    pub tools: Option<Arc<ToolSet>>,
    pub calls: u64,
    pub in_flight: u64,
    pub share: Option<ShareMode>,
    /// Where nobody has said so.
    pub share_reason: Option<&'static str>,
    /// Where there may be several.
    pub sessions: Vec<SlotView>,
    /// Until it is tried again.
    pub retry_in: Option<Duration>,
    /// What a user should look at.
    pub warnings: Vec<String>,
}

/// One session's place.
#[derive(Clone, Debug, Default)]
pub struct SlotView {
    pub of: String,
    pub state: UpstreamState,
    pub reason: Option<String>,
    pub pid: Option<u32>,
    pub retry_in: Option<Duration>,
}

/// In the order of how much somebody who wants to call has to wait.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum UpstreamState {
    Ready,
    /// It answers, but not as it should.
    Degraded,
    Starting,
    /// Not started yet, or closed.
    #[default]
    Cold,
    /// The last start failed; the next call tries again.
    Failed,
    /// It failed so often that it is left alone for a while.
    BackingOff,
    /// Its configuration cannot be used.
    Broken,
}

impl Server {
    /// Each place by itself.
    pub fn slot_views(&self) -> Vec<SlotView> {
        self.all_slots().iter().map(|slot| slot.view()).collect()
    }

    pub fn view(&self) -> ServerView {
        let Some(family) = &self.family else {
            return ServerView {
                state: UpstreamState::Broken,
                reason: self.definition().as_ref().err().cloned(),
                ..ServerView::default()
            };
        };
        let (facts, shared) = (family.facts(), family.sharing.current_sharing());
        let mut keyed = self.all_slots();
        keyed.sort_by_key(|slot| slot.tenant.key());
        let views: Vec<SlotView> = keyed.iter().map(|slot| slot.view()).collect();
        let best = views.iter().min_by_key(|view| view.state).cloned();
        let best = best.unwrap_or_default();
        let several = views.len() > 1 || shared.share != ShareMode::User;
        let uneager = family.definition.eager && shared.share != ShareMode::User;
        let uneager = uneager.then(|| {
            let whom = share_name(shared.share);
            format!(
                "start = \"eager\" waits: it has a session for each {whom}, and nobody has come"
            )
        });
        ServerView {
            state: best.state,
            reason: best.reason,
            pid: best.pid,
            retry_in: best.retry_in,
            transport: facts.transport,
            identity: facts.identity,
            protocol: facts.protocol,
            start_time: facts.start_time,
            starts: facts.starts,
            tools: facts.tools,
            calls: family.calls.load(Ordering::Relaxed),
            in_flight: family.in_flight.load(Ordering::Relaxed),
            share: Some(shared.share),
            share_reason: shared.reason,
            sessions: if several { views } else { Vec::new() },
            warnings: family
                .sharing
                .sharing_warning()
                .into_iter()
                .chain(uneager.filter(|_| keyed.is_empty()))
                .collect(),
        }
    }
}
