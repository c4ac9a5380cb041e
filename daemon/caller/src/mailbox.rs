//! One connection's notices and the questions that it was asked.
//!
//! Invariant: a connection that has never asked for notices keeps none and is asked nothing; one that
//! has gone answers nothing any more.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, timeout_at},
};

use super::{
    Answer, AskKind, Cause, News, Notice, Origin,
    line::{self, Line},
    news::Edition,
};

/// A longer log or a longer word on progress is dropped as a whole.
const LONGEST: usize = 256 << 10;
/// About how many bytes of notices go into one page.
const PAGE: usize = 1 << 20;

/// Whether an answer has the shape that the question wants; what is wrong with it.
pub(super) type Check = fn(&Value) -> Result<(), String>;

#[derive(Debug)]
pub struct Mailbox {
    connection: u64,
    /// Who is at the other end.
    origin: Arc<Origin>,
    pool: watch::Receiver<Edition>,
    state: Mutex<State>,
    /// Counts what has come.
    arrived: watch::Sender<u64>,
}

/// Guarded by `Mailbox::state`.
#[derive(Debug, Default)]
struct State {
    /// What the client can answer; none before it has said so.
    answers: Option<Vec<AskKind>>,
    /// The pool as the client knows it.
    seen: Edition,
    line: Line,
    open: HashMap<u64, Open>,
    /// Of open questions.
    bytes: usize,
    last_ask: u64,
    gone: bool,
}

#[derive(Debug)]
struct Open {
    answer: oneshot::Sender<Answer>,
    check: Check,
    bytes: usize,
}

/// What a server wants to know.
#[derive(Debug)]
pub struct Question {
    /// None if muxd itself asks.
    pub server: Option<String>,
    pub cause: Cause,
    pub kind: AskKind,
    /// The server's own name for it, where it has one.
    pub key: Option<String>,
    /// As MCP has them.
    pub params: Value,
    pub check: Check,
}

impl Mailbox {
    pub fn new(connection: u64, origin: Arc<Origin>, pool: &News) -> Arc<Self> {
        Arc::new(Self {
            connection,
            origin,
            pool: pool.listen(),
            state: Mutex::default(),
            arrived: watch::Sender::new(0),
        })
    }

    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// Who answers what is asked here.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether anybody reads what is told here.
    pub fn is_read(&self) -> bool {
        let state = self.state();
        state.answers.is_some() && !state.gone
    }

    /// Whether the connection has ended.
    pub fn has_gone(&self) -> bool {
        self.state().gone
    }

    /// Whether the client has said that it answers questions of this kind.
    pub fn answers(&self, kind: AskKind) -> bool {
        let state = self.state();
        !state.gone
            && state
                .answers
                .as_ref()
                .is_some_and(|can| can.contains(&kind))
    }

    pub fn tell(&self, notice: Notice) {
        if !self.is_read() {
            return;
        }
        if line::size(&notice) <= LONGEST {
            self.enter(&mut self.state(), notice);
        }
    }

    /// What has come after `after`, as soon as there is something, or nothing when the time is over.
    pub async fn read(
        &self,
        after: u64,
        wait: Duration,
        answers: Vec<AskKind>,
    ) -> Vec<(u64, Notice)> {
        let (mut arrived, mut pool) = (self.arrived.subscribe(), self.pool.clone());
        {
            let mut state = self.state();
            if state.answers.is_none() {
                state.seen = *pool.borrow_and_update();
            }
            state.answers = Some(answers);
        }
        let until = Instant::now() + wait;
        loop {
            arrived.mark_unchanged();
            let edition = *pool.borrow_and_update();
            let page = {
                let mut state = self.state();
                let changed = edition.since(state.seen);
                state.seen = edition;
                if changed.any() {
                    self.enter(&mut state, Notice::Changed(changed));
                }
                state.line.page(after, PAGE)
            };
            let news = async {
                tokio::select! {
                    changed = arrived.changed() => changed,
                    changed = pool.changed() => changed,
                }
            };
            // A timer rounds up to a millisecond, which every call through `mux mcp` would wait.
            if !page.is_empty() || wait.is_zero() {
                return page;
            }
            // The pool has ended with the daemon, or the time is over: there is just nothing new.
            if !matches!(timeout_at(until, news).await, Ok(Ok(()))) {
                return page;
            }
        }
    }

    /// Asks the client; none if it does not answer such questions, has gone, or has too many open.
    pub fn ask(self: &Arc<Self>, question: Question) -> Option<Asked> {
        let mut state = self.state();
        let can = state.answers.as_ref();
        if state.gone || !can.is_some_and(|can| can.contains(&question.kind)) {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let ask = state.last_ask + 1;
        let notice = Notice::Ask {
            ask,
            server: question.server,
            cause: question.cause,
            kind: question.kind,
            key: question.key,
            params: question.params,
        };
        let bytes = line::size(&notice);
        if state.bytes + bytes > line::MOST_BYTES {
            return None;
        }
        state.bytes += bytes;
        state.last_ask = ask;
        let check = question.check;
        state.open.insert(
            ask,
            Open {
                answer,
                check,
                bytes,
            },
        );
        self.enter(&mut state, notice);
        Some(Asked {
            mailbox: Arc::clone(self),
            ask,
            answered,
        })
    }

    /// The client answers. An answer of the wrong shape leaves the question open; one to a question that
    /// is not open changes nothing.
    pub fn answer(&self, ask: u64, answer: Answer) -> Result<(), String> {
        let mut state = self.state();
        let Some(open) = state.open.get(&ask) else {
            return Ok(());
        };
        if let Answer::Result(value) = &answer {
            (open.check)(value)?;
        }
        if let Some(open) = state.close(ask) {
            // Whoever asked may have gone a moment ago.
            drop(open.answer.send(answer));
        }
        Ok(())
    }

    /// The connection has ended, and with it everything that it was asked.
    pub fn close(&self) {
        let mut state = self.state();
        let answers = state.answers.take();
        *state = State {
            answers,
            gone: true,
            ..State::default()
        };
    }

    fn enter(&self, state: &mut State, notice: Notice) {
        let State { line, open, .. } = state;
        line.push(notice, |ask| open.contains_key(&ask));
        self.arrived.send_modify(|count| *count += 1);
    }

    fn withdraw(&self, ask: u64) {
        let mut state = self.state();
        if state.close(ask).is_some() {
            let State { line, open, .. } = &mut *state;
            line.withdraw(ask, |ask| open.contains_key(&ask));
            self.arrived.send_modify(|count| *count += 1);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self, ask: u64) -> Option<Open> {
        let open = self.open.remove(&ask)?;
        self.bytes -= open.bytes;
        Some(open)
    }
}

/// A question that waits for its answer. Dropping it withdraws it.
#[derive(Debug)]
pub struct Asked {
    mailbox: Arc<Mailbox>,
    ask: u64,
    answered: oneshot::Receiver<Answer>,
}

impl Asked {
    /// None if the client has gone.
    pub async fn answered(&mut self) -> Option<Answer> {
        (&mut self.answered).await.ok()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.mailbox.withdraw(self.ask);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Changed;

    const SOON: Duration = Duration::from_secs(5);

    fn question(kind: AskKind) -> Question {
        Question {
            server: Some("s".into()),
            cause: Cause::default(),
            kind,
            key: None,
            params: json!({ "message": "?" }),
            check: |value| match value.is_object() {
                true => Ok(()),
                false => Err("no object".into()),
            },
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_listened_is_told_and_asked_nothing() {
        let news = News::default();
        let mailbox = Mailbox::new(1, Arc::default(), &news);
        news.tell(Changed::ALL);
        mailbox.tell(Notice::Withdrawn { ask: 1 });
        assert!(mailbox.ask(question(AskKind::Sampling)).is_none());
        let heard = mailbox.read(0, SOON, vec![AskKind::Sampling]).await;
        assert!(heard.is_empty(), "{heard:?}");
        assert!(mailbox.ask(question(AskKind::Elicitation)).is_none());
        assert!(mailbox.ask(question(AskKind::Sampling)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn changes_of_the_pool_are_told_once_and_together() {
        let news = News::default();
        let mailbox = Mailbox::new(1, Arc::default(), &news);
        assert!(mailbox.read(0, Duration::ZERO, vec![]).await.is_empty());
        let (heard, ()) = tokio::join!(mailbox.read(0, SOON, vec![]), async {
            news.tell(Changed::TOOLS);
        });
        assert_eq!(heard, [(1, Notice::Changed(Changed::TOOLS))]);
        news.tell(Changed::TOOLS);
        news.tell(Changed::PROMPTS);
        let heard = mailbox.read(1, SOON, vec![]).await;
        let both = Changed::TOOLS.and(Changed::PROMPTS);
        assert_eq!(heard, [(2, Notice::Changed(both))]);
        assert!(mailbox.read(2, SOON, vec![]).await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_answered_in_its_shape_withdrawn_or_lost_with_the_client() {
        let mailbox = Mailbox::new(1, Arc::default(), &News::default());
        let kinds = || vec![AskKind::Elicitation];
        mailbox.read(0, Duration::ZERO, kinds()).await;
        let mut asked = mailbox.ask(question(AskKind::Elicitation)).unwrap();
        assert!(mailbox.answer(1, Answer::Result(json!(7))).is_err());
        assert_eq!(mailbox.answer(99, Answer::Result(json!(7))), Ok(()));
        let answer = Answer::Result(json!({ "action": "accept" }));
        mailbox.answer(1, answer.clone()).unwrap();
        assert_eq!(asked.answered().await, Some(answer));
        drop(asked);
        assert_eq!(mailbox.read(0, SOON, kinds()).await.len(), 1);
        drop(mailbox.ask(question(AskKind::Elicitation)).unwrap());
        let mut lost = mailbox.ask(question(AskKind::Elicitation)).unwrap();
        mailbox.close();
        assert_eq!(lost.answered().await, None);
        assert!(mailbox.ask(question(AskKind::Elicitation)).is_none());
    }
}
