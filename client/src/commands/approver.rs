//! Whoever sits at the terminal of `mux run` and `mux call` is asked there whether a call may be made.
//!
//! Invariant: nobody is asked where standard input is no terminal: what stands there is data. An answer that is not
//! one of those that are offered decides nothing.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io::{self, BufRead as _, IsTerminal as _},
    time::Duration,
};

use mux_client::{Session, within_seconds};
use mux_proto::{
    Answer, AnswerRequest, ApprovalAsked, AskKind, Cause, NoticeKind, NoticesRequest, transport,
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::render::{self, Quiet, RunView, Waiting};

/// Milliseconds that the daemon holds a request before it answers with nothing.
const POLL: u64 = 25_000;
/// What is read so long after a question was begun was typed before it.
const SETTLING: Duration = Duration::from_millis(50);

/// Listens for what a connection is asked.
pub(super) struct Approver {
    /// Somebody sits there.
    asks: bool,
    /// Says what waits, where no view of a run does.
    tells: bool,
    quiet: Quiet,
}

impl Approver {
    /// For a run, whose view says what waits. `mute`: nobody is asked.
    pub(super) fn of(mute: bool, view: &mut RunView) -> Self {
        let asks = !mute && is_somebody_there();
        Self {
            asks,
            tells: false,
            quiet: view.quiet(asks),
        }
    }

    /// For a call outside of runs.
    pub(super) fn of_call(mute: bool, takes_stdin: bool, waiting: &Waiting) -> Self {
        Self {
            asks: !mute && !takes_stdin && is_somebody_there(),
            tells: !mute,
            quiet: waiting.quiet(),
        }
    }

    /// From here on the daemon knows who may be asked. To come before whatever it may ask for.
    pub(super) async fn listen(&self, session: &Session) {
        if self.is_idle(session) {
            return;
        }
        // Without it nobody is asked here, and `mux approve` answers as ever.
        drop(
            session
                .client
                .notices(within_seconds(5), self.request(0, 0))
                .await,
        );
    }

    /// Asks, one after the other, for as long as the connection lasts.
    pub(super) async fn answer(&self, session: &Session) -> Infallible {
        if self.is_idle(session) {
            return std::future::pending().await;
        }
        let (mut after, mut asked) = (0, Asked::default());
        let poll = |after| {
            let context = transport::within(Duration::from_millis(2 * POLL));
            session.client.notices(context, self.request(after, POLL))
        };
        let mut polling = Box::pin(poll(after));
        loop {
            tokio::select! {
                page = &mut polling => {
                    let Ok(Ok(page)) = page else {
                        // The run or the call says what became of the connection.
                        return std::future::pending().await;
                    };
                    for notice in page.notices {
                        after = notice.seq;
                        self.hear(notice.notice, &mut asked).await;
                    }
                    polling = Box::pin(poll(after));
                }
                line = asked.typed() => match line {
                    Some(line) => self.settle(session, &line, &mut asked).await,
                    // Standard input has ended.
                    None => asked.close(),
                },
            }
        }
    }

    fn is_idle(&self, session: &Session) -> bool {
        !(self.asks || self.tells) || session.require("approvals").is_err()
    }

    fn request(&self, after: u64, wait_ms: u64) -> NoticesRequest {
        NoticesRequest {
            after,
            wait_ms,
            answers: match self.asks {
                true => vec![AskKind::Approval],
                false => Vec::new(),
            },
        }
    }

    async fn hear(&self, notice: NoticeKind, asked: &mut Asked) {
        match notice {
            NoticeKind::Ask {
                ask,
                kind: AskKind::Approval,
                params,
                ..
            } => {
                if let Ok(request) = serde_json::from_value(params) {
                    asked.line.push_back((ask, request));
                    if asked.line.len() == 1 {
                        self.show(asked).await;
                    }
                }
            }
            NoticeKind::Withdrawn { ask } => {
                let first = asked.line.front().is_some_and(|(first, _)| *first == ask);
                asked.line.retain(|(open, _)| *open != ask);
                if first {
                    render::answered_elsewhere();
                    self.show(asked).await;
                }
            }
            NoticeKind::ApprovalAsked {
                cause: Cause::Call(_),
                asked,
            } if self.tells && !self.asks => render::waits(&asked),
            _ => {}
        }
    }

    /// The first of those that wait.
    async fn show(&self, asked: &mut Asked) {
        match asked.line.front().cloned() {
            Some((_, request)) => {
                self.quiet.hide();
                asked.listen().await;
                render::ask_to_approve(&request);
            }
            None => self.quiet.show(),
        }
    }

    async fn settle(&self, session: &Session, line: &str, asked: &mut Asked) {
        let Some((ask, _)) = asked.line.front() else {
            return;
        };
        let decision = match line.trim().to_lowercase().as_str() {
            "y" | "yes" => "once",
            "s" | "session" => "session",
            "a" | "always" => "always",
            "n" | "no" => "deny",
            _ => {
                render::ask_again();
                return;
            }
        };
        let request = AnswerRequest {
            ask: *ask,
            answer: Answer::Result(json!({ "decision": decision })),
        };
        // Somebody else may have been faster.
        drop(session.client.answer(within_seconds(10), request).await);
        asked.line.pop_front();
        self.show(asked).await;
    }
}

/// What waits for an answer, and what is typed.
#[derive(Default)]
struct Asked {
    line: VecDeque<(u64, ApprovalAsked)>,
    typed: Option<mpsc::UnboundedReceiver<String>>,
    is_closed: bool,
}

impl Asked {
    /// Hears what is typed from now on: what was typed before a question is no answer to it.
    async fn listen(&mut self) {
        self.read();
        tokio::time::sleep(SETTLING).await;
        if let Some(typed) = &mut self.typed {
            while typed.try_recv().is_ok() {}
        }
    }

    /// Reads what is typed, from the first question on.
    fn read(&mut self) {
        if self.typed.is_some() || self.is_closed {
            return;
        }
        let (sender, typed) = mpsc::unbounded_channel();
        self.typed = Some(typed);
        // It ends with the process: nothing else can end a read of a terminal.
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }

    async fn typed(&mut self) -> Option<String> {
        match &mut self.typed {
            Some(typed) => typed.recv().await,
            None => std::future::pending().await,
        }
    }

    fn close(&mut self) {
        (self.typed, self.is_closed) = (None, true);
    }
}

fn is_somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
