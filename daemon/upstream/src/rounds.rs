//! A request that takes several rounds: its server answers with questions, and is asked again with their
//! answers.
//!
//! Here a question belongs to its request, so that whoever made that one is asked and nobody else.
//!
//! Invariant: one request has at most [`MOST`] rounds, and its time stands still only while somebody is
//! asked. If its session ends between two rounds, it is not begun anew: nobody knows what the first ones
//! did.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::try_join_all;
#[expect(deprecated, reason = "servers of today ask for it")]
use rmcp::model::CreateMessageRequestParams;
use rmcp::model::{ClientRequest, ElicitRequestParams, InputResponses};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    asks::Whom,
    in_flight::Party,
    raw::{self, answer},
    request::Sending,
    session::{CallError, Session},
};
use mux_caller::Clock;
use mux_catalog::Era;

const MOST: usize = 8;
/// Questions of one round.
const MOST_QUESTIONS: usize = 16;
/// Before a request is made again of which nothing was wanted.
const PAUSE: Duration = Duration::from_millis(100);
/// What MCP says when a user declines that something is sampled.
const REJECTED: i32 = -1;
/// The user has to open a page before the call can be made.
const URL_REQUIRED: i32 = -32042;

/// What goes with a request that is made again.
#[derive(Clone, Default)]
pub(super) struct Given {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// The time of one request with all its rounds.
pub(super) struct Budget {
    begun: Instant,
    whole: Duration,
    pub(super) clock: Arc<Clock>,
}

impl Budget {
    pub(super) fn of(sending: &Sending<'_>) -> Self {
        Self {
            begun: Instant::now(),
            whole: sending.whole,
            clock: Arc::default(),
        }
    }

    /// The same by another clock, which is held by whoever asks.
    pub(super) fn by(&self, clock: &Arc<Clock>) -> Self {
        Self {
            clock: Arc::clone(clock),
            ..*self
        }
    }

    fn left(&self) -> Duration {
        self.whole
            .saturating_add(self.clock.stood())
            .saturating_sub(self.begun.elapsed())
    }

    /// The same with what is left of the whole time.
    pub(super) fn spend<'a>(&self, sending: &Sending<'a>) -> Sending<'a> {
        Sending {
            whole: self.left(),
            ..*sending
        }
    }

    pub(super) async fn over(&self) -> CallError {
        self.clock.over(self.begun, self.whole).await;
        CallError::TooLong(self.whole)
    }

    /// An error says what was allowed, and not what was left.
    pub(super) fn of_all(&self, error: CallError) -> CallError {
        match error {
            CallError::TooLong(_) => CallError::TooLong(self.whole),
            error => error,
        }
    }
}

impl Session {
    /// Makes the request as often as its server needs.
    pub(super) async fn rounds(
        &self,
        request: impl FnMut(Given) -> ClientRequest,
        budget: &Budget,
        sending: &Sending<'_>,
    ) -> Result<Value, CallError> {
        self.noticing(self.all_rounds(request, budget, sending).await)
    }

    async fn all_rounds(
        &self,
        mut request: impl FnMut(Given) -> ClientRequest,
        budget: &Budget,
        sending: &Sending<'_>,
    ) -> Result<Value, CallError> {
        let mut given = Given::default();
        for round in 0..=MOST {
            let asked = self.request(request(given), &budget.spend(sending)).await;
            let result = match asked {
                Ok(result) => raw::value(result)?,
                Err(CallError::NotSent) if round > 0 => {
                    return Err(CallError::Unknown(self.cause()));
                }
                Err(error) => {
                    self.note_pages(&error, sending);
                    return Err(budget.of_all(error));
                }
            };
            if self.era == Era::Legacy || result["resultType"] != "input_required" {
                return Ok(result);
            }
            let wanted = Wanted::deserialize(&result).map_err(|error| {
                CallError::Protocol(format!("what it asks cannot be read: {error}"))
            })?;
            given = Given {
                responses: match wanted.input_requests {
                    Some(questions) => Some(self.answers(questions, budget, sending).await?),
                    None => {
                        sleep(PAUSE * (round as u32 + 1)).await;
                        None
                    }
                },
                state: wanted.request_state,
            };
        }
        let message = format!("it asked more than {MOST} times in one call");
        Err(CallError::TooMuch(message))
    }

    /// All answers, under the names of the questions. The limit of a question counts, and no other.
    pub(super) async fn answers(
        &self,
        questions: Questions,
        budget: &Budget,
        sending: &Sending<'_>,
    ) -> Result<InputResponses, CallError> {
        if questions.len() > MOST_QUESTIONS {
            let count = questions.len();
            let message = format!("it asks {count} questions at once, over {MOST_QUESTIONS}");
            return Err(CallError::TooMuch(message));
        }
        let asked = questions.into_iter().map(|(key, question)| async move {
            let whom = self.whom(&key, budget, sending);
            let answer = self.answer(question, whom).await?;
            Ok((key, answer))
        });
        Ok(try_join_all(asked).await?.into_iter().collect())
    }

    /// Whoever made the request.
    fn whom(&self, key: &str, budget: &Budget, sending: &Sending<'_>) -> Whom {
        let caller = sending.caller;
        let party = caller.and_then(|caller| {
            Some(Party {
                caller: Arc::clone(caller),
                seat: sending.place.map(|place| Arc::clone(place.seat())),
                mailbox: Arc::clone(caller.mailbox.as_ref()?),
                clocks: vec![Arc::clone(&budget.clock), Arc::clone(&caller.clock)],
                // A request that is given up is dropped, and its questions with it.
                over: vec![CancellationToken::new()],
            })
        });
        Whom {
            party,
            workspace: caller.and_then(|caller| caller.workspace.clone()),
            key: Some(key.to_owned()),
        }
    }

    async fn answer(&self, question: InputQuestion, whom: Whom) -> Result<Value, CallError> {
        let never = CancellationToken::new();
        let unreadable = |error: serde_json::Error| {
            CallError::Protocol(format!("what it asks cannot be read: {error}"))
        };
        let params = question.params.unwrap_or_default();
        match question.method.as_str() {
            "elicitation/create" => {
                ElicitRequestParams::deserialize(&params).map_err(unreadable)?;
                answer(self.asks.elicit(whom, params, &never).await)
            }
            "sampling/createMessage" => {
                #[expect(deprecated, reason = "servers of today ask for it")]
                CreateMessageRequestParams::deserialize(&params).map_err(unreadable)?;
                let sampled = self.asks.sample(whom, params, &never).await;
                // Such an answer has no place for a refusal: there is nothing to go on with.
                answer(sampled.map_err(|error| CallError::Refused {
                    code: REJECTED,
                    message: error.message.into_owned(),
                    data: error.data,
                })?)
            }
            "roots/list" => answer(self.asks.roots(whom, &never).await),
            other => {
                let message = format!("it asks for {other:?}, which MCP does not have");
                Err(CallError::Protocol(message))
            }
        }
    }

    fn note_pages(&self, error: &CallError, sending: &Sending<'_>) {
        if let (
            CallError::Refused {
                code: URL_REQUIRED,
                data: Some(data),
                ..
            },
            Some(caller),
        ) = (error, sending.caller)
        {
            self.ears.pages.required(data, caller);
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    input_requests: Option<Questions>,
    request_state: Option<String>,
}

/// By the server's own names.
pub(super) type Questions = BTreeMap<String, InputQuestion>;

#[derive(Deserialize)]
pub(super) struct InputQuestion {
    method: String,
    params: Option<Value>,
}
