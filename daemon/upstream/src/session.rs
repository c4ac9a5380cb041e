//! One open session, shared by many callers.
//!
//! Invariant: a call is sent at most once. If the session ends before the answer, the outcome is unknown, and the
//! caller gets an error that says so.

mod back_channel;
mod connect;
mod handshake;
mod incoming_sessions;
mod input_required;
mod latency_baseline;
mod liveness;
mod lost_session;
mod request;
mod resources_and_prompts;
mod session_handover;
mod session_health;
mod session_watch;
mod tasks;
mod tool_call;

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rmcp::{RoleClient, service::Peer};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::session_health::SessionHealth;
pub(crate) use self::{
    connect::SessionInputs, liveness::watch_liveness, session_handover::process_fingerprint,
};
pub use self::{
    incoming_sessions::IncomingSessions,
    request::RequestOptions,
    resources_and_prompts::ContentRequest,
    session_handover::{HandedSession, HandoverKey, HandoverState},
};
use crate::{
    link::{DetachedProcess, FINAL_OUTPUT_TIMEOUT, LastLines, Repairs, without_output},
    listing::{ListExpiry, ServerCatalogEntry},
    server_messages::{NotificationRouter, ServerRequests, SubscriptionListenHandle},
};
use mux_caller::{Caller, RunAccess};
use mux_catalog::{ProtocolEra, ToolSet};

/// The maximum number of bytes kept of a server's identity, errors and cause of its end.
const MAX_SERVER_TEXT_BYTES: usize = 4 << 10;

/// A session that is open, or has been.
#[derive(Debug)]
pub struct Session {
    me: Weak<Self>,
    catalog_entry: ServerCatalogEntry,
    /// The repairs in the server's messages.
    pub(crate) repairs: Arc<Repairs>,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) era: ProtocolEra,
    /// The era that the server's entry sets.
    configured_era: Option<ProtocolEra>,
    tools: ArcSwap<ToolSet>,
    /// The expiry of the tool list.
    tools_expiry: ListExpiry,
    server_requests: Arc<ServerRequests>,
    /// The task for `subscriptions/listen`, in the modern era.
    listening: Option<SubscriptionListenHandle>,
    router: Arc<NotificationRouter>,
    /// `None` for a server that is not a process.
    pub pid: Option<u32>,
    /// The layers of the sandbox around its process. Empty without a sandbox.
    pub(crate) sandbox_layers: Vec<String>,
    pub transport: &'static str,
    health: SessionHealth,
    /// The server's own name and version.
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Duration,
    calls: TaskTracker,
    /// Cancelled when the session takes no more calls. Its messages are still handled.
    draining: CancellationToken,
    /// Cancelled when the session takes no more calls because it is handed over, or reopened in the legacy era.
    retired: CancellationToken,
    /// Asks the watching task to detach the session from this daemon.
    detach_requests: mpsc::Sender<oneshot::Sender<Option<DetachedProcess>>>,
    /// Cancelled when the session is asked to end.
    closing: CancellationToken,
    /// Cancelled when the session has ended and `cause` is set.
    ended: CancellationToken,
    /// Cancelled when the session has ended and its process is gone.
    stopped: CancellationToken,
    /// The cause of the session's end. Set once.
    cause: Mutex<Option<String>>,
    /// The server's last lines on its standard error.
    last_lines: LastLines,
}

impl Session {
    /// The tools as last listed. If the list has expired, a refresh starts in the background.
    pub fn tools(&self) -> Arc<ToolSet> {
        if self.tools_expiry.claim_expired() {
            self.request_tools_refresh();
        }
        self.tools.load_full()
    }

    /// The tools, including changes that the server has announced before this call.
    pub async fn current_tools(&self) -> Arc<ToolSet> {
        self.router.tools_refresh.wait_until_current().await;
        self.tools()
    }

    /// Requests a new tool list, for which [`Self::current_tools`] waits.
    pub fn request_tools_refresh(&self) {
        self.router.tools_refresh.request_now();
    }

    pub fn is_open(&self) -> bool {
        !self.draining.is_cancelled()
            && !self.retired.is_cancelled()
            && !self.ended.is_cancelled()
            && !self.closing.is_cancelled()
            && !self.peer.is_transport_closed()
    }

    /// True for a remote session that takes no more calls but has not ended: calls in flight end by their own limits.
    pub(crate) fn is_draining(&self) -> bool {
        self.pid.is_none() && self.draining.is_cancelled() && !self.closing.is_cancelled()
    }

    /// True if the session was asked to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// True if the session has answered a call.
    pub(crate) fn has_answered(&self) -> bool {
        self.health.has_answered()
    }

    /// The reason the session is degraded, if it is.
    pub(crate) fn degraded_reason(&self) -> Option<String> {
        let stray_progress = self.router.in_flight.stray_progress_count();
        self.health.degraded_reason(stray_progress)
    }

    /// The reason its tools cannot be listed.
    pub(crate) fn listing_error(&self) -> Option<String> {
        self.health.listing_error()
    }

    /// Resolves when the session has ended and its process is gone, with the cause.
    pub(crate) async fn wait_stopped(&self) -> String {
        self.stopped.cancelled().await;
        self.cause()
    }

    pub(crate) fn cause(&self) -> String {
        let cause = self.cause.lock();
        cause
            .clone()
            .unwrap_or_else(|| "the session was closed".into())
    }

    /// The cause of the end for the caller of a request that was lost with the session: with only the server's output
    /// about this caller's request, unless the caller is the user.
    fn cause_for(&self, caller: Option<&Arc<Caller>>, own_output_since: Option<Instant>) -> String {
        let whole = self.cause();
        let is_user = caller
            .is_none_or(|caller| RunAccess::of(&caller.origin, caller.origin.for_agent).is_user());
        let own = without_output(&whole);
        if is_user || own.len() == whole.len() {
            return whole;
        }
        let told = match own_output_since {
            Some(began) => self.last_lines.append_lines_since(own, began),
            None => own.to_owned(),
        };
        if told.len() > own.len() {
            return told;
        }
        format!(
            "{own}; the user finds its last output with `mux servers logs {}`",
            self.catalog_entry.name
        )
    }

    /// Resolves when no call is in flight.
    pub(crate) async fn wait_until_idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Detaches the session from this daemon once nothing is in flight. `None` if that fails, and then the session
    /// ends.
    pub(crate) async fn detach_transport(&self) -> Option<DetachedProcess> {
        self.retired.cancel();
        self.wait_until_idle().await;
        // A server's request would otherwise stay unanswered forever.
        if timeout(
            FINAL_OUTPUT_TIMEOUT,
            self.router.unanswered.wait_until_empty(),
        )
        .await
        .is_err()
        {
            self.close("it could not be handed to the next muxd: one of its questions is open");
            return None;
        }
        if let Some(listening) = &self.listening {
            listening.stop_listening().await;
        }
        let (reply, detached) = oneshot::channel();
        self.detach_requests.send(reply).await.ok()?;
        detached.await.ok()?
    }

    /// Closes the session. The watching task stops the process.
    pub(crate) fn close(&self, cause: &str) {
        self.set_cause(cause.to_owned());
        self.closing.cancel();
    }

    fn set_cause(&self, cause: String) {
        let mut slot = self.cause.lock();
        slot.get_or_insert_with(|| truncate_server_text(cause));
    }
}

/// Truncates a server's text to the number of bytes that are kept.
fn truncate_server_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_SERVER_TEXT_BYTES));
    text
}
