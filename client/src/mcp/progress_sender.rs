//! Progress notifications of a request, and in the modern era servers' log messages, if the agent asked for them.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};
use serde_json::Value;
use tokio::{sync::mpsc, time::timeout};

use super::notification_receivers;

/// How long a run may be silent. Some agents give up a call that sends no progress for 60 s.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(20);
const HEARTBEAT_MESSAGE: &str = "running";

/// Sends progress of one request to the agent. Cheap to clone. A request that is repeated with answers has another
/// progress token.
#[derive(Clone, Default)]
pub(super) struct ProgressSender(Arc<Mutex<ProgressState>>);

#[derive(Default)]
struct ProgressState {
    listener: Option<(Peer<RoleServer>, ProgressToken)>,
    /// The last progress sent: MCP requires it to increase.
    reported: f64,
    /// The minimum log level, which each request sets in the modern era.
    logs: Option<(Peer<RoleServer>, String)>,
}

impl ProgressSender {
    pub(super) fn attach_request(&self, context: &RequestContext<RoleServer>) {
        let token = context.meta.get_progress_token();
        let mut state = self.0.lock();
        state.listener = token.map(|token| (context.peer.clone(), token));
        state.reported = 0.0;
        let level = context.meta.0.get("io.modelcontextprotocol/logLevel");
        let level = level.and_then(|level| level.as_str());
        state.logs = level.map(|level| (context.peer.clone(), level.to_owned()));
    }

    /// Stops notifications until the request is repeated.
    pub(super) fn detach_request(&self) {
        let mut state = self.0.lock();
        (state.listener, state.logs) = (None, None);
    }

    /// Passes on a server's log message.
    pub(super) async fn send_request_log(&self, level: &str, logger: &str, data: Value) {
        let logs = self.0.lock().logs.clone();
        if let Some((peer, least)) = logs
            && notification_receivers::is_level_at_least(level, &least)
        {
            notification_receivers::notify_log(&peer, level, logger, data).await;
        }
    }

    pub(super) fn wants_progress(&self) -> bool {
        let state = self.0.lock();
        state.listener.is_some()
    }

    /// Sends a message, with progress increased by one.
    pub(super) async fn advance_with_message(&self, message: String) {
        let next = self.last_progress() + 1.0;
        self.send_progress(next, None, Some(message)).await;
    }

    /// Sends progress with the server's own numbers.
    pub(super) async fn send_progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) {
        let (peer, token) = {
            let mut state = self.0.lock();
            state.reported = state.reported.max(progress);
            let Some(listener) = state.listener.clone() else {
                return;
            };
            listener
        };
        let mut params = ProgressNotificationParam::new(token, progress);
        params.total = total;
        params.message = message;
        // A closed agent is ignored.
        drop(peer.notify_progress(params).await);
    }

    fn last_progress(&self) -> f64 {
        self.0.lock().reported
    }
}

/// The next message, or a heartbeat if none comes for a while. `None` once the sender was dropped.
pub(super) async fn next_or_heartbeat(
    messages: &mut mpsc::UnboundedReceiver<String>,
) -> Option<String> {
    let next = timeout(HEARTBEAT_INTERVAL, messages.recv()).await;
    next.unwrap_or_else(|_| Some(HEARTBEAT_MESSAGE.to_owned()))
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silent_run_sends_heartbeats() {
        let (sender, mut messages) = mpsc::unbounded_channel();
        sender.send("first".to_owned()).unwrap();
        let began = Instant::now();
        for (expected, seconds) in [("first", 0), ("running", 20), ("running", 40)] {
            let next = next_or_heartbeat(&mut messages).await;
            assert_eq!(next.as_deref(), Some(expected));
            assert_eq!(began.elapsed().as_secs(), seconds);
        }
        drop(sender);
        assert_eq!(next_or_heartbeat(&mut messages).await, None);
    }
}
