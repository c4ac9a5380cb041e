//! A request in several rounds: its server answers `input_required` with questions, and gets the request again, with
//! the answers.
//!
//! These questions belong to their request, so they go only to the client that made it.
//!
//! Invariant: one request has at most [`MAX_ROUNDS`] rounds, and its clock is paused only while a client is asked. If
//! the session ends between two rounds, the request is not restarted, because the effects of the first rounds are
//! unknown.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::try_join_all;
#[expect(deprecated, reason = "current servers ask for it")]
use rmcp::model::CreateMessageRequestParams;
use rmcp::model::{ClientRequest, ElicitRequestParams, InputResponses};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{Session, request::RequestOptions};
use crate::{
    calls::{CallError, CallingClient},
    link::raw_message,
    server_messages::{RequestRecipient, remove_refused_pages},
};
use mux_caller::PausableClock;
use mux_catalog::ProtocolEra;
use mux_text::error_chain::excerpt;

const MAX_ROUNDS: u32 = 8;
/// The maximum number of questions in one round.
const MAX_QUESTIONS_PER_ROUND: usize = 16;
/// The delay before the next round if the server asked no question.
const EMPTY_ROUND_DELAY: Duration = Duration::from_millis(100);
/// MCP's error code for sampling that the user declined.
const SAMPLING_REJECTED_CODE: i32 = -1;
/// MCP's error code for a call that requires the user to open a URL first.
const URL_ELICITATION_REQUIRED: i32 = -32042;

/// The answers and the state that go with the next round of a request.
#[derive(Clone, Default)]
pub(super) struct InputAnswers {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// The time limit of one request over all its rounds.
pub(super) struct RoundBudget {
    started: Instant,
    whole: Duration,
    pub(crate) clock: Arc<PausableClock>,
}

impl RoundBudget {
    pub(crate) fn of(options: &RequestOptions<'_>) -> Self {
        Self {
            started: Instant::now(),
            whole: options.whole,
            clock: Arc::default(),
        }
    }

    /// The same budget on another clock, which pauses while a client is asked.
    pub(super) fn with_clock(&self, clock: &Arc<PausableClock>) -> Self {
        Self {
            clock: Arc::clone(clock),
            ..*self
        }
    }

    fn remaining_time(&self) -> Duration {
        self.whole
            .saturating_add(self.clock.paused_for())
            .saturating_sub(self.started.elapsed())
    }

    /// The options with the total time limited to what remains.
    pub(super) fn limit_to_remaining<'a>(
        &self,
        options: &RequestOptions<'a>,
    ) -> RequestOptions<'a> {
        RequestOptions {
            whole: self.remaining_time(),
            ..*options
        }
    }

    pub(super) async fn wait_until_exhausted(&self) -> CallError {
        self.clock
            .wait_until_elapsed(self.started, self.whole)
            .await;
        CallError::TooLong(self.whole)
    }

    /// Reports the total limit in a [`CallError::TooLong`], instead of the remaining time.
    pub(super) fn with_total_limit(&self, error: CallError) -> CallError {
        match error {
            CallError::TooLong(_) => CallError::TooLong(self.whole),
            error => error,
        }
    }
}

impl Session {
    /// Makes the request in as many rounds as its server needs.
    pub(super) async fn request_in_rounds(
        &self,
        request: impl FnMut(InputAnswers) -> ClientRequest,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        self.detect_missing_back_channel(self.run_rounds(request, budget, options).await)
    }

    async fn run_rounds(
        &self,
        mut request: impl FnMut(InputAnswers) -> ClientRequest,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<Value, CallError> {
        let mut answers = InputAnswers::default();
        for round in 0..=MAX_ROUNDS {
            let asked = self
                .request(request(answers), &budget.limit_to_remaining(options))
                .await;
            let result = match asked {
                Ok(result) => raw_message::result_to_value(result)?,
                Err(CallError::NotSent) if round > 0 => {
                    return Err(CallError::Unknown(self.cause_for(options.caller, None)));
                }
                Err(mut error) => {
                    self.record_required_urls(&mut error, options);
                    return Err(budget.with_total_limit(error));
                }
            };
            if self.era == ProtocolEra::Legacy || result["resultType"] != "input_required" {
                return Ok(result);
            }
            let input = InputRequests::deserialize(&result)
                .map_err(|_| malformed_question(&result["inputRequests"]))?;
            answers = InputAnswers {
                responses: if let Some(questions) = input.input_requests {
                    Some(self.answer_questions(questions, budget, options).await?)
                } else {
                    sleep(EMPTY_ROUND_DELAY * (round + 1)).await;
                    None
                },
                state: input.request_state,
            };
        }
        let message = format!("it asked more than {MAX_ROUNDS} times in one call");
        Err(CallError::TooMuch(message))
    }

    /// Answers all questions, keyed by the server's names. Only the limits on questions apply.
    pub(super) async fn answer_questions(
        &self,
        questions: InputQuestions,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> Result<InputResponses, CallError> {
        if questions.len() > MAX_QUESTIONS_PER_ROUND {
            let count = questions.len();
            let message =
                format!("it asks {count} questions at once, over {MAX_QUESTIONS_PER_ROUND}");
            return Err(CallError::TooMuch(message));
        }
        let asked = questions.into_iter().map(|(key, question)| async move {
            let recipient = Self::recipient_for(&key, budget, options);
            let answer = self.answer_question(question, recipient).await?;
            Ok::<_, CallError>((key, answer))
        });
        Ok(try_join_all(asked).await?.into_iter().collect())
    }

    /// The caller of the request as the recipient of its questions.
    fn recipient_for(
        key: &str,
        budget: &RoundBudget,
        options: &RequestOptions<'_>,
    ) -> RequestRecipient {
        let caller = options.caller;
        let client = caller.and_then(|caller| {
            Some(CallingClient {
                caller: Arc::clone(caller),
                permit: options.permit.cloned(),
                mailbox: Arc::clone(caller.mailbox.as_ref()?),
                tool: caller.tool.clone(),
                clocks: vec![Arc::clone(&budget.clock), Arc::clone(&caller.clock)],
                // An abandoned request is dropped together with its questions.
                finished: vec![CancellationToken::new()],
            })
        });
        RequestRecipient {
            client,
            workspace: caller.and_then(|caller| caller.workspace.clone()),
            key: Some(key.to_owned()),
        }
    }

    async fn answer_question(
        &self,
        question: InputQuestion,
        recipient: RequestRecipient,
    ) -> Result<Value, CallError> {
        let never = CancellationToken::new();
        let params = question.params.unwrap_or_default();
        match question.method.as_str() {
            "elicitation/create" => {
                ElicitRequestParams::deserialize(&params)
                    .map_err(|_| malformed_question(&params))?;
                Ok(serde_json::to_value(
                    self.server_requests.elicit(recipient, params, &never).await,
                )?)
            }
            "sampling/createMessage" => {
                #[expect(deprecated, reason = "current servers ask for it")]
                CreateMessageRequestParams::deserialize(&params)
                    .map_err(|_| malformed_question(&params))?;
                let sampled = self.server_requests.sample(recipient, params, &never).await;
                // This kind of answer cannot carry a refusal, so the call fails.
                let sampled = sampled.map_err(|error| CallError::Refused {
                    code: SAMPLING_REJECTED_CODE,
                    message: error.message.into_owned(),
                    data: error.data,
                })?;
                Ok(serde_json::to_value(sampled)?)
            }
            "roots/list" => Ok(serde_json::to_value(
                self.server_requests.roots(recipient, &never).await,
            )?),
            other => {
                let message = format!("it asks for {other:?}, which is not an MCP method");
                Err(CallError::Protocol(message))
            }
        }
    }

    /// Removes the pages that are not opened from the error, and records the other pages.
    fn record_required_urls(&self, error: &mut CallError, options: &RequestOptions<'_>) {
        let CallError::Refused {
            code: URL_ELICITATION_REQUIRED,
            data: Some(data),
            message,
        } = error
        else {
            return;
        };
        for why in remove_refused_pages(data) {
            message.push_str("; muxd does not pass a page on: ");
            message.push_str(&why);
        }
        if let Some(caller) = options.caller {
            self.router.url_elicitations.record_required(data, caller);
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequests {
    input_requests: Option<InputQuestions>,
    request_state: Option<String>,
}

/// Questions by the server's keys.
pub(super) type InputQuestions = BTreeMap<String, InputQuestion>;

#[derive(Deserialize)]
pub(crate) struct InputQuestion {
    method: String,
    params: Option<Value>,
}
/// The error for a question that lacks members that MCP requires.
fn malformed_question(question: &Value) -> CallError {
    let shown = excerpt(&question.to_string());
    CallError::Protocol(format!("its request for input is not valid MCP: {shown}"))
}
