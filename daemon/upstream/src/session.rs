//! One open session: many callers at once, each call sent once.
//!
//! Invariant: a call is sent at most once. When the session ends before the answer came, nobody can
//! know whether it happened, and the caller is told so.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
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

/// How long the last words of a process that has ended may take to arrive.
pub(super) const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// What is kept of what a server says of itself and of its end, in bytes.
const MAX_SERVER_TEXT_BYTES: usize = 4 << 10;

/// A session that is open, or was.
#[derive(Debug)]
pub struct Session {
    pub(super) me: Weak<Self>,
    pub(super) offer: ServerCatalogEntry,
    pub(super) peer: Peer<RoleClient>,
    pub(super) era: ProtocolEra,
    /// The one that the server's entry names.
    pub(super) chosen_era: Option<ProtocolEra>,
    pub(super) tools: ArcSwap<ToolSet>,
    /// Of that list.
    pub(super) lifetime: ListExpiry,
    pub(super) asks: Arc<ServerRequests>,
    /// To the task that listens, in the new era.
    pub(super) listening: Option<SubscriptionListenHandle>,
    pub(super) ears: Arc<NotificationRouter>,
    /// None for a server that runs elsewhere.
    pub pid: Option<u32>,
    pub transport: &'static str,
    pub(super) health: SessionHealth,
    /// What the server calls itself, with its version.
    pub identity: Option<String>,
    pub protocol: Option<String>,
    pub start_time: Duration,
    pub(super) calls: TaskTracker,
    /// Takes no more calls; what it still says is heard.
    pub(super) shut: CancellationToken,
    /// Takes no more calls, since it goes over to the next daemon, or makes room for a session of the other era.
    pub(super) leaving: CancellationToken,
    /// To the task that watches it: it is to be taken out of this daemon.
    pub(super) parting: mpsc::Sender<oneshot::Sender<Option<DetachedSession>>>,
    /// Asked to end.
    pub(super) closing: CancellationToken,
    /// Over, and `cause` says why.
    pub(super) known: CancellationToken,
    /// Over, and the process is gone.
    pub(super) ended: CancellationToken,
    /// Why it ended; guarded for the one write.
    pub(super) cause: Mutex<Option<String>>,
}

/// Why a call has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// It never left the daemon.
    #[error("the session had ended before the call was sent")]
    NotSent,
    /// It may or may not have happened.
    #[error("no answer came: {0}")]
    Unknown(String),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The server has not taken it: somebody has to sign in first.
    #[error("{0}")]
    SignIn(AuthChallenge),
    /// It never left the daemon: a credential is missing, or cannot be used.
    #[error("{why}")]
    Credential { why: String, fix: String },
    /// It never left the daemon: it is called where the user has not allowed it.
    #[error("{why}")]
    Forbidden { why: String, fix: String },
    /// It never left the daemon: its arguments make no request.
    #[error("{0}")]
    Unfit(String),
    /// The server has not taken it.
    #[error("{0}")]
    Declined(String),
    /// It went on for longer than anything may.
    #[error("longer than {0:?} in all")]
    TooLong(Duration),
    /// The server answered with a protocol error.
    #[error("{message}")]
    Refused {
        code: i32,
        message: String,
        data: Option<Value>,
    },
    /// The tool wanted to ask, and its server has no way to over this session.
    #[error("{}", .0.message)]
    NoBackChannel(Box<NoBackChannel>),
    /// The server gives more than is taken.
    #[error("{0}")]
    TooMuch(String),
    #[error("{0}")]
    Protocol(String),
}

impl Session {
    /// As they were listed last. If that was too long ago they are asked for again meanwhile.
    pub fn tools(&self) -> Arc<ToolSet> {
        if self.lifetime.claim_expired() {
            self.ears.tools_changed();
        }
        self.tools.load_full()
    }

    /// Those that it listed last, once what it has announced is in the list.
    pub async fn current_tools(&self) -> Arc<ToolSet> {
        self.ears.tools.wait_until_current().await;
        self.tools()
    }

    /// Asks for the list again. Whoever wants the [`Self::current_tools`] waits for it.
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

    /// A remote one that takes no more calls and is not over: those on their way end by their own limits.
    pub(super) fn is_draining(&self) -> bool {
        self.pid.is_none() && self.shut.is_cancelled() && !self.closing.is_cancelled()
    }

    /// Resolves when the session is over and its process is gone.
    pub(super) async fn wait_ended(&self) -> String {
        self.ended.cancelled().await;
        self.cause()
    }

    pub(super) fn cause(&self) -> String {
        let cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
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
        // Between two of its requests it is on its way, too.
        let _counted = self.calls.token();
        let begun = Instant::now();
        // While somebody is asked, it is not the server that is slow.
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

    /// In the way of its era: as a task, in several rounds, or at once.
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

    /// Resolves when no call is on its way.
    pub(super) async fn wait_until_idle(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Takes what is left of it out of this daemon, when what is on its way has ended. None if that cannot be done:
    /// then it ends.
    pub(super) async fn detach_transport(&self) -> Option<DetachedSession> {
        self.leaving.cancel();
        self.wait_until_idle().await;
        // A question of the server's that nobody answers would stay open for ever.
        if timeout(FINAL_OUTPUT_TIMEOUT, self.ears.asked.none())
            .await
            .is_err()
        {
            self.close("it could not be handed to the next muxd: a question of it is open");
            return None;
        }
        if let Some(listening) = &self.listening {
            listening.stop_listening().await;
        }
        let (reply, parted) = oneshot::channel();
        self.parting.send(reply).await.ok()?;
        parted.await.ok()?
    }

    /// Closes the session; the process is ended by the task that watches it.
    pub(super) fn close(&self, cause: &str) {
        self.set_cause(cause.to_owned());
        self.closing.cancel();
    }

    pub(super) fn set_cause(&self, cause: String) {
        let mut slot = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert_with(|| truncate_server_text(cause));
    }
}

/// What is kept of a server's own words.
pub(super) fn truncate_server_text(mut words: String) -> String {
    words.truncate(words.floor_char_boundary(MAX_SERVER_TEXT_BYTES));
    words
}

/// One of its members may be missing, but not all of them.
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
        false => Err(CallError::Protocol("the answer is no tool result".into())),
    }
}
