//! Routes the daemon's notices about a call or run to the agent's request that caused it.
//!
//! Invariant: a question is answered once, by the request that receives it. Questions without a request are refused.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};

use mux_client::{rpc_error, within_seconds};
use mux_proto::{Answer, AnswerRequest, AskKind, Cause, Error};
use serde_json::Value;
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    daemon_link::{DaemonConnection, breaks_connection},
    progress_sender::ProgressSender,
};

/// How long a question waits for its request: it may arrive before the response that names the run.
const EARLY_QUESTION_TIMEOUT: Duration = Duration::from_secs(2);

/// A question of a server, or of muxd, to the agent.
pub(super) struct ServerQuestion {
    pub(super) connection: Arc<DaemonConnection>,
    pub(super) ask: u64,
    /// The server that asks, or `None` if muxd itself does.
    pub(super) server: Option<String>,
    /// The server's key of the question, in the modern era.
    pub(super) key: Option<String>,
    pub(super) kind: AskKind,
    /// The parameters of the MCP request.
    pub(super) params: Value,
    /// Cancelled when the answer is no longer awaited.
    pub(super) withdrawn: CancellationToken,
}

impl ServerQuestion {
    /// Answers the question. Fails if the result does not fit the question, which then stays open.
    pub(super) async fn answer(&self, result: Value) -> Result<(), Error> {
        self.send(Answer::Result(result)).await
    }

    pub(super) async fn refuse(&self, why: &str) {
        // A refusal is never rejected as invalid.
        drop(self.send(Answer::Refused(why.to_owned())).await);
    }

    async fn send(&self, answer: Answer) -> Result<(), Error> {
        let ask = self.ask;
        let request = AnswerRequest { ask, answer };
        let client = &self.connection.session.client;
        match Box::pin(client.answer(within_seconds(10), request)).await {
            Ok(answered) => answered,
            // The call that caused the question has also ended.
            Err(error) if breaks_connection(&error) => Ok(()),
            Err(error) => Err(rpc_error(error)),
        }
    }
}

/// The requests that receive questions and progress, by cause.
#[derive(Clone, Default)]
pub(super) struct QuestionRouter(Arc<Mutex<QuestionRouterInner>>);

#[derive(Default)]
struct QuestionRouterInner {
    jobs: HashMap<Cause, RegisteredRequest>,
    early: HashMap<Cause, Vec<ServerQuestion>>,
    /// Open questions, by connection and number.
    open: HashMap<(u64, u64), CancellationToken>,
    seats: u64,
}

struct RegisteredRequest {
    /// The number of the registration.
    registration: u64,
    questions: mpsc::UnboundedSender<ServerQuestion>,
    progress_sender: ProgressSender,
}

/// A guard: while it exists, notices with this cause go to the request that owns it.
pub(super) struct RegistrationGuard {
    question_router: QuestionRouter,
    cause: Cause,
    number: u64,
}

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        let mut inner = self.question_router.inner();
        // Another request may have registered meanwhile.
        let own = |request: &RegisteredRequest| request.registration == self.number;
        if inner.jobs.get(&self.cause).is_some_and(own) {
            inner.jobs.remove(&self.cause);
        }
    }
}

impl QuestionRouter {
    pub(super) fn register_request(
        &self,
        cause: Cause,
        questions: mpsc::UnboundedSender<ServerQuestion>,
        progress_sender: ProgressSender,
    ) -> RegistrationGuard {
        let mut inner = self.inner();
        for question in inner.early.remove(&cause).into_iter().flatten() {
            // The request that is being registered is receiving.
            drop(questions.send(question));
        }
        inner.seats += 1;
        let number = inner.seats;
        let request = RegisteredRequest {
            registration: number,
            questions,
            progress_sender,
        };
        inner.jobs.insert(cause.clone(), request);
        let question_router = self.clone();
        RegistrationGuard {
            question_router,
            cause,
            number,
        }
    }

    /// The receiver of progress with this cause.
    pub(super) fn progress_of(&self, cause: &Cause) -> Option<ProgressSender> {
        self.inner()
            .jobs
            .get(cause)
            .map(|job| job.progress_sender.clone())
    }

    /// Passes a question to its request. Without one, it is refused after a short wait.
    pub(super) fn route_question(&self, cause: Cause, question: ServerQuestion) {
        let withdrawn = question.withdrawn.clone();
        let key = (question.connection.number, question.ask);
        let mut inner = self.inner();
        inner.open.retain(|_, token| !token.is_cancelled());
        inner.open.insert(key, withdrawn);
        let rest = match inner.jobs.get(&cause) {
            Some(job) => job.questions.send(question).err().map(|unsent| unsent.0),
            None => Some(question),
        };
        if let Some(question) = rest {
            inner.early.entry(cause.clone()).or_default().push(question);
            drop(inner);
            tokio::spawn(self.clone().refuse_unclaimed(cause));
        }
    }

    /// Closes a question whose answer the daemon no longer awaits.
    pub(super) fn withdraw_question(&self, connection: &DaemonConnection, ask: u64) {
        if let Some(token) = self.inner().open.remove(&(connection.number, ask)) {
            token.cancel();
        }
    }

    async fn refuse_unclaimed(self, cause: Cause) {
        sleep(EARLY_QUESTION_TIMEOUT).await;
        let left = self.inner().early.remove(&cause);
        for question in left.into_iter().flatten() {
            question
                .refuse("the request that it is about has ended")
                .await;
        }
    }

    fn inner(&self) -> MutexGuard<'_, QuestionRouterInner> {
        self.0.lock()
    }
}
