//! Reads servers' messages: bytes → JSON → repairs → rmcp's types.
//!
//! Every transport to another program reads through here, including the handshake. Users do not write their servers,
//! and both official SDKs cope with many deviations from MCP, so a wrong value is repaired or left out individually.
//! `lenient_json` reads the text, `shapes` defines the shape of each message, `repair_value` applies it, and `repairs`
//! names and counts the repairs.
//!
//! Invariants:
//! - An unreadable answer ends its request with an error, if its id can be read.
//! - Nothing is repaired silently.

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
fn to_integer(number: f64) -> i64 {
    number as i64
}

#[cfg(test)]
mod fuzz;
mod lenient_json;
mod repair_value;
mod repairs;
mod shapes;

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json};
use tracing::debug;

pub(crate) use self::repairs::{Repair, Repairs};
use self::{
    repair_value::{Position, repair_value},
    shapes::{notification_shape, result_shape},
};
use super::raw_message;
use mux_process::malloc_trim;
use mux_text::{
    error_chain::excerpt,
    json_depth,
    json_weight::{self, MAX_JSON_WEIGHT, MIN_OFFLOAD_BYTES},
};

type IncomingMessage = RxJsonRpcMessage<RoleClient>;

/// Parsing a message of this length frees enough memory to return some to the system.
const LARGE_MESSAGE_BYTES: usize = 1 << 20;
/// The depth at which `serde_json` stops.
const MAX_JSON_DEPTH: usize = 127;
/// The code of an error whose code cannot be read.
const INTERNAL_ERROR: i32 = -32603;

/// Reads the messages of one session. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct MessageReader {
    repairs: Arc<Repairs>,
    open: Arc<Mutex<HashMap<RequestId, OpenRequest>>>,
}

/// The content of a text.
#[derive(Debug, Default)]
pub(super) struct ReadText {
    /// The messages for this session, in their order.
    pub(super) messages: Vec<IncomingMessage>,
    /// Set if the text is a message, even a message for nobody, such as the answer to a cancelled request.
    pub(super) is_message: bool,
    /// An answer whose id matches no open request: see [`MessageReader::adopt_answer`].
    pub(super) foreign_answer: Option<Value>,
}

impl ReadText {
    fn push(&mut self, message: Option<IncomingMessage>) {
        self.is_message = true;
        self.messages.extend(message);
    }
}

/// A request that the server has not yet answered.
#[derive(Clone, Debug)]
struct OpenRequest {
    method: String,
    /// The version that `initialize` offered.
    offered_version: Option<String>,
}

impl MessageReader {
    pub(crate) fn new(repairs: Arc<Repairs>) -> Self {
        Self {
            repairs,
            open: Arc::default(),
        }
    }

    /// True if a text is complete JSON, as far as it can be read here.
    pub(super) fn is_whole(text: &[u8]) -> bool {
        lenient_json::parse(text, |_| {}).is_ok()
    }

    /// Notes a message that is about to be sent. A request's method decides how its answer is read.
    pub(super) fn note_sent(&self, message: &TxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(sent) => {
                let offered_version = match &sent.request {
                    ClientRequest::InitializeRequest(initialize) => {
                        Some(initialize.params.protocol_version.to_string())
                    }
                    _ => None,
                };
                let request = OpenRequest {
                    method: sent.request.method().to_owned(),
                    offered_version,
                };
                self.open.lock().insert(sent.id.clone(), request);
            }
            JsonRpcMessage::Notification(sent) => {
                if let ClientNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.forget_request(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Forgets a request whose answer will not come.
    pub(super) fn forget_request(&self, id: &RequestId) {
        self.open.lock().remove(id);
    }

    /// Reads the messages in a text. `answered` is the request that the text answers, if the transport knows it.
    pub(super) fn read(&self, text: &[u8], answered: Option<&RequestId>) -> ReadText {
        let mut read = ReadText::default();
        // Other output is not searched for possible repairs.
        let is_json = matches!(lenient_json::trim_message(text).first(), Some(b'{' | b'['));
        if !is_json {
            return read;
        }
        let mut made = Vec::new();
        match Self::parse(text, &mut made) {
            Ok(Value::Array(batch)) => {
                for message in batch {
                    self.read_value(message, answered, &mut read);
                }
                if read.is_message {
                    self.repairs.record(Repair::Batch, "a message");
                }
            }
            Ok(message) => self.read_value(message, answered, &mut read),
            Err(why) => {
                debug!(why, "message cannot be read");
                if let Some(error) = self.unreadable_answer(text, &why) {
                    read.push(Some(error));
                }
            }
        }
        // Repairs of other output do not count.
        if read.is_message {
            for repair in made {
                self.repairs.record(repair, "a message");
            }
        }
        read
    }

    /// Reads the body of an error response, if it is a JSON-RPC error.
    pub(super) fn read_error_body(&self, body: &[u8]) -> Option<ErrorData> {
        let mut message = Self::parse(body, &mut Vec::new()).ok()?;
        let error = message.get_mut("error")?.take();
        let is_json_rpc = message.get("jsonrpc").is_some() || error.get("code").is_some();
        is_json_rpc.then(|| self.error_data(&error, Position::in_message("an error response")))
    }

    /// The error is a sentence for the user.
    fn parse(text: &[u8], made: &mut Vec<Repair>) -> Result<Value, String> {
        if text.len() > LARGE_MESSAGE_BYTES {
            malloc_trim::give_back_soon();
        }
        // A shorter text cannot contain that many values.
        if text.len() > MIN_OFFLOAD_BYTES && json_weight::of(text, MAX_JSON_WEIGHT).is_none() {
            return Err(format!(
                "it holds more than {MAX_JSON_WEIGHT} JSON values, {}; ask for less, such as a smaller page, a range or fewer fields",
                json_weight::WEIGHT_RULE_TEXT
            ));
        }
        lenient_json::parse(text, |repair| made.push(repair)).map_err(|error| {
            let is_too_deep = json_depth::depth(&String::from_utf8_lossy(text)) > MAX_JSON_DEPTH;
            if is_too_deep {
                format!("it nests more than {MAX_JSON_DEPTH} levels deep; ask for less")
            } else {
                format!("it is not valid JSON (column {})", error.column())
            }
        })
    }

    /// Adds the message to `read`, if the value is a message.
    fn read_value(&self, message: Value, answered: Option<&RequestId>, read: &mut ReadText) {
        let Value::Object(mut message) = message else {
            return;
        };
        if is_answer(&message) {
            match self.take_answered(&message, answered) {
                Some((id, request)) => read.push(Some(self.read_answer(message, id, &request))),
                None => self.set_aside(message, answered, read),
            }
            return;
        }
        // Other programs write objects with a `method`, too: a log line is not a message.
        if !message.contains_key("jsonrpc") {
            return;
        }
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let request = message.get("id").and_then(|id| self.take_request(id));
            if let Some((id, _)) = request {
                let why = "it has neither a result nor an error";
                read.push(Some(unreadable_error(id, why)));
            }
            return;
        };
        let method = method.to_owned();
        if message["jsonrpc"] != "2.0" {
            message.insert("jsonrpc".into(), json!("2.0"));
            self.repairs.record(Repair::Version, "a message");
        }
        // Null, as `is_answer` has found.
        message.retain(|name, _| name != "result" && name != "error");
        self.repair_params(&method, &mut message);
        read.push(raw_message::parse_value(Value::Object(message)).ok());
    }

    /// Repairs the parameters of a request or a notification.
    fn repair_params(&self, method: &str, message: &mut Map<String, Value>) {
        let position = Position::in_message(method);
        if message.get("id").is_some_and(Value::is_null) {
            message.shift_remove("id");
            self.repairs.record(Repair::Null, position);
        }
        let Some(params) = message.get_mut("params") else {
            return;
        };
        let repair = match params {
            Value::Null => Some(Repair::Null),
            Value::Array(elements) if elements.is_empty() => Some(Repair::EmptyArray),
            _ => None,
        };
        if let Some(repair) = repair {
            message.shift_remove("params");
            self.repairs.record(repair, position);
        } else if let Some(shape) = notification_shape(method) {
            // If it cannot be repaired, rmcp passes it on as a custom notification.
            repair_value(params, shape, position, &self.repairs);
        }
    }

    /// Reads an answer with a foreign id as the answer to this request, if the request is still open. The answer was
    /// the only one where that request's answer belongs.
    pub(super) fn adopt_answer(&self, answer: Value, id: &RequestId) -> Option<IncomingMessage> {
        let request = self.open.lock().remove(id)?;
        self.repairs.record(Repair::IdType, "an answer");
        let Value::Object(answer) = answer else {
            return None;
        };
        Some(self.read_answer(answer, id.clone(), &request))
    }

    fn read_answer(
        &self,
        mut message: Map<String, Value>,
        id: RequestId,
        request: &OpenRequest,
    ) -> IncomingMessage {
        let result = message.shift_remove("result");
        let error = message.shift_remove("error").filter(is_error);
        if message
            .get("jsonrpc")
            .is_none_or(|version| version != "2.0")
        {
            self.repairs.record(Repair::Version, "an answer");
        }
        if let Some(error) = error {
            let position = Position::in_message(&request.method);
            return JsonRpcMessage::error(self.error_data(&error, position), Some(id));
        }
        let mut result = result.unwrap_or_default();
        self.repair_result(&mut result, request);
        JsonRpcMessage::response(raw_message::raw_result(result), id)
    }

    /// Removes and returns the request that this message answers. An error without an id ends the request of its stream,
    /// or the only open request. A result without an id answers only a greeting, because nothing else is open then.
    fn take_answered(
        &self,
        message: &Map<String, Value>,
        answered: Option<&RequestId>,
    ) -> Option<(RequestId, OpenRequest)> {
        if let Some(id) = written_id(message) {
            return self.take_request(id);
        }
        let mut open = self.open.lock();
        let only = match answered {
            Some(answered) => answered.clone(),
            None if open.len() == 1 => open.keys().next()?.clone(),
            None => return None,
        };
        let is_error = message.get("error").is_some_and(is_error);
        if !is_error && !open.get(&only)?.is_greeting() {
            return None;
        }
        self.repairs.record(Repair::MissingId, "an answer");
        let request = open.remove(&only)?;
        Some((only, request))
    }

    /// Removes and returns the open request with this id.
    fn take_request(&self, id: &Value) -> Option<(RequestId, OpenRequest)> {
        let mut open = self.open.lock();
        let id = RequestId::deserialize(id).ok()?;
        if let Some(request) = open.remove(&id) {
            return Some((id, request));
        }
        let RequestId::String(text) = id else {
            return None;
        };
        let number = RequestId::Number(text.trim().parse().ok()?);
        let request = open.remove(&number)?;
        self.repairs.record(Repair::IdType, "an answer");
        Some((number, request))
    }

    /// Sets aside an answer whose id matches no open request.
    fn set_aside(
        &self,
        message: Map<String, Value>,
        answered: Option<&RequestId>,
        read: &mut ReadText,
    ) {
        read.is_message = true;
        if answered.is_none() && written_id(&message).is_none() {
            let body = message.get("error").or(message.get("result"));
            let body = body.map(Value::to_string).unwrap_or_default();
            self.repairs.record_stray_answer(&excerpt(&body));
        }
        read.foreign_answer = Some(Value::Object(message));
    }

    fn repair_result(&self, result: &mut Value, request: &OpenRequest) {
        let method = request.method.as_str();
        let position = Position::in_message(method);
        let Some(shape) = result_shape(method) else {
            return;
        };
        if is_other_kind(result) {
            return;
        }
        if method == "tools/call" {
            self.wrap_bare_result(result, position);
        }
        if result.is_null() {
            *result = json!({});
            self.repairs.record(Repair::Null, position);
        }
        repair_value(result, shape, position, &self.repairs);
        if let (Some(version), Some(result)) = (&request.offered_version, result.as_object_mut())
            && !result.contains_key("protocolVersion")
        {
            let position = "initialize: protocolVersion";
            self.repairs.record(Repair::MissingMember, position);
            result.insert("protocolVersion".into(), json!(version));
        }
    }

    /// A tool result that is not an object is its content. `toolResult` is the content member of revision 2024-10-07.
    fn wrap_bare_result(&self, result: &mut Value, position: Position<'_>) {
        let content = match result {
            Value::Object(object) if object.contains_key("content") => return,
            Value::Object(object) => match object.shift_remove("toolResult") {
                Some(Value::String(text)) => Value::String(text),
                Some(other) => Value::String(other.to_string()),
                None => return,
            },
            Value::Null => return,
            Value::Array(_) | Value::String(_) => result.take(),
            Value::Bool(_) | Value::Number(_) => Value::String(result.to_string()),
        };
        self.repairs.record(Repair::Converted, position);
        *result = json!({ "content": content });
    }

    /// An `error` in JSON-RPC's form.
    fn error_data(&self, error: &Value, position: Position<'_>) -> ErrorData {
        if let Ok(error) = ErrorData::deserialize(error) {
            return error;
        }
        self.repairs.record(Repair::ErrorObject, position);
        let code = error.get("code").and_then(|code| match code {
            Value::Number(code) => code.as_i64().or_else(|| code.as_f64().map(to_integer)),
            Value::String(code) => code.trim().parse().ok(),
            _ => None,
        });
        let code = code.and_then(|code| i32::try_from(code).ok());
        let text = ["message", "error_description", "error", "detail"]
            .iter()
            .find_map(|name| error.get(name)?.as_str());
        let message = match (text, error.as_str()) {
            (Some(text), _) | (None, Some(text)) => text.to_owned(),
            (None, None) => error.to_string(),
        };
        let code = ErrorCode(code.unwrap_or(INTERNAL_ERROR));
        let data = error.get("data").filter(|data| !data.is_null());
        ErrorData::new(code, message, data.cloned())
    }

    /// The error that replaces an unreadable answer. Without it the caller would wait forever.
    fn unreadable_answer(&self, text: &[u8], why: &str) -> Option<IncomingMessage> {
        #[derive(Deserialize)]
        struct AnswerHead {
            id: Value,
            method: Option<IgnoredAny>,
        }
        // Ignored values may nest to any depth. A line that is not JSON may be the server's other output, and the answer
        // may still come.
        let json = lenient_json::trim_message(text);
        let AnswerHead { id, method } = serde_json::from_slice(json).ok()?;
        if method.is_some() {
            return None;
        }
        let (id, _) = self.take_request(&id)?;
        Some(unreadable_error(id, why))
    }
}

impl OpenRequest {
    /// Returns true for a handshake request: nothing else is sent before its answer.
    fn is_greeting(&self) -> bool {
        matches!(self.method.as_str(), "initialize" | "server/discover")
    }
}

/// True if a message is an answer. Some serializers write `result` and `error` as null in other messages, too.
fn is_answer(message: &Map<String, Value>) -> bool {
    let result = message.get("result");
    let error = message.get("error");
    if message.get("method").is_some_and(Value::is_string) {
        return result.is_some_and(|result| !result.is_null()) || error.is_some_and(is_error);
    }
    result.is_some() || error.is_some()
}

/// True if a result is a question or a task instead of the requested result.
fn is_other_kind(result: &Value) -> bool {
    let kind = result.get("resultType").and_then(Value::as_str);
    kind.is_some_and(|kind| kind != "complete") || result.get("task").is_some_and(Value::is_object)
}

/// The id of an answer, unless it is missing, null or empty.
fn written_id(message: &Map<String, Value>) -> Option<&Value> {
    message.get("id").filter(|id| !id.is_null() && **id != "")
}

fn unreadable_error(id: RequestId, why: &str) -> IncomingMessage {
    let text = format!("the server's answer cannot be read: {why}");
    JsonRpcMessage::error(ErrorData::parse_error(text, None), Some(id))
}

/// True if an `error` beside a result is an error: for no error, PHP writes `[]`, others null, false or an empty
/// string.
fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests;
