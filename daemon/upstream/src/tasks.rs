//! Calls that become tasks: their server answers at once with a name, under which the result is to be had
//! later.
//!
//! In the old era a tool says that it has to be called so; in the new one any call may be answered so.
//!
//! Invariant: a task whose caller does not wait any more is cancelled at its server. It is asked for no
//! more often than its server says, and at least once in [`MAX_POLL_INTERVAL`].

use std::{collections::BTreeSet, sync::Arc, time::Duration};

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
    input_required::{InputQuestions, RoundBudget},
    progress_meter::ProgressMeter,
    raw_message,
    request::RequestOptions,
    session::{CallError, Session},
};
use mux_catalog::ProtocolEra;

const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(500);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(10);
/// How long a server may take to hear that nobody waits.
const TASK_CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often one task may ask.
const MAX_TASK_QUESTIONS: usize = 8;
/// MCP's code for a request that was cancelled.
const REQUEST_CANCELLED: i32 = -32800;

/// How far a task is, in the words of either era.
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
    /// A call in the old era that is to become a task.
    pub(super) async fn call_as_task(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        budget: &RoundBudget,
        sending: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        // Between two questions for its state the server may ask something, too.
        let flight = self.ears.in_flight.begin_request(
            sending.caller,
            sending.place.map(|place| Arc::clone(place.permit_slot())),
        );
        let budget = &budget.with_clock(&flight.clock);
        let params = json!({ "name": tool, "arguments": arguments, "task": {} });
        let request = CustomRequest::new("tools/call", Some(params));
        let made = self
            .request(request, &budget.limit_to_remaining(sending))
            .await;
        let made =
            raw_message::result_to_value(made.map_err(|error| budget.with_total_limit(error))?)?;
        match made.get("task") {
            Some(task) => self.follow_task(task, budget, sending).await,
            // It was done at once.
            None => Ok(made),
        }
    }

    /// To its end, which is the result of the call.
    pub(super) async fn follow_task(
        &self,
        made: &Value,
        budget: &RoundBudget,
        sending: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let meter = ProgressMeter::default();
        let outcome = tokio::select! {
            biased;
            outcome = self.poll_task(made, &meter, budget, sending) => outcome,
            never = meter.forward_progress(sending.progress) => match never {},
        };
        if let Some(last) = meter.take_latest() {
            (sending.progress)(last);
        }
        outcome
    }

    async fn poll_task(
        &self,
        made: &Value,
        meter: &ProgressMeter,
        budget: &RoundBudget,
        sending: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let mut task = parse_task(made)?;
        let id = task.task_id.clone();
        let guard = CancelTaskOnDrop::new(self, &id);
        let (mut told, mut asked, mut words) = (None, BTreeSet::new(), 0);
        let outcome = loop {
            if task.status_message.is_some() && task.status_message != told {
                told = task.status_message.take();
                words += 1;
                meter.record_progress(f64::from(words), None, told.as_deref());
            }
            match (self.era, task.status) {
                (_, TaskStatus::Working | TaskStatus::Unknown) => {}
                // It says the rest in answer to this, which it gives when there is something to give.
                (ProtocolEra::Legacy, _) => {
                    let params = json!({ "taskId": id });
                    let request = CustomRequest::new("tasks/result", Some(params));
                    break self.request_of_task(request, budget, sending).await;
                }
                (ProtocolEra::Modern, TaskStatus::InputRequired) => {
                    let mut questions = task.input_requests.take().unwrap_or_default();
                    // Those that were answered may stand there for a while.
                    questions.retain(|key, _| asked.insert(key.clone()));
                    if asked.len() > MAX_TASK_QUESTIONS {
                        let message =
                            format!("it asked more than {MAX_TASK_QUESTIONS} times in one call");
                        break Err(CallError::TooMuch(message));
                    }
                    if !questions.is_empty() {
                        let answers = self.answer_questions(questions, budget, sending).await?;
                        let params = UpdateTaskParams::new(&id, answers);
                        let request = UpdateTaskRequest::new(params);
                        self.request_of_task(request, budget, sending).await?;
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
                over = budget.wait_until_exhausted() => return Err(over),
            }
            let request: ClientRequest = match self.era {
                ProtocolEra::Legacy => {
                    CustomRequest::new("tasks/get", Some(json!({ "taskId": id }))).into()
                }
                ProtocolEra::Modern => GetTaskRequest::new(GetTaskParams::new(&id)).into(),
            };
            task = parse_task(&self.request_of_task(request, budget, sending).await?)?;
        };
        guard.disarm();
        outcome
    }

    /// The time that the server wants, or until it says something.
    async fn wait_poll_interval(&self, interval: Option<f64>) {
        let interval =
            interval.map_or(DEFAULT_POLL_INTERVAL, |ms| Duration::from_millis(ms as u64));
        sleep(MIN_POLL_INTERVAL).await;
        tokio::select! {
            () = sleep(interval.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)) => {}
            () = self.ears.tasks.notified() => {}
        }
    }

    /// A task lives on in its server's process only: what ends that ends the task.
    async fn request_of_task(
        &self,
        request: impl Into<ClientRequest>,
        budget: &RoundBudget,
        sending: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        match self
            .request(request, &budget.limit_to_remaining(sending))
            .await
        {
            Ok(result) => raw_message::result_to_value(result),
            Err(CallError::NotSent) => Err(CallError::Unknown(self.cause())),
            Err(error) => Err(budget.with_total_limit(error)),
        }
    }
}

fn parse_task(task: &Value) -> Result<TaskState, CallError> {
    TaskState::deserialize(task)
        .map_err(|error| CallError::Protocol(format!("its task cannot be read: {error}")))
}

/// Tells the server that nobody waits for a task any more.
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
                Err(_) => debug!("a server does not say whether it has cancelled a task"),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_in_the_words_of_either_era() {
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
