//! Maps the request ids on a process's pipes, which outlive a session that another daemon resumes.
//!
//! rmcp counts from 0 in every session. A server may still answer an old id late, and the next session must not take
//! that answer for the answer to its own request.
//!
//! Invariant: no id is used twice over the same pipes, and answers to ids of an earlier session are dropped.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use rmcp::{
    RoleClient,
    model::{
        ClientNotification, GetMeta, JsonRpcMessage, NumberOrString, ProgressToken, RequestId,
        ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};

#[derive(Clone, Debug, Default)]
pub(super) struct RequestIdOffset {
    /// Added to every id of this session.
    offset: i64,
    /// Greater than every id in use so far.
    next: Arc<AtomicI64>,
    /// In the modern era a server's cancellations name our requests, in the legacy era the server's own.
    modern: bool,
}

impl RequestIdOffset {
    /// For a session that resumes after an earlier one, which used all ids below `offset`.
    pub(super) fn starting_at(offset: i64, modern: bool) -> Self {
        Self {
            offset,
            next: Arc::new(AtomicI64::new(offset)),
            modern,
        }
    }

    pub(super) fn next_request_id(&self) -> i64 {
        self.next.load(Ordering::Relaxed)
    }

    pub(super) fn map_outgoing(&self, message: &mut TxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.add_offset(&mut request.id);
                if let Some(ProgressToken(mut token)) =
                    request.request.get_meta().get_progress_token()
                {
                    self.add_offset(&mut token);
                    let meta = request.request.get_meta_mut();
                    meta.set_progress_token(ProgressToken(token));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(notification) =
                    &mut notification.notification
                    && let Some(id) = &mut notification.params.request_id
                {
                    self.add_offset(id);
                }
            }
            // These messages carry the server's own ids.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Maps an incoming message. `None` if the message belongs to an earlier session.
    pub(super) fn map_incoming(
        &self,
        mut message: RxJsonRpcMessage<RoleClient>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.offset == 0 {
            return Some(message);
        }
        let is_ours = match &mut message {
            JsonRpcMessage::Response(answer) => self.subtract_offset(&mut answer.id),
            JsonRpcMessage::Error(answer) => {
                answer.id.as_mut().is_none_or(|id| self.subtract_offset(id))
            }
            JsonRpcMessage::Notification(notification) => {
                self.map_incoming_notification(&mut notification.notification)
            }
            JsonRpcMessage::Request(_) => true,
        };
        is_ours.then_some(message)
    }

    fn map_incoming_notification(&self, notification: &mut ServerNotification) -> bool {
        if let Some(mut id) = notification.get_meta().subscription_id() {
            if !self.subtract_offset(&mut id) {
                return false;
            }
            notification.get_meta_mut().set_subscription_id(id);
        }
        match notification {
            ServerNotification::ProgressNotification(notification) => {
                self.subtract_offset(&mut notification.params.progress_token.0)
            }
            ServerNotification::CancelledNotification(notification) if self.modern => {
                let id = notification.params.request_id.as_mut();
                id.is_none_or(|id| self.subtract_offset(id))
            }
            _ => true,
        }
    }

    fn add_offset(&self, number: &mut NumberOrString) {
        if let NumberOrString::Number(number) = number {
            *number += self.offset;
            self.next.fetch_max(*number + 1, Ordering::Relaxed);
        }
    }

    /// Returns false if the id is from an earlier session.
    fn subtract_offset(&self, number: &mut RequestId) -> bool {
        match number {
            NumberOrString::Number(number) => {
                *number -= self.offset;
                *number >= 0
            }
            NumberOrString::String(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn out(numbers: &RequestIdOffset, message: Value) -> Value {
        let mut message = serde_json::from_value(message).unwrap();
        numbers.map_outgoing(&mut message);
        serde_json::to_value(message).unwrap()
    }

    fn inside(numbers: &RequestIdOffset, message: Value) -> Option<Value> {
        let message = numbers.map_incoming(serde_json::from_value(message).unwrap())?;
        Some(serde_json::to_value(message).unwrap())
    }

    #[test]
    fn no_request_id_is_reused_and_late_answers_are_dropped() {
        let first = RequestIdOffset::default();
        let ask = |id: i64| {
            let meta = json!({ "progressToken": id });
            let params = json!({ "name": "t", "_meta": meta });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        };
        for id in 0..5 {
            assert_eq!(out(&first, ask(id))["id"], id);
        }
        let second = RequestIdOffset::starting_at(first.next_request_id(), false);
        let sent = out(&second, ask(0));
        assert_eq!(sent["id"], 5);
        assert_eq!(sent["params"]["_meta"]["progressToken"], 5);
        let params = json!({ "requestId": 0 });
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(out(&second, cancel.clone())["params"]["requestId"], 5);
        assert_eq!(second.next_request_id(), 6);

        let answer = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        assert_eq!(inside(&second, answer(5)).unwrap()["id"], 0);
        assert_eq!(inside(&second, answer(4)), None);
        let progress = |token: i64| {
            let params = json!({ "progressToken": token, "progress": 1.0 });
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
        };
        let heard = inside(&second, progress(5)).unwrap();
        assert_eq!(heard["params"]["progressToken"], 0);
        assert_eq!(inside(&second, progress(0)), None);
        // In the legacy era this cancels the server's own request.
        assert_eq!(inside(&second, cancel.clone()), Some(cancel.clone()));
        assert_eq!(inside(&RequestIdOffset::starting_at(5, true), cancel), None);
    }
}
