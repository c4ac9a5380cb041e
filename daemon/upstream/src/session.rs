//! One open session, shared by many callers.
//!
//! Invariant: a call is sent at most once. If the session ends before the answer, the outcome is unknown, and the
//! caller gets an error that says so.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{CallToolRequest, CallToolRequestParams},
    service::Peer,
};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    back_channel::NoBackChannel,
    input_required::{InputAnswers, RoundBudget},
    link::AuthChallenge,
    list_expiry::ListExpiry,
    notification_router::NotificationRouter,
    raw_message,
    request::RequestOptions,
    server_catalog_entry::ServerCatalogEntry,
    server_requests::ServerRequests,
    session_handover::DetachedSession,
    session_health::SessionHealth,
    subscriptions_listen::SubscriptionListenHandle,
};
use mux_catalog::{ProtocolEra, ToolSet};

/// How long the last output of a process may take to arrive after its exit.
pub(super) const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum number of bytes kept of a server's identity, errors and cause of its end.
const MAX_SERVER_TEXT_BYTES: usize = 4 << 10;

/// A session that is open, or has been.
#[derive(Debug)]
pub struct Session {
    pub(super) me: Weak<Self>,
    pub(super) offer: ServerCatalogEntry,
    pub(super) peer: Peer<RoleClient>,
    pub(super) era: ProtocolEra,
    /// The era that the server's entry sets.
    pub(super) chosen_era: Option<ProtocolEra>,
    pub(super) tools: ArcSwap<ToolSet>,
    /// The expiry of the list of tools.
    pub(super) lifetime: ListExpiry,
    pub(super) asks: Arc<ServerRequests>,
    /// The task for `subscriptions/listen`, in the modern era.
    pub(super) listening: Option<SubscriptionListenHandle>,
    pub(super) ears: Arc<NotificationRouter>,
    /// `None` for a server that is not a process.
    pub pid: Option<u32>,
    pub transport: &'static str,
    pub(super) health: SessionHealth,
    /// What the server calls itself, with its version.
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Duration,
    pub(super) calls: TaskTracker,
    /// Cancelled when the session takes no more calls; its messages are still handled.
    pub(super) shut: CancellationToken,
    /// Cancelled when the session takes no more calls because it is handed over, or reopened in the legacy era.
    pub(super) leaving: CancellationToken,
    /// Asks the watching task to detach the session from this daemon.
    pub(super) parting: mpsc::Sender<oneshot::Sender<Option<DetachedSession>>>,
    /// Cancelled when the session is asked to end.
    pub(super) closing: CancellationToken,
    /// Cancelled when the session has ended and `cause` is set.
    pub(super) known: CancellationToken,
    /// Cancelled when the session has ended and its process is gone.
    pub(super) ended: CancellationToken,
    /// Why the session ended; set once.
    pub(super) cause: Mutex<Option<String>>,
}

/// Why a call has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// Not sent.
    #[error("the session had ended before the call was sent")]
    NotSent,
    /// Sent, with an unknown outcome.
    #[error("no answer came: {0}")]
    Unknown(String),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// Refused: the user has to sign in first.
    #[error("{0}")]
    SignIn(AuthChallenge),
    /// Not sent: a credential is missing or unusable.
    #[error("{why}")]
    Credential { why: String, fix: String },
    /// Not sent: the target is an address that the user has not allowed.
    #[error("{why}")]
    Forbidden { why: String, fix: String },
    /// Not sent: the arguments do not form a request.
    #[error("{0}")]
    Unfit(String),
    /// Refused by the server before processing.
    #[error("{0}")]
    Declined(String),
    /// The total time limit was exceeded.
    #[error("longer than {0:?} in all")]
    TooLong(Duration),
    /// The server answered with a protocol error.
    #[error("{message}")]
    Refused {
        code: i32,
        message: String,
        data: Option<Value>,
    },
    /// The tool tried to send a request, which its server cannot do over this session.
    #[error("{}", .0.message)]
    NoBackChannel(Box<NoBackChannel>),
    /// The server's answer exceeds a limit.
    #[error("{0}")]
    TooMuch(String),
    #[error("{0}")]
    Protocol(String),
}

impl Session {
    /// The tools as last listed. If the list has expired, a refresh starts in the background.
    pub fn tools(&self) -> Arc<ToolSet> {
        if self.lifetime.claim_expired() {
            self.ears.tools_changed();
        }
        self.tools.load_full()
    }

    /// The tools, including changes that the server has announced before this call.
    pub async fn current_tools(&self) -> Arc<ToolSet> {
        self.ears.tools.wait_until_current().await;
        self.tools()
    }

    /// Requests a new list of tools; [`Self::current_tools`] waits for it.
    pub fn request_tools_refresh(&self) {
        self.ears.tools.announce_change();
    }

    pub fn is_open(&self) -> bool {
        !self.shut.is_cancelled()
            && !self.leaving.is_cancelled()
            && !self.known.is_cancelled()
            && !self.closing.is_cancelled()
            && !self.peer.is_transport_closed()
    }

    /// Whether it is a remote session that takes no more calls but has not ended: calls in flight end by their own
    /// limits.
    pub(super) fn is_draining(&self) -> bool {
        self.pid.is_none() && self.shut.is_cancelled() && !self.closing.is_cancelled()
    }

    /// Resolves when the session has ended and its process is gone, with the cause.
    pub(super) async fn wait_ended(&self) -> String {
        self.ended.cancelled().await;
        self.cause()
    }

    pub(super) fn cause(&self) -> String {
        let cause = self.cause.lock();
        cause
            .clone()
            .unwrap_or_else(|| "the session was closed".into())
    }

    /// Sends one call. Dropping the future cancels it at the server.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        sending: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        // Counts as in flight between two of its requests, too.
        let _counted = self.calls.token();
        let begun = Instant::now();
        // Time spent waiting for a user does not make the server slow.
        let stood = || {
            sending
                .caller
                .map_or(Duration::ZERO, |caller| caller.clock.paused_for())
        };
        let before = stood();
        let outcome = self.call_by_era(tool, arguments, sending).await;
        let asking = stood().saturating_sub(before);
        self.health
            .pace
            .record_call_duration(tool, begun.elapsed().saturating_sub(asking));
        let result = tool_result(outcome?)?;
        self.health.record_answer();
        Ok(result)
    }

    /// Calls in the way of the era: as a task, in several rounds, or in one request.
    async fn call_by_era(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        sending: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let budget = RoundBudget::of(sending);
        let as_task = self.era == ProtocolEra::Legacy && {
            let tools = self.tools.load();
            let called = tools.find(tool);
            called.is_some_and(|tool| tool.needs_task)
        };
        match as_task {
            true => self.call_as_task(tool, arguments, &budget, sending).await,
            false => {
                let request = |given: InputAnswers| {
                    let mut params = CallToolRequestParams::new(tool.to_owned());
                    params.arguments = Some(arguments.clone());
                    params.input_responses = given.responses;
                    params.request_state = given.state;
                    CallToolRequest::new(params).into()
                };
                let result = self.request_in_rounds(request, &budget, sending).await?;
                match self.era == ProtocolEra::Modern && result["resultType"] == "task" {
                    true => self.follow_task(&result, &budget, sending).await,
                    false => Ok(result),
                }
            }
        }
    }

    /// Resolves when no call is in flight.
    pub(super) async fn wait_until_idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Detaches the session from this daemon once nothing is in flight. `None` if that fails: then the session ends.
    pub(super) async fn detach_transport(&self) -> Option<DetachedSession> {
        self.leaving.cancel();
        self.wait_until_idle().await;
        // A request of the server would stay unanswered forever.
        if timeout(FINAL_OUTPUT_TIMEOUT, self.ears.asked.none())
            .await
            .is_err()
        {
            self.close("it could not be handed to the next muxd: one of its questions is open");
            return None;
        }
        if let Some(listening) = &self.listening {
            listening.stop_listening().await;
        }
        let (reply, parted) = oneshot::channel();
        self.parting.send(reply).await.ok()?;
        parted.await.ok()?
    }

    /// Closes the session; the watching task stops the process.
    pub(super) fn close(&self, cause: &str) {
        self.set_cause(cause.to_owned());
        self.closing.cancel();
    }

    pub(super) fn set_cause(&self, cause: String) {
        let mut slot = self.cause.lock();
        slot.get_or_insert_with(|| truncate_server_text(cause));
    }
}

/// Truncates a server's text to the number of bytes that is kept.
pub(super) fn truncate_server_text(mut words: String) -> String {
    words.truncate(words.floor_char_boundary(MAX_SERVER_TEXT_BYTES));
    words
}

/// Checks a tool result: `content` may be missing if another member is present.
fn tool_result(result: Value) -> Result<Value, CallError> {
    let mut result = raw_message::strip_modern_fields(result);
    let is_one = ["content", "structuredContent", "isError"]
        .iter()
        .any(|name| result.get(name).is_some());
    if is_one && result.get("content").is_none() {
        result["content"] = json!([]);
    }
    match is_one && result["content"].is_array() {
        true => Ok(result),
        false => Err(CallError::Protocol("it sent an invalid tool result".into())),
    }
}
