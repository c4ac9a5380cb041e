//! One connection's notices and open questions.
//!
//! Invariant: a connection that never read its notices gets no notices and no questions, and the questions of a closed
//! connection get no answer.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mux_messages::Notice;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, timeout_at},
};

use super::{
    CallCause, ClientAnswer, ClientNotice, ClientOrigin, ListChangeNotifier, QuestionKind,
    list_changes::ListVersions,
    notice_queue::{self, NoticeQueue},
};

/// The maximum size of a notice, in bytes. A larger one is dropped.
const MAX_NOTICE_BYTES: usize = 256 << 10;
/// The approximate size of a page of notices, in bytes.
const MAX_NOTICE_PAGE_BYTES: usize = 1 << 20;

/// Checks that an answer has the shape that its question requires, and returns the error.
pub(super) type QuestionAnswerCheck = fn(&Value) -> Result<(), String>;

#[derive(Debug)]
pub struct Mailbox {
    connection: u64,
    /// The client of the connection.
    origin: Arc<ClientOrigin>,
    pool: watch::Receiver<ListVersions>,
    state: Mutex<MailboxState>,
    /// A counter that increases with each notice.
    arrived: watch::Sender<u64>,
}

/// Guarded by `Mailbox::state`.
#[derive(Debug, Default)]
struct MailboxState {
    /// The kinds of questions that the client answers, or `None` before it first read its notices.
    answers: Option<Vec<QuestionKind>>,
    /// The versions of the lists that the client was told of.
    seen: ListVersions,
    line: NoticeQueue,
    open: HashMap<u64, OpenQuestion>,
    /// The size of the open questions, in bytes.
    bytes: usize,
    last_ask: u64,
    gone: bool,
}

#[derive(Debug)]
struct OpenQuestion {
    answer: oneshot::Sender<ClientAnswer>,
    check: QuestionAnswerCheck,
    bytes: usize,
}

/// A question to a client.
#[derive(Debug)]
pub struct ClientQuestion {
    /// `None` if muxd itself asks.
    pub server: Option<String>,
    pub cause: CallCause,
    /// The path of the tool whose call made the server ask, if it is known.
    pub tool: Option<Arc<str>>,
    pub kind: QuestionKind,
    /// The server's own key for the question, if it has one.
    pub key: Option<String>,
    /// The parameters as in MCP.
    pub params: Value,
    pub check: QuestionAnswerCheck,
}

impl Mailbox {
    pub fn new(connection: u64, origin: Arc<ClientOrigin>, pool: &ListChangeNotifier) -> Arc<Self> {
        Arc::new(Self {
            connection,
            origin,
            pool: pool.subscribe_versions(),
            state: Mutex::default(),
            arrived: watch::Sender::new(0),
        })
    }

    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// The client that answers the questions.
    pub fn origin(&self) -> &ClientOrigin {
        &self.origin
    }

    /// Returns true if the client reads its notices.
    pub fn is_read(&self) -> bool {
        let state = self.state();
        state.answers.is_some() && !state.gone
    }

    /// Returns true if the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.state().gone
    }

    /// Returns true if the client says that it answers questions of this kind.
    pub fn can_answer(&self, kind: QuestionKind) -> bool {
        let state = self.state();
        !state.gone
            && state
                .answers
                .as_ref()
                .is_some_and(|can| can.contains(&kind))
    }

    /// The kinds of questions that the client answers, in the order in which it lists them.
    pub fn answered_kinds(&self) -> Vec<QuestionKind> {
        let state = self.state();
        if state.gone {
            Vec::new()
        } else {
            state.answers.clone().unwrap_or_default()
        }
    }

    pub fn push_notice(&self, notice: ClientNotice) {
        if !self.is_read() {
            return;
        }
        if notice_queue::notice_bytes(&notice) <= MAX_NOTICE_BYTES {
            self.enqueue(&mut self.state(), notice);
        }
    }

    /// Notifies the client that a server's question was declined, because the client does not answer this kind, or for
    /// the reason `why`.
    pub fn push_declined(
        &self,
        server: &str,
        kind: QuestionKind,
        cause: CallCause,
        why: Option<String>,
    ) {
        self.push_notice(ClientNotice::Declined {
            server: server.to_owned(),
            kind,
            cause,
            why,
        });
    }

    /// Returns the notices after number `after` once there are any, or none after `wait`. `answers` are the kinds of
    /// questions that the client answers.
    pub async fn read_after(
        &self,
        after: u64,
        wait: Duration,
        answers: Vec<QuestionKind>,
    ) -> Vec<Notice> {
        let mut arrived = self.arrived.subscribe();
        let mut pool = self.pool.clone();
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
                let changed = edition.changes_since(state.seen);
                state.seen = edition;
                if changed.any() {
                    self.enqueue(&mut state, changed.notice());
                }
                state.line.take_page(after, MAX_NOTICE_PAGE_BYTES)
            };
            let news = async {
                tokio::select! {
                    changed = arrived.changed() => changed,
                    changed = pool.changed() => changed,
                }
            };
            // A timer rounds up to a millisecond, which would delay every call through `mux mcp`.
            if !page.is_empty() || wait.is_zero() {
                return page;
            }
            // The time is over, or the daemon is shutting down.
            if !matches!(timeout_at(until, news).await, Ok(Ok(()))) {
                return page;
            }
        }
    }

    /// The number of the last notice so far, whether the client has read it or not; 0 without one.
    pub fn last_notice(&self) -> u64 {
        self.state().line.last_number()
    }

    /// Asks the client. `None` if it does not answer such questions, has disconnected, or has too many open ones.
    pub fn ask(self: &Arc<Self>, question: ClientQuestion) -> Option<PendingQuestion> {
        let mut state = self.state();
        let can = state.answers.as_ref();
        if state.gone || !can.is_some_and(|can| can.contains(&question.kind)) {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let ask = state.last_ask + 1;
        let notice = ClientNotice::Ask {
            ask,
            own: question.server.is_none(),
            server: question.server.unwrap_or_else(|| "mux".into()),
            cause: question.cause,
            tool: question.tool.map(|tool| tool.to_string()),
            kind: question.kind,
            key: question.key,
            params: question.params,
        };
        let bytes = notice_queue::notice_bytes(&notice);
        if state.bytes + bytes > notice_queue::MAX_QUEUED_NOTICE_BYTES {
            return None;
        }
        state.bytes += bytes;
        state.last_ask = ask;
        let check = question.check;
        state.open.insert(
            ask,
            OpenQuestion {
                answer,
                check,
                bytes,
            },
        );
        self.enqueue(&mut state, notice);
        Some(PendingQuestion {
            mailbox: Arc::clone(self),
            ask,
            answered,
        })
    }

    /// Passes on the client's answer. An answer of the wrong shape leaves the question open. An answer to a question
    /// that is not open is ignored.
    pub fn answer(&self, ask: u64, answer: ClientAnswer) -> Result<(), String> {
        let mut state = self.state();
        let Some(open) = state.open.get(&ask) else {
            return Ok(());
        };
        if let ClientAnswer::Result(value) = &answer {
            (open.check)(value)?;
        }
        if let Some(open) = state.close(ask) {
            // The receiver may have been dropped a moment ago.
            drop(open.answer.send(answer));
        }
        Ok(())
    }

    /// Closes the mailbox of an ended connection, with its questions.
    pub fn close(&self) {
        let mut state = self.state();
        let answers = state.answers.take();
        *state = MailboxState {
            answers,
            gone: true,
            ..MailboxState::default()
        };
    }

    fn enqueue(&self, state: &mut MailboxState, notice: ClientNotice) {
        let MailboxState { line, open, .. } = state;
        line.push(notice, |ask| open.contains_key(&ask));
        self.arrived.send_modify(|count| *count += 1);
    }

    fn withdraw(&self, ask: u64) {
        let mut state = self.state();
        if state.close(ask).is_some() {
            let MailboxState { line, open, .. } = &mut *state;
            line.withdraw(ask, |ask| open.contains_key(&ask));
            self.arrived.send_modify(|count| *count += 1);
        }
    }

    fn state(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock()
    }
}

impl MailboxState {
    fn close(&mut self, ask: u64) -> Option<OpenQuestion> {
        let open = self.open.remove(&ask)?;
        self.bytes -= open.bytes;
        Some(open)
    }
}

/// A question that waits for its answer. Dropping it withdraws the question.
#[derive(Debug)]
pub struct PendingQuestion {
    mailbox: Arc<Mailbox>,
    ask: u64,
    answered: oneshot::Receiver<ClientAnswer>,
}

impl PendingQuestion {
    /// Waits for the answer. `None` if the connection has ended.
    pub async fn wait_for_answer(&mut self) -> Option<ClientAnswer> {
        (&mut self.answered).await.ok()
    }
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        self.mailbox.withdraw(self.ask);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ListChanges;

    const SOON: Duration = Duration::from_secs(5);

    fn question(kind: QuestionKind) -> ClientQuestion {
        ClientQuestion {
            server: Some("s".into()),
            cause: CallCause::default(),
            tool: None,
            kind,
            key: None,
            params: json!({ "message": "?" }),
            check: |value| {
                if value.is_object() {
                    Ok(())
                } else {
                    Err("no object".into())
                }
            },
        }
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_never_read_gets_no_notices_and_no_questions() {
        let news = ListChangeNotifier::default();
        let mailbox = Mailbox::new(1, Arc::default(), &news);
        news.notify_changed(ListChanges::ALL);
        mailbox.push_notice(ClientNotice::Withdrawn { ask: 1 });
        assert!(mailbox.ask(question(QuestionKind::Sampling)).is_none());
        let heard = mailbox
            .read_after(0, SOON, vec![QuestionKind::Sampling])
            .await;
        assert!(heard.is_empty(), "{heard:?}");
        assert!(mailbox.ask(question(QuestionKind::Elicitation)).is_none());
        assert!(mailbox.ask(question(QuestionKind::Sampling)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn list_changes_are_merged_and_sent_once() {
        let news = ListChangeNotifier::default();
        let mailbox = Mailbox::new(1, Arc::default(), &news);
        assert!(
            mailbox
                .read_after(0, Duration::ZERO, vec![])
                .await
                .is_empty()
        );
        let (heard, ()) = tokio::join!(mailbox.read_after(0, SOON, vec![]), async {
            news.notify_changed(ListChanges::TOOLS);
        });
        let heard: Vec<_> = heard.into_iter().map(|notice| notice.notice).collect();
        assert_eq!(heard, [ListChanges::TOOLS.notice()]);
        news.notify_changed(ListChanges::TOOLS);
        news.notify_changed(ListChanges::PROMPTS);
        let heard = mailbox.read_after(1, SOON, vec![]).await;
        let both = ListChanges {
            resources: false,
            ..ListChanges::ALL
        };
        let notice = both.notice();
        assert_eq!(heard, [Notice { seq: 2, notice }]);
        assert!(mailbox.read_after(2, SOON, vec![]).await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn question_is_answered_in_its_shape_withdrawn_or_closed_with_the_connection() {
        let mailbox = Mailbox::new(1, Arc::default(), &ListChangeNotifier::default());
        let kinds = || vec![QuestionKind::Elicitation];
        mailbox.read_after(0, Duration::ZERO, kinds()).await;
        let mut asked = mailbox.ask(question(QuestionKind::Elicitation)).unwrap();
        assert!(mailbox.answer(1, ClientAnswer::Result(json!(7))).is_err());
        assert_eq!(mailbox.answer(99, ClientAnswer::Result(json!(7))), Ok(()));
        let answer = ClientAnswer::Result(json!({ "action": "accept" }));
        mailbox.answer(1, answer.clone()).unwrap();
        assert_eq!(asked.wait_for_answer().await, Some(answer));
        drop(asked);
        assert_eq!(mailbox.read_after(0, SOON, kinds()).await.len(), 1);
        drop(mailbox.ask(question(QuestionKind::Elicitation)).unwrap());
        let mut lost = mailbox.ask(question(QuestionKind::Elicitation)).unwrap();
        mailbox.close();
        assert_eq!(lost.wait_for_answer().await, None);
        assert!(mailbox.ask(question(QuestionKind::Elicitation)).is_none());
    }
}
