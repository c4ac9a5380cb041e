//! Brings what the daemon tells of a call or a run to the request of the agent that caused it.
//!
//! Invariant: a question is answered once, by whoever takes it; one that nobody takes is refused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mux_client::{lost, within_seconds};
use mux_proto::{Answer, AnswerRequest, AskKind, Cause, Error};
use serde_json::Value;
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    link::{Line, is_broken},
    teller::Teller,
};

/// A question may come before the answer that says which run has begun.
const EARLY: Duration = Duration::from_secs(2);

/// Something that a server wants to know of the agent.
pub(super) struct Question {
    pub(super) line: Arc<Line>,
    pub(super) ask: u64,
    /// The server that asks; none if muxd itself does.
    pub(super) server: Option<String>,
    /// What its server calls it, in the second era.
    pub(super) key: Option<String>,
    pub(super) kind: AskKind,
    /// As MCP has them.
    pub(super) params: Value,
    /// Nobody waits for the answer any more.
    pub(super) withdrawn: CancellationToken,
}

impl Question {
    /// Fails if this is no answer to what was asked; the question is still open then.
    pub(super) async fn answer(&self, result: Value) -> Result<(), Error> {
        self.send(Answer::Result(result)).await
    }

    pub(super) async fn refuse(&self, why: &str) {
        // A reason is a reason.
        drop(self.send(Answer::Refused(why.to_owned())).await);
    }

    async fn send(&self, answer: Answer) -> Result<(), Error> {
        let ask = self.ask;
        let request = AnswerRequest { ask, answer };
        let client = &self.line.session.client;
        match client.answer(within_seconds(10), request).await {
            Ok(answered) => answered,
            // The call that it was for is over, too.
            Err(error) if is_broken(&error) => Ok(()),
            Err(error) => Err(lost(error)),
        }
    }
}

/// Who takes questions.
#[derive(Clone, Default)]
pub(super) struct Desk(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    jobs: HashMap<Cause, Place>,
    early: HashMap<Cause, Vec<Question>>,
    /// By the line and the number that a question has on it.
    open: HashMap<(u64, u64), CancellationToken>,
    seats: u64,
}

struct Place {
    /// Of the request that sits there.
    seat: u64,
    questions: mpsc::UnboundedSender<Question>,
    teller: Teller,
}

/// As long as it lives, what is caused by this goes to the request that holds it.
pub(super) struct Seat {
    desk: Desk,
    cause: Cause,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut inner = self.desk.inner();
        // Another request may have sat down since.
        let own = |place: &Place| place.seat == self.number;
        if inner.jobs.get(&self.cause).is_some_and(own) {
            inner.jobs.remove(&self.cause);
        }
    }
}

impl Desk {
    pub(super) fn sit(
        &self,
        cause: Cause,
        questions: mpsc::UnboundedSender<Question>,
        teller: Teller,
    ) -> Seat {
        let mut inner = self.inner();
        for question in inner.early.remove(&cause).into_iter().flatten() {
            // The request that has just sat down listens.
            drop(questions.send(question));
        }
        inner.seats += 1;
        let number = inner.seats;
        let place = Place {
            seat: number,
            questions,
            teller,
        };
        inner.jobs.insert(cause.clone(), place);
        let desk = self.clone();
        Seat {
            desk,
            cause,
            number,
        }
    }

    /// Progress of what is caused by this goes there.
    pub(super) fn teller(&self, cause: &Cause) -> Option<Teller> {
        self.inner().jobs.get(cause).map(|job| job.teller.clone())
    }

    /// Somebody takes it, soon, or it is refused.
    pub(super) fn put(&self, cause: Cause, question: Question) {
        let withdrawn = question.withdrawn.clone();
        let key = (question.line.number, question.ask);
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
            tokio::spawn(self.clone().refuse_early(cause));
        }
    }

    /// The daemon waits for the answer no more.
    pub(super) fn withdraw(&self, line: &Line, ask: u64) {
        if let Some(token) = self.inner().open.remove(&(line.number, ask)) {
            token.cancel();
        }
    }

    async fn refuse_early(self, cause: Cause) {
        sleep(EARLY).await;
        let left = self.inner().early.remove(&cause);
        for question in left.into_iter().flatten() {
            question
                .refuse("the request that it is about has ended")
                .await;
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
