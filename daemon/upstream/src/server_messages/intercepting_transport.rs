//! A transport that handles incoming messages in order, before rmcp sees them.
//!
//! rmcp spawns a task for each notification and request. A progress notification could then be handled after the answer
//! that it preceded, and a flood would become as many tasks. Here each message is handled on arrival, and messages that
//! rmcp does not need are dropped.
//!
//! Invariant: a server has at most `MAX_UNANSWERED_REQUESTS` requests whose answers are not sent yet. At the limit,
//! nothing more is read from the server.

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{
        GetExtensions, GetMeta, JsonRpcMessage, ProtocolVersion, ServerNotification, ServerRequest,
        ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::time::Instant;
use tracing::debug;

use super::{
    notification_router::NotificationRouter,
    unanswered_requests::{RequestAdmission, UnansweredRequests},
};
use crate::{calls::InFlightId, link::LinkError};

pub(crate) struct InterceptingTransport<T> {
    inner: T,
    router: Arc<NotificationRouter>,
    unanswered: Arc<UnansweredRequests>,
    /// A request that waits until the number of unanswered requests drops.
    held: Option<RxJsonRpcMessage<RoleClient>>,
    /// Set if the server gets its caller's workspace as roots.
    roots_by_workspace: bool,
    /// Set if rmcp answers a request that the server has cancelled. `None` before the handshake.
    answers_cancelled: Option<bool>,
}

impl<T> InterceptingTransport<T> {
    pub(crate) fn new(inner: T, router: Arc<NotificationRouter>, roots_by_workspace: bool) -> Self {
        Self {
            inner,
            roots_by_workspace,
            unanswered: Arc::clone(&router.unanswered),
            router,
            held: None,
            answers_cancelled: None,
        }
    }

    /// For a session that another daemon initialized with this version.
    pub(crate) fn with_negotiated_version(mut self, version: &ProtocolVersion) -> Self {
        self.answers_cancelled = Some(!version.has_initialize());
        self
    }

    /// Handles the message, and returns it if rmcp needs it, too.
    fn intercept_message(
        &mut self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        let notification = match &message {
            JsonRpcMessage::Notification(notification) => notification,
            JsonRpcMessage::Response(answer) => {
                self.router.in_flight.finish_answered(&answer.id);
                if let ServerResult::InitializeResult(server) = &answer.result {
                    let answers = !server.protocol_version.has_initialize();
                    self.answers_cancelled.get_or_insert(answers);
                }
                return Some(message);
            }
            JsonRpcMessage::Error(answer) => {
                if let Some(id) = &answer.id {
                    self.router.in_flight.finish_answered(id);
                }
                return Some(message);
            }
            JsonRpcMessage::Request(request) => {
                // rmcp would handle this message in a task, where later messages could overtake it.
                if self.roots_by_workspace
                    && matches!(request.request, ServerRequest::ListRootsRequest(_))
                {
                    let client = self.router.in_flight.calling_client();
                    let workspace = client.and_then(|client| client.caller.workspace.clone());
                    self.router.roots_requested(workspace);
                }
                return Some(message);
            }
        };
        match &notification.notification {
            ServerNotification::ProgressNotification(inner) => self.router.progress(&inner.params),
            ServerNotification::LoggingMessageNotification(inner) => {
                self.router.route_log_message(&inner.params);
            }
            // rmcp ends the request itself and does not answer it, unless it has already answered.
            ServerNotification::CancelledNotification(inner) => {
                if let Some(id) = &inner.params.request_id
                    && self.answers_cancelled == Some(false)
                {
                    self.unanswered.cancelled(id);
                }
                return Some(message);
            }
            ServerNotification::ResourceUpdatedNotification(inner) => {
                self.router.resource_updated(&inner.params.uri);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                self.router.resources_changed();
            }
            ServerNotification::PromptListChangedNotification(_) => self.router.prompts_changed(),
            ServerNotification::ToolListChangedNotification(_) => self.router.tools_changed(),
            ServerNotification::SubscriptionsAcknowledgedNotification(inner) => {
                if let Some(listen) = notification.notification.get_meta().subscription_id() {
                    let filter = inner.params.notifications.clone();
                    self.router.record_acknowledgment(listen, filter);
                }
            }
            ServerNotification::TaskStatusNotification(_) => self.router.notify_task_waiters(),
            // Notifications of the legacy era.
            ServerNotification::CustomNotification(inner) => {
                match (inner.method.as_str(), &inner.params) {
                    ("notifications/tasks/status", _) => self.router.notify_task_waiters(),
                    ("notifications/elicitation/complete", Some(params)) => {
                        self.router.complete_url_elicitation(
                            params["elicitationId"].as_str().unwrap_or_default(),
                        );
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        None
    }
}

impl<T> Transport<RoleClient> for InterceptingTransport<T>
where
    T: Transport<RoleClient, Error = LinkError>,
{
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let mut answers = None;
        let mut in_flight_id = None;
        match &item {
            JsonRpcMessage::Request(sent) => {
                in_flight_id = sent.request.extensions().get::<InFlightId>().copied();
                let token = sent.request.get_meta().get_progress_token();
                if let (Some(in_flight_id), Some(token)) = (in_flight_id, token) {
                    self.router
                        .in_flight
                        .register_sent(in_flight_id, sent.id.clone(), token);
                }
            }
            JsonRpcMessage::Response(sent) => answers = Some(sent.id.clone()),
            JsonRpcMessage::Error(sent) => answers.clone_from(&sent.id),
            JsonRpcMessage::Notification(_) => {}
        }
        if let Some(id) = &answers {
            self.unanswered.answered(id);
        }
        let unanswered = Arc::clone(&self.unanswered);
        let router = Arc::clone(&self.router);
        let sending = self.inner.send(item);
        async move {
            if in_flight_id
                .is_some_and(|in_flight_id| !router.in_flight.begin_sending(in_flight_id))
            {
                return Err(LinkError::Unreached("the caller no longer waits".into()));
            }
            let sent = sending.await;
            // rmcp may end before it reports the error.
            if let (Some(in_flight_id), Err(error)) = (in_flight_id, &sent) {
                router
                    .in_flight
                    .record_send_failure(in_flight_id, error.clone());
            }
            if let Some(id) = answers {
                unanswered.sent(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = if let Some(held) = self.held.take() {
                held
            } else {
                let message = self.inner.receive().await?;
                *self.router.last_heard.lock() = Instant::now();
                match self.intercept_message(message) {
                    Some(message) => message,
                    None => continue,
                }
            };
            let JsonRpcMessage::Request(request) = &message else {
                return Some(message);
            };
            match self.unanswered.begin(&request.id) {
                RequestAdmission::Yes => return Some(message),
                RequestAdmission::Repeated => {
                    debug!(id = %request.id, "dropping a request whose id is in use");
                }
                RequestAdmission::NoRoom => {
                    // Kept here, because rmcp may drop this future while it waits.
                    self.held = Some(message);
                    self.unanswered.freed.notified().await;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use futures::{FutureExt as _, future::BoxFuture};
    use rmcp::model::{ClientResult, EmptyResult};
    use serde_json::json;
    use tokio::sync::Semaphore;

    use super::{super::unanswered_requests::MAX_UNANSWERED_REQUESTS, *};
    use crate::sharing::SlotShared;
    use mux_caller::ListChangeNotifier;

    /// A server that sends these messages, and accepts one message per permit.
    struct ScriptedTransport {
        says: VecDeque<serde_json::Value>,
        takes: Arc<Semaphore>,
    }

    impl Transport<RoleClient> for ScriptedTransport {
        type Error = LinkError;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
            let takes = Arc::clone(&self.takes);
            async move {
                takes.acquire().await.unwrap().forget();
                Ok(())
            }
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            let said = self.says.pop_front()?;
            Some(serde_json::from_value(said).unwrap())
        }

        async fn close(&mut self) -> Result<(), LinkError> {
            Ok(())
        }
    }

    fn ask(id: usize) -> serde_json::Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" })
    }

    fn cancel(id: usize) -> serde_json::Value {
        let params = json!({ "requestId": id });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
    }

    fn intercepted(
        version: &str,
        says: impl IntoIterator<Item = serde_json::Value>,
    ) -> (InterceptingTransport<ScriptedTransport>, Arc<Semaphore>) {
        let server = json!({ "name": "s", "version": "0" });
        let result =
            json!({ "protocolVersion": version, "capabilities": {}, "serverInfo": server });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "result": result });
        let folder = tempfile::tempdir().unwrap();
        let slot_shared = SlotShared::new(Arc::new(ListChangeNotifier::default()));
        let router = NotificationRouter::new(
            "s",
            Arc::default(),
            &folder.path().join("log"),
            &slot_shared,
        );
        let takes = Arc::new(Semaphore::new(0));
        let says = [hello].into_iter().chain(says).collect();
        let script = ScriptedTransport {
            says,
            takes: Arc::clone(&takes),
        };
        (InterceptingTransport::new(script, router, true), takes)
    }

    /// The number of requests that pass before reading stops.
    fn requests(intercepted: &mut InterceptingTransport<ScriptedTransport>) -> usize {
        let mut count = 0;
        while let Some(message) = intercepted.receive().now_or_never() {
            match message {
                Some(JsonRpcMessage::Request(_)) => count += 1,
                Some(_) => {}
                None => return count,
            }
        }
        count
    }

    #[test]
    fn request_with_an_id_in_use_is_dropped() {
        let (mut intercepted, _) = intercepted("2025-11-25", (0..1_000).map(|_| ask(7)));
        assert_eq!(requests(&mut intercepted), 1);
    }

    #[test]
    fn cancelled_request_counts_until_its_answer_is_sent() {
        let says = (0..1_000).flat_map(|id| [ask(id), cancel(id)]);
        let (mut intercepted, takes) = intercepted("2025-11-25", says);
        let mut sending = Vec::new();
        let mut answered = || {
            while let Some(Some(message)) = intercepted.receive().now_or_never() {
                if let JsonRpcMessage::Request(request) = message {
                    let result = ClientResult::EmptyResult(EmptyResult {});
                    let answer = JsonRpcMessage::response(result, request.id);
                    let sent: BoxFuture<'static, _> = intercepted.send(answer).boxed();
                    sending.push(sent);
                }
            }
            takes.add_permits(3);
            sending.retain_mut(|sending| sending.as_mut().now_or_never().is_none());
            sending.len()
        };
        // Three answers are sent, and as many requests arrive.
        for _ in 0..3 {
            assert_eq!(answered(), MAX_UNANSWERED_REQUESTS - 3);
        }
    }

    #[test]
    fn cancelled_request_without_answer_frees_its_place() {
        let pairs = || (0..1_000).flat_map(|id| [ask(id), cancel(id)]);
        assert_eq!(requests(&mut intercepted("2025-11-25", pairs()).0), 1_000);
        // In later versions rmcp still answers a cancelled request.
        assert_eq!(
            requests(&mut intercepted("2026-07-28", pairs()).0),
            MAX_UNANSWERED_REQUESTS
        );
    }
}
