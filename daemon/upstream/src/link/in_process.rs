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
    model::{ErrorCode, GetExtensions, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{link_error::LinkError, raw_message};
use mux_sources::{CallFailure, CallLimits, CallProgress, Source};

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
    /// The calls in flight, by the JSON text of their ids.
    in_flight: Mutex<HashMap<String, CancellationToken>>,
    closed: CancellationToken,
}

/// A message from the client side.
#[derive(Deserialize)]
struct OutgoingMessage {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Map<String, Value>,
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
        let limits = match &item {
            JsonRpcMessage::Request(sent) => sent.request.extensions().get::<CallLimits>().cloned(),
            _ => None,
        };
        async move {
            let item = serde_json::to_value(item);
            let message = item.and_then(OutgoingMessage::deserialize);
            let message = message.map_err(|error| LinkError::Unreached(error.to_string()))?;
            bridge.handle_message(message, limits).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            biased;
            answer = self.answers.recv() => answer,
            // If the sender is gone, the source no longer changes.
            Ok(()) = self.source.changed() => {
                let notification = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                serde_json::from_value(notification).ok()
            }
        }
    }

    async fn close(&mut self) -> Result<(), LinkError> {
        self.bridge.closed.cancel();
        Ok(())
    }
}

impl SourceBridge {
    async fn handle_message(
        &self,
        message: OutgoingMessage,
        limits: Option<CallLimits>,
    ) -> Result<(), LinkError> {
        match (message.id, message.method.as_deref()) {
            (Some(id), Some(method)) => {
                let answer = self
                    .answer_request(&id, method, message.params, limits)
                    .await?;
                self.send_answer(&id, answer).await
            }
            (None, Some("notifications/cancelled")) => {
                if let Some(id) = message.params.get("requestId") {
                    self.cancel_call(id);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns a result or a JSON-RPC error.
    async fn answer_request(
        &self,
        id: &Value,
        method: &str,
        mut params: Map<String, Value>,
        limits: Option<CallLimits>,
    ) -> Result<Result<Value, Value>, LinkError> {
        Ok(match method {
            "initialize" => {
                let (name, version) = self.current_source().identity();
                Ok(json!({
                    "protocolVersion": SOURCE_PROTOCOL_VERSION,
                    "capabilities": { "tools": { "listChanged": true } },
                    "serverInfo": { "name": name, "version": version },
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => self.list_source_tools(&params).await,
            "tools/call" => {
                let tool = match params.remove("name") {
                    Some(Value::String(name)) => name,
                    _ => String::new(),
                };
                let arguments = match params.remove("arguments") {
                    Some(Value::Object(arguments)) => arguments,
                    _ => Map::new(),
                };
                let progress = self.progress_reporter(&params, limits);
                return self.call_source(id, tool, arguments, progress).await;
            }
            method => Err(json_rpc_error(
                ErrorCode::METHOD_NOT_FOUND,
                &format!("a source has no {method}"),
            )),
        })
    }

    /// Lists a page of the tools on a blocking thread, because unpacking it takes time. The cursor is the number of the
    /// page. If the source is replaced between two pages, the client side is told to list its tools again.
    async fn list_source_tools(&self, params: &Map<String, Value>) -> Result<Value, Value> {
        let page = match params.get("cursor") {
            None => Ok(0),
            Some(cursor) => cursor.as_str().unwrap_or_default().parse::<usize>(),
        };
        let page = page.map_err(|_| {
            json_rpc_error(
                ErrorCode::INVALID_PARAMS,
                "the cursor is not from this server",
            )
        })?;
        let source = self.current_source();
        let is_last = page.saturating_add(1) >= source.tool_page_count();
        let tools = tokio::task::spawn_blocking(move || source.tools(page)).await;
        let tools = tools.map_err(|_| {
            let message = "its functions could not be listed: see `mux logs`";
            json_rpc_error(ErrorCode::INTERNAL_ERROR, message)
        })?;
        let mut result = json_object([("tools", Value::Array(tools))]);
        if !is_last {
            result["nextCursor"] = (page + 1).to_string().into();
        }
        Ok(result)
    }

    async fn call_source(
        &self,
        id: &Value,
        tool: String,
        arguments: Map<String, Value>,
        progress: CallProgress,
    ) -> Result<Result<Value, Value>, LinkError> {
        let cancelled = self.closed.child_token();
        let key = id.to_string();
        self.in_flight().insert(key.clone(), cancelled.clone());
        let call = self.current_source().call(tool, arguments, progress);
        let outcome = cancelled.run_until_cancelled(call).await;
        self.in_flight().remove(&key);
        match outcome {
            Some(Ok(result)) => Ok(Ok(result)),
            Some(Err(failure @ (CallFailure::Unknown(_) | CallFailure::Unfit(_)))) => {
                Err(LinkError::Unfit(failure.to_string()))
            }
            Some(Err(CallFailure::Credential { why, fix })) => {
                Err(LinkError::Credential { why, fix })
            }
            Some(Err(CallFailure::Forbidden { why, fix })) => {
                Err(LinkError::Forbidden { why, fix })
            }
            Some(Err(CallFailure::TooMuch(text))) => Err(LinkError::TooMuch(text)),
            Some(Err(CallFailure::Declined(text))) => Err(LinkError::Declined { status: 0, text }),
            Some(Err(CallFailure::Lost(text))) => Err(LinkError::Lost(text)),
            None => Err(LinkError::Lost("the call was cancelled".into())),
        }
    }

    async fn send_answer(&self, id: &Value, answer: Result<Value, Value>) -> Result<(), LinkError> {
        let (member, body) = match answer {
            Ok(result) => ("result", result),
            Err(error) => ("error", error),
        };
        let message = json_object([
            ("jsonrpc", "2.0".into()),
            ("id", id.clone()),
            (member, body),
        ]);
        let message = raw_message::parse_value(message)
            .map_err(|error| LinkError::Lost(error.to_string()))?;
        let sent = self.answer_sender.send(message).await;
        sent.map_err(|_| LinkError::Lost("the session has ended".into()))
    }

    /// The source with the current description.
    fn current_source(&self) -> Arc<dyn Source> {
        Arc::clone(&self.source.borrow())
    }

    /// Sends the call's progress to the same channel as its answer.
    fn progress_reporter(
        &self,
        params: &Map<String, Value>,
        limits: Option<CallLimits>,
    ) -> CallProgress {
        let Some(limits) = limits else {
            return CallProgress::to_nobody(DEFAULT_REQUEST_TIMEOUT);
        };
        let token = params
            .get("_meta")
            .and_then(|meta| meta.get("progressToken"));
        let token = token.cloned();
        let answer_sender = self.answer_sender.clone();
        CallProgress::new(limits, move |done, total, message| {
            let Some(token) = &token else { return };
            let params = json!({
                "progressToken": token, "progress": done, "total": total, "message": message,
            });
            let notification =
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
            // A receiver that cannot keep up loses progress.
            if let Ok(notification) = serde_json::from_value(notification) {
                drop(answer_sender.try_send(notification));
            }
        })
    }

    fn cancel_call(&self, id: &Value) {
        if let Some(call) = self.in_flight().get(&id.to_string()) {
            call.cancel();
        }
    }

    fn in_flight(&self) -> parking_lot::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.in_flight.lock()
    }
}

/// Builds an object from values that it moves; `json!` would copy them.
fn json_object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let owned = members.map(|(name, value)| (name.to_owned(), value));
    Value::Object(owned.into_iter().collect())
}

fn json_rpc_error(code: ErrorCode, message: &str) -> Value {
    json!({ "code": code.0, "message": message })
}
