//! What happens while a request is worked on, told to the agent as far as it asked for it: progress, and
//! in the second era what servers log.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::{Peer, RequestContext},
};
use serde_json::Value;

use super::audience;

/// Cheap to clone. A request that is asked again, with the answers to a server's questions, comes with
/// another token.
#[derive(Clone, Default)]
pub(super) struct Teller(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    listener: Option<(Peer<RoleServer>, ProgressToken)>,
    /// It has to grow.
    told: f64,
    /// In the second era each request says what it wants to hear of servers' logs.
    logs: Option<(Peer<RoleServer>, String)>,
}

impl Teller {
    pub(super) fn listen(&self, context: &RequestContext<RoleServer>) {
        let token = context.meta.get_progress_token();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.listener = token.map(|token| (context.peer.clone(), token));
        state.told = 0.0;
        let level = context.meta.0.get("io.modelcontextprotocol/logLevel");
        let level = level.and_then(|level| level.as_str());
        state.logs = level.map(|level| (context.peer.clone(), level.to_owned()));
    }

    /// Nobody listens until the request is asked again.
    pub(super) fn rest(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.listener, state.logs) = (None, None);
    }

    /// What a server logs meanwhile.
    pub(super) async fn log(&self, level: &str, logger: &str, data: Value) {
        let logs = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .logs
            .clone();
        if let Some((peer, least)) = logs
            && audience::weighs(level, &least)
        {
            audience::send_log(&peer, level, logger, data).await;
        }
    }

    pub(super) fn is_heard(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.listener.is_some()
    }

    /// One step further.
    pub(super) async fn say(&self, message: String) {
        let next = self.told() + 1.0;
        self.tell(next, None, Some(message)).await;
    }

    /// As the server counts.
    pub(super) async fn tell(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        let (peer, token) = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.told = state.told.max(progress);
            let Some(listener) = state.listener.clone() else {
                return;
            };
            listener
        };
        let mut params = ProgressNotificationParam::new(token, progress);
        params.total = total;
        params.message = message;
        // An agent that is gone hears nothing.
        drop(peer.notify_progress(params).await);
    }

    fn told(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told
    }
}
