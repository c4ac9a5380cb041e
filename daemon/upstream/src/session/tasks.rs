//! Calls that become tasks: their server answers immediately with a task id, under which the result is available later.
//!
//! In the legacy era a tool declares that it has to be called as a task. In the modern era any call may become a task.
//!
//! Invariant: a task whose caller is gone is cancelled at its server. A task is polled no more often than its server
//! says, and at least once per [`MAX_POLL_INTERVAL`].

use std::{collections::BTreeSet, time::Duration};

use rmcp::{
    RoleClient,
    model::{
        CancelTaskParams, CancelTaskRequest, ClientRequest, CustomRequest, GetTaskParams,
        GetTaskRequest, UpdateTaskParams, UpdateTaskRequest,
    },
    service::Peer,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::{
    Session,
    input_required::{InputQuestions, RoundBudget},
    request::RequestOptions,
};
use crate::{
    calls::{CallError, ProgressMeter},
    link::raw_message,
};
use mux_catalog::ProtocolEra;
use mux_text::error_chain::excerpt;

const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(500);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The time limit for cancelling a task.
const TASK_CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of questions of one task.
const MAX_TASK_QUESTIONS: usize = 8;
/// MCP's code for a request that was cancelled.
const REQUEST_CANCELLED: i32 = -32800;

/// The state of a task, in either era's shape.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskState {
    task_id: String,
    #[serde(default)]
    status: TaskStatus,
    status_message: Option<String>,
    #[serde(alias = "pollInterval")]
    poll_interval_ms: Option<f64>,
    input_requests: Option<InputQuestions>,
    result: Option<Value>,
    error: Option<TaskFailure>,
}

#[derive(Clone, Copy, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    #[default]
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct TaskFailure {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Session {
    /// Makes a legacy call that becomes a task.
    pub(super) async fn call_as_task(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        // The server may ask something between two polls, too.
        let in_flight = self
            .router
            .in_flight
            .begin_request(options.caller, options.permit.cloned());
        let budget = &budget.with_clock(&in_flight.clock);
        let params = json!({ "name": tool, "arguments": arguments, "task": {} });
        let request = CustomRequest::new("tools/call", Some(params));
        let created = self
            .request(request, &budget.limit_to_remaining(options))
            .await;
        let created =
            raw_message::result_to_value(created.map_err(|error| budget.with_total_limit(error))?)?;
        match created.get("task") {
            Some(task) => self.follow_task(task, budget, options).await,
            // The call finished immediately.
            None => Ok(created),
        }
    }

    /// Polls a task to its end, and returns the result of the call.
    pub(super) async fn follow_task(
        &self,
        created: &Value,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let meter = ProgressMeter::default();
        let outcome = tokio::select! {
            biased;
            outcome = self.poll_task(created, &meter, budget, options) => outcome,
            never = meter.forward_progress(options.progress) => match never {},
        };
        if let Some(last) = meter.take_latest() {
            (options.progress)(last);
        }
        outcome
    }

    async fn poll_task(
        &self,
        created: &Value,
        meter: &ProgressMeter,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let mut task = parse_task(created)?;
        let id = task.task_id.clone();
        let guard = CancelTaskOnDrop::new(self, &id);
        let mut last_message = None;
        let mut answered = BTreeSet::new();
        let mut message_count = 0;
        let outcome = loop {
            if task.status_message.is_some() && task.status_message != last_message {
                last_message = task.status_message.take();
                message_count += 1;
                meter.record_progress(f64::from(message_count), None, last_message.as_deref());
            }
            match (self.era, task.status) {
                (_, TaskStatus::Working | TaskStatus::Unknown) => {}
                // The answer to this request is the result, sent once there is one.
                (ProtocolEra::Legacy, _) => {
                    let params = json!({ "taskId": id });
                    let request = CustomRequest::new("tasks/result", Some(params));
                    break self.request_of_task(request, budget, options).await;
                }
                (ProtocolEra::Modern, TaskStatus::InputRequired) => {
                    let mut questions = task.input_requests.take().unwrap_or_default();
                    // Answered questions may stay listed for a while.
                    questions.retain(|key, _| answered.insert(key.clone()));
                    if answered.len() > MAX_TASK_QUESTIONS {
                        let message =
                            format!("it asked more than {MAX_TASK_QUESTIONS} times in one call");
                        break Err(CallError::TooMuch(message));
                    }
                    if !questions.is_empty() {
                        let answers = self.answer_questions(questions, budget, options).await?;
                        let params = UpdateTaskParams::new(&id, answers);
                        let request = UpdateTaskRequest::new(params);
                        self.request_of_task(request, budget, options).await?;
                    }
                }
                (ProtocolEra::Modern, TaskStatus::Completed) => {
                    let none = || CallError::Protocol("a task ended without a result".into());
                    break task.result.take().ok_or_else(none);
                }
                (ProtocolEra::Modern, TaskStatus::Failed | TaskStatus::Cancelled) => {
                    break Err(match task.error.take() {
                        Some(failure) => CallError::Refused {
                            code: failure.code,
                            message: failure.message,
                            data: failure.data,
                        },
                        None => CallError::Refused {
                            code: REQUEST_CANCELLED,
                            message: "the task was cancelled by its server".into(),
                            data: None,
                        },
                    });
                }
            }
            tokio::select! {
                () = self.wait_poll_interval(task.poll_interval_ms) => {}
                error = budget.wait_until_exhausted() => return Err(error),
            }
            let request: ClientRequest = match self.era {
                ProtocolEra::Legacy => {
                    CustomRequest::new("tasks/get", Some(json!({ "taskId": id }))).into()
                }
                ProtocolEra::Modern => GetTaskRequest::new(GetTaskParams::new(&id)).into(),
            };
            task = parse_task(&self.request_of_task(request, budget, options).await?)?;
        };
        guard.disarm();
        outcome
    }

    /// Waits for the server's poll interval, or until it reports a status.
    async fn wait_poll_interval(&self, interval: Option<f64>) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates"
        )]
        let interval =
            interval.map_or(DEFAULT_POLL_INTERVAL, |ms| Duration::from_millis(ms as u64));
        sleep(MIN_POLL_INTERVAL).await;
        tokio::select! {
            () = sleep(interval.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)) => {}
            () = self.router.task_status.notified() => {}
        }
    }

    /// Makes a request about a task. A task does not outlive its server's process, so an ended session means an unknown
    /// outcome.
    async fn request_of_task(
        &self,
        request: impl Into<ClientRequest>,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        match self
            .request(request, &budget.limit_to_remaining(options))
            .await
        {
            Ok(result) => Ok(raw_message::result_to_value(result)?),
            Err(CallError::NotSent) => {
                Err(CallError::Unknown(self.cause_for(options.caller, None)))
            }
            Err(error) => Err(budget.with_total_limit(error)),
        }
    }
}

fn parse_task(task: &Value) -> Result<TaskState, CallError> {
    TaskState::deserialize(task).map_err(|_| {
        let shown = excerpt(&task.to_string());
        CallError::Protocol(format!("its task is not valid MCP: {shown}"))
    })
}

/// Cancels a task at its server on drop, unless disarmed.
struct CancelTaskOnDrop {
    peer: Peer<RoleClient>,
    cancel: Option<ClientRequest>,
}

impl CancelTaskOnDrop {
    fn new(session: &Session, id: &str) -> Self {
        let cancel = match session.era {
            ProtocolEra::Legacy => {
                CustomRequest::new("tasks/cancel", Some(json!({ "taskId": id }))).into()
            }
            ProtocolEra::Modern => CancelTaskRequest::new(CancelTaskParams::new(id)).into(),
        };
        Self {
            peer: session.peer.clone(),
            cancel: Some(cancel),
        }
    }

    fn disarm(mut self) {
        self.cancel = None;
    }
}

impl Drop for CancelTaskOnDrop {
    fn drop(&mut self) {
        let Some(request) = self.cancel.take() else {
            return;
        };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            match timeout(TASK_CANCEL_TIMEOUT, peer.send_request(request)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => debug!(%error, "a task was not cancelled"),
                Err(_) => debug!("the server did not confirm the cancellation of a task"),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_state_is_parsed_in_either_era() {
        let old = json!({
            "taskId": "t", "status": "input_required", "createdAt": "", "ttl": 1, "pollInterval": 50,
        });
        let new = json!({
            "resultType": "complete", "taskId": "t", "status": "completed", "pollIntervalMs": 7,
            "result": { "content": [] },
        });
        let later = json!({ "taskId": "t", "status": "resting" });
        let old = parse_task(&old).unwrap();
        assert!(old.status == TaskStatus::InputRequired && old.poll_interval_ms == Some(50.0));
        let new = parse_task(&new).unwrap();
        assert!(new.status == TaskStatus::Completed && new.poll_interval_ms == Some(7.0));
        assert_eq!(new.result, Some(json!({ "content": [] })));
        assert!(parse_task(&later).unwrap().status == TaskStatus::Unknown);
        assert!(parse_task(&json!({ "status": "working" })).is_err());
    }
}
