//! Resources and prompts of servers, and their notifications and requests during calls, as a client of the socket gets
//! them.
//!
//! Invariant: a client gets only what its own calls caused, and every request of a server is answered.

mod floods;
mod guest;
mod pages;

use std::{fs, path::Path};

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{
    Answer, AnswerRequest, AskKind, CallRequest, Error, Event, EventKind, EventsRequest, Held,
    Notice, NoticeKind, NoticesRequest, Outcome, RunRequest,
};
use mux_tests::{
    TestEnv,
    env::{binary, may_sample},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// The timeout of requests in seconds, longer than anything here takes.
const PATIENCE: u64 = 60;

/// A home with a fixture server `fix` that has all capabilities, and the path of its log of requests.
fn with_offers(more: &str) -> (TestEnv, std::path::PathBuf) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--offers", "--call-log", log.to_str().unwrap()]);
    env.write_config(&format!("{fix}{more}{}", may_sample("fix")));
    (env, log)
}

/// The number of requests with this method in the log of a server.
pub(crate) fn asked(log: &Path, method: &str) -> usize {
    let name = format!("\"method\":\"{method}\"");
    let log = fs::read_to_string(log).unwrap_or_default();
    log.lines().filter(|line| line.contains(&name)).count()
}

/// A client with its position in its notices.
pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) after: u64,
    answers: Vec<AskKind>,
    /// Notices that were received and that `next` has not returned yet.
    unread: Vec<Notice>,
}

impl Client {
    /// Connects a client that never requests notices.
    pub(crate) async fn deaf(env: &TestEnv) -> Self {
        Self::of(env, &ClientIdentity::new("test", "0")).await
    }

    pub(crate) async fn of(env: &TestEnv, identity: &ClientIdentity) -> Self {
        let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), identity);
        Self {
            session: session.await.unwrap(),
            after: 0,
            answers: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Connects a client that requests notices and answers these kinds of questions.
    pub(crate) async fn listening(env: &TestEnv, answers: &[AskKind]) -> Self {
        let mut client = Self::deaf(env).await;
        client.answers = answers.to_vec();
        assert!(client.notices(0).await.is_empty());
        client
    }

    pub(crate) async fn notices(&self, wait_ms: u64) -> Vec<Notice> {
        let request = NoticesRequest {
            after: self.after,
            wait_ms,
            answers: self.answers.clone(),
        };
        let page = self
            .session
            .client
            .notices(within_seconds(PATIENCE), request);
        page.await.unwrap().unwrap().notices
    }

    /// Waits for the next notice.
    pub(crate) async fn next(&mut self) -> NoticeKind {
        for _ in 0..10 {
            if self.unread.is_empty() {
                self.unread = self.notices(5_000).await;
            }
            if !self.unread.is_empty() {
                let notice = self.unread.remove(0);
                assert!(notice.seq > self.after);
                self.after = notice.seq;
                return notice.notice;
            }
        }
        panic!("no notice came");
    }

    /// Waits for the next question, and returns its number, kind and params.
    ///
    /// Skips list changes: a reconnected server may list its tools differently.
    pub(crate) async fn question(&mut self) -> (u64, AskKind, Value) {
        let mut next = self.next().await;
        while let NoticeKind::Changed { .. } = next {
            next = self.next().await;
        }
        match next {
            NoticeKind::Ask {
                ask,
                kind,
                params,
                server,
                ..
            } => {
                assert_eq!(server, "fix");
                (ask, kind, params)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn answer(&self, ask: u64, answer: Answer) -> Result<(), Error> {
        let request = AnswerRequest { ask, answer };
        let answered = self
            .session
            .client
            .answer(within_seconds(PATIENCE), request);
        answered.await.unwrap()
    }

    /// Starts a call in the background.
    pub(crate) fn begin(&self, tool: &str, arguments: Value) -> JoinHandle<Result<Value, Error>> {
        let request = CallRequest {
            path: format!("fix.{tool}"),
            arguments: arguments.into(),
            token: Some(format!("token of {tool}")),
            ..CallRequest::default()
        };
        let client = self.session.client.clone();
        tokio::spawn(async move {
            match client
                .call(within_seconds(PATIENCE), request)
                .await
                .unwrap()?
                .result
            {
                Held::Value(value) => Ok(value.to_value()),
                Held::Stored(handle) => panic!("{handle:?}"),
            }
        })
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.begin(tool, arguments).await.unwrap().unwrap()
    }

    pub(crate) async fn start(&self, code: &str, detach: bool) -> String {
        let request = RunRequest {
            source: code.into(),
            detach,
            no_check: true,
            ..RunRequest::default()
        };
        let started = self
            .session
            .client
            .start_run(within_seconds(PATIENCE), request);
        started.await.unwrap().unwrap().run
    }

    /// All events of a run, up to its end.
    pub(crate) async fn events(&self, run: &str) -> Vec<Event> {
        let mut seen: Vec<Event> = Vec::new();
        let ended = |event: &Event| matches!(event.event, EventKind::Ended { .. });
        while !seen.last().is_some_and(ended) {
            let request = EventsRequest {
                run: run.into(),
                after: seen.last().map_or(0, |event| event.seq),
                wait_ms: 20_000,
            };
            let page = self
                .session
                .client
                .events(within_seconds(PATIENCE), request);
            seen.extend(page.await.unwrap().unwrap().events);
        }
        seen
    }

    pub(crate) async fn outcome(&self, run: &str) -> Outcome {
        match self.events(run).await.pop().unwrap().event {
            EventKind::Ended { outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }
}

/// The answer of a user who accepts and enters this name in the form.
pub(crate) fn accepted(name: &str) -> Answer {
    Answer::Result(json!({ "action": "accept", "content": { "name": name } }))
}
