//! The link to a source: this process calls the API itself.
//!
//! When the source is replaced because its description has changed, the client side gets `tools/list_changed`, and
//! calls in flight finish on the old source. To rmcp this is a transport like any other. A request is answered when its
//! send completes, so an error concerns only that call.
//!
//! Invariant: a call that is cancelled, or whose session has ended, is dropped. A source's results are moved, never
//! copied: one result may take most of the available memory.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{
        ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions as _, GetMeta as _,
        JsonObject, JsonRpcMessage, ListToolsRequest, ProgressNotification,
        ProgressNotificationParam, RequestId, ServerNotification, ServerResult,
        ToolListChangedNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{link_error::LinkError, raw_message};
use mux_sources::{CallLimits, CallProgress, Source};

/// The maximum number of answers that are not received yet.
const MAX_QUEUED_ANSWERS: usize = 16;
/// The last revision that starts with `initialize`.
const SOURCE_PROTOCOL_VERSION: &str = "2025-11-25";
/// The time limit for requests without their own limit.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct InProcessTransport {
    bridge: Arc<SourceBridge>,
    answers: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    /// Reports when the source is replaced.
    source: watch::Receiver<Arc<dyn Source>>,
    /// Cancels the calls in flight on drop.
    _open: DropGuard,
}

struct SourceBridge {
    source: watch::Receiver<Arc<dyn Source>>,
    answer_sender: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    /// The calls in flight.
    in_flight: Mutex<HashMap<RequestId, CancellationToken>>,
    closed: CancellationToken,
}

impl InProcessTransport {
    pub(super) fn new(source: watch::Receiver<Arc<dyn Source>>) -> Self {
        let (answer_sender, answers) = mpsc::channel(MAX_QUEUED_ANSWERS);
        let closed = CancellationToken::new();
        Self {
            answers,
            source: source.clone(),
            _open: closed.clone().drop_guard(),
            bridge: Arc::new(SourceBridge {
                source,
                answer_sender,
                in_flight: Mutex::default(),
                closed,
            }),
        }
    }
}

impl Transport<RoleClient> for InProcessTransport {
    type Error = LinkError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), LinkError>> + Send + 'static {
        let bridge = Arc::clone(&self.bridge);
        async move { bridge.handle_message(item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            biased;
            answer = self.answers.recv() => answer,
            // If the sender is gone, the source no longer changes.
            Ok(()) = self.source.changed() => {
                let changed = ToolListChangedNotification::default();
                let changed = ServerNotification::ToolListChangedNotification(changed);
                Some(JsonRpcMessage::notification(changed))
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.bridge.closed.cancel();
        Ok(())
    }
}

impl SourceBridge {
    async fn handle_message(&self, message: TxJsonRpcMessage<RoleClient>) -> Result<(), LinkError> {
        match message {
            JsonRpcMessage::Request(sent) => {
                let answer = match self.answer_request(&sent.id, sent.request).await? {
                    Ok(result) => JsonRpcMessage::response(result, sent.id),
                    Err(error) => JsonRpcMessage::error(error, Some(sent.id)),
                };
                let answered = self.answer_sender.send(answer).await;
                answered.map_err(|_| LinkError::Lost("the session has ended".into()))
            }
            JsonRpcMessage::Notification(sent) => {
                if let ClientNotification::CancelledNotification(cancelled) = sent.notification
                    && let Some(id) = cancelled.params.request_id
                    && let Some(call) = self.in_flight.lock().get(&id)
                {
                    call.cancel();
                }
                Ok(())
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(()),
        }
    }

    async fn answer_request(
        &self,
        id: &RequestId,
        request: ClientRequest,
    ) -> Result<Result<ServerResult, ErrorData>, LinkError> {
        let progress = self.progress_reporter(&request);
        let result = match request {
            ClientRequest::InitializeRequest(_) => {
                let (name, version) = self.current_source().identity();
                Ok(json!({
                    "protocolVersion": SOURCE_PROTOCOL_VERSION,
                    "capabilities": { "tools": { "listChanged": true } },
                    "serverInfo": { "name": name, "version": version },
                }))
            }
            ClientRequest::PingRequest(_) => Ok(json!({})),
            ClientRequest::ListToolsRequest(request) => self.list_source_tools(request).await,
            ClientRequest::CallToolRequest(request) => {
                let tool = request.params.name.into_owned();
                let arguments = request.params.arguments.unwrap_or_default();
                Ok(self.call_source(id, tool, arguments, progress).await?)
            }
            other => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("a source has no {}", other.method()),
                None,
            )),
        };
        Ok(result.map(raw_message::raw_result))
    }

    /// Lists a page of the tools on a blocking thread, because unpacking it takes time. The cursor is the number of the
    /// page. If the source is replaced between two pages, the client side is told to list its tools again.
    async fn list_source_tools(&self, request: ListToolsRequest) -> Result<Value, ErrorData> {
        let cursor = request.params.and_then(|params| params.cursor);
        let page = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>());
        let page = page
            .map_err(|_| ErrorData::invalid_params("the cursor is not from this server", None))?;
        let source = self.current_source();
        let is_last = page.saturating_add(1) >= source.tool_page_count();
        let tools = tokio::task::spawn_blocking(move || source.tools(page)).await;
        let tools = tools.map_err(|_| {
            let message = "its functions could not be listed: see `mux logs`";
            ErrorData::internal_error(message, None)
        })?;
        // `json!` would copy the tools.
        let mut result = JsonObject::new();
        result.insert("tools".into(), Value::Array(tools));
        if !is_last {
            result.insert("nextCursor".into(), (page + 1).to_string().into());
        }
        Ok(Value::Object(result))
    }

    async fn call_source(
        &self,
        id: &RequestId,
        tool: String,
        arguments: JsonObject,
        progress: CallProgress,
    ) -> Result<Value, LinkError> {
        let cancelled = self.closed.child_token();
        self.in_flight.lock().insert(id.clone(), cancelled.clone());
        let call = self.current_source().call(tool, arguments, progress);
        let outcome = cancelled.run_until_cancelled(call).await;
        self.in_flight.lock().remove(id);
        match outcome {
            Some(Ok(result)) => Ok(result),
            Some(Err(failure)) => Err(LinkError::Source(failure)),
            None => Err(LinkError::Lost("the call was cancelled".into())),
        }
    }

    /// The source with the current description.
    fn current_source(&self) -> Arc<dyn Source> {
        Arc::clone(&self.source.borrow())
    }

    /// Sends the call's progress to the same channel as its answer.
    fn progress_reporter(&self, request: &ClientRequest) -> CallProgress {
        let Some(limits) = request.extensions().get::<CallLimits>().cloned() else {
            return CallProgress::to_nobody(DEFAULT_REQUEST_TIMEOUT);
        };
        let token = request.get_meta().get_progress_token();
        let answer_sender = self.answer_sender.clone();
        CallProgress::new(limits, move |done, total, message| {
            let Some(token) = token.clone() else { return };
            let mut params = ProgressNotificationParam::new(token, done).with_message(message);
            params.total = total;
            let progress = ProgressNotification::new(params);
            let progress = ServerNotification::ProgressNotification(progress);
            // A receiver that cannot keep up loses progress.
            drop(answer_sender.try_send(JsonRpcMessage::notification(progress)));
        })
    }
}
