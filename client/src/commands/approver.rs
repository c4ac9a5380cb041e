//! Asks the user at the terminal of `mux run` and `mux call` to approve calls.
//!
//! Invariant: nothing is asked if standard input is not a terminal, because it is data then. An answer that was not
//! offered decides nothing. An answer that covers more than the call that was shown takes effect only after everything
//! that it covers was listed and confirmed.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io::{self, BufRead as _, IsTerminal as _},
    time::Duration,
};

use mux_client::{Session, within_seconds};
use mux_proto::{
    ApprovalAsked, AskKind, Cause, DecideRequest, Decision, NoticeKind, NoticesRequest, transport,
};
use nix::sys::termios::{FlushArg, tcflush};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::render::{self, PromptAnswer, RunView, SpinnerGuard, SpinnerHandle};

/// Milliseconds that the daemon holds a request before it answers with nothing.
const NOTICES_POLL_MS: u64 = 25_000;
/// How long calls are collected before they are shown together. Input typed before that is discarded.
const APPROVAL_BATCH_DELAY: Duration = Duration::from_millis(50);

/// Receives and answers the approval requests of a connection.
pub(super) struct Approver {
    /// A user is at the terminal.
    asks: bool,
    /// Prints pending approvals itself, because no view of a run does.
    tells: bool,
    /// The calls are made by a run, so that they can be allowed for the rest of it.
    in_run: bool,
    spinner: Option<SpinnerHandle>,
}

impl Approver {
    /// For a run, whose view shows pending approvals. `mute`: nothing is asked.
    pub(super) fn for_run(mute: bool, view: &mut RunView) -> Self {
        let asks = !mute && is_interactive();
        Self {
            asks,
            tells: false,
            in_run: true,
            spinner: Some(view.spinner(asks)),
        }
    }

    /// For a call outside of runs.
    pub(super) fn for_call(mute: bool, takes_stdin: bool, waiting: &SpinnerGuard) -> Self {
        Self {
            asks: !mute && !takes_stdin && is_interactive(),
            tells: !mute,
            in_run: false,
            spinner: Some(waiting.spinner()),
        }
    }

    /// For a run that this command only starts: its calls are held as if they could be approved at this terminal.
    pub(super) fn for_detached_run(mute: bool) -> Self {
        Self {
            asks: !mute && is_interactive(),
            tells: false,
            in_run: true,
            spinner: None,
        }
    }

    /// Tells the daemon that this connection answers approvals. Must precede the request that may need one.
    pub(super) async fn announce_approver(&self, session: &Session) {
        if self.is_idle(session) {
            return;
        }
        // If this fails nothing is asked here, and `mux approve` still works.
        drop(
            session
                .client
                .notices(within_seconds(5), self.request(0, 0))
                .await,
        );
    }

    /// Asks for one approval after the other, until the connection ends.
    pub(super) async fn answer_approvals(&self, session: &Session) -> Infallible {
        if self.is_idle(session) {
            return std::future::pending().await;
        }
        let (mut after, mut prompt) = (0, ApprovalPrompt::new(self.in_run, self.spinner.clone()));
        let poll = |after| {
            let context = transport::within(Duration::from_millis(2 * NOTICES_POLL_MS));
            session
                .client
                .notices(context, self.request(after, NOTICES_POLL_MS))
        };
        let mut polling = Box::pin(poll(after));
        loop {
            tokio::select! {
                page = &mut polling => {
                    let Ok(Ok(page)) = page else {
                        // The run or the call reports the lost connection.
                        return std::future::pending().await;
                    };
                    for notice in page.notices {
                        after = notice.seq;
                        self.handle_notice(notice.notice, &mut prompt);
                    }
                    polling = Box::pin(poll(after));
                }
                () = wait_until_due(prompt.due) => prompt.show(),
                line = prompt.next_typed_line() => match line {
                    Some(line) => prompt.handle_line(session, &line).await,
                    None => prompt.close(),
                },
            }
        }
    }

    fn is_idle(&self, session: &Session) -> bool {
        !(self.asks || self.tells) || session.require_feature("approvals").is_err()
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

    fn handle_notice(&self, notice: NoticeKind, prompt: &mut ApprovalPrompt) {
        match notice {
            NoticeKind::Ask {
                ask,
                kind: AskKind::Approval,
                params,
                ..
            } => {
                if let Ok(request) = serde_json::from_value(params) {
                    prompt.add(ask, request);
                }
            }
            NoticeKind::Withdrawn { ask } => prompt.remove(ask),
            NoticeKind::ApprovalAsked {
                cause: Cause::Call(_),
                asked,
            } if self.tells && !self.asks => prompt.print_pending(asked),
            _ => {}
        }
    }
}

/// The queue of pending approvals, the question on the terminal, and the input.
struct ApprovalPrompt {
    in_run: bool,
    spinner: Option<SpinnerHandle>,
    line: VecDeque<PendingApproval>,
    shown: PromptState,
    /// How many approvals of the current batch were answered.
    answered: usize,
    /// When changes of the queue are shown.
    due: Option<Instant>,
    typed: Option<mpsc::UnboundedReceiver<String>>,
    /// Standard input has ended.
    is_closed: bool,
}

struct PendingApproval {
    ask: u64,
    asked: ApprovalAsked,
}

/// What the terminal shows of the first pending approval.
enum PromptState {
    Nothing,
    /// Whether the call may be made; `of` is the size of the batch.
    Question {
        of: usize,
    },
    /// Whether the decision also applies to the approvals in `others`.
    Confirmation {
        decision: Decision,
        others: Vec<String>,
    },
}

impl ApprovalPrompt {
    fn new(in_run: bool, spinner: Option<SpinnerHandle>) -> Self {
        Self {
            in_run,
            spinner,
            line: VecDeque::new(),
            shown: PromptState::Nothing,
            answered: 0,
            due: None,
            typed: None,
            is_closed: false,
        }
    }

    fn add(&mut self, ask: u64, asked: ApprovalAsked) {
        if self.is_closed {
            self.print_pending(asked);
            return;
        }
        self.start_reader();
        self.line.push_back(PendingApproval { ask, asked });
        self.schedule_show();
    }

    /// Removes an approval that was answered elsewhere or is no longer needed.
    fn remove(&mut self, ask: u64) {
        let first = self.line.front().is_some_and(|first| first.ask == ask);
        let before = self.line.len();
        self.line.retain(|waits| waits.ask != ask);
        if self.line.len() == before {
            return;
        }
        if first && !matches!(self.shown, PromptState::Nothing) {
            render::answered_elsewhere();
            self.shown = PromptState::Nothing;
        }
        self.answered += 1;
        self.schedule_show();
    }

    fn schedule_show(&mut self) {
        self.due
            .get_or_insert_with(|| Instant::now() + APPROVAL_BATCH_DELAY);
    }

    /// Shows the first pending approval, or how many there are now.
    fn show(&mut self) {
        self.due = None;
        let Some(first) = self.line.front() else {
            (self.shown, self.answered) = (PromptState::Nothing, 0);
            self.resume_spinner();
            return;
        };
        let all = self.answered + self.line.len();
        match &mut self.shown {
            PromptState::Nothing => {
                // Input typed before the question, even an unfinished line, does not answer it.
                _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
                if let Some(typed) = &mut self.typed {
                    while typed.try_recv().is_ok() {}
                }
                if let Some(spinner) = &self.spinner {
                    spinner.begin_prompt();
                }
                let place = (self.answered + 1, all);
                render::ask_to_approve(&first.asked, place, self.in_run);
                self.shown = PromptState::Question { of: all };
            }
            // The line typed so far is kept.
            PromptState::Question { of } if *of < all => {
                *of = all;
                render::more_calls_wait(all - self.answered, self.in_run);
            }
            PromptState::Question { .. } | PromptState::Confirmation { .. } => {}
        }
    }

    /// Handles a line of input.
    async fn handle_line(&mut self, session: &Session, line: &str) {
        let Some(first) = self.line.front() else {
            return;
        };
        match std::mem::replace(&mut self.shown, PromptState::Nothing) {
            // It was typed before there was a question.
            PromptState::Nothing => {}
            PromptState::Question { of } => match PromptAnswer::read(line, self.in_run) {
                Some(PromptAnswer::Decide(decision @ (Decision::Once | Decision::Deny))) => {
                    self.decide(session, decision, Vec::new()).await;
                }
                Some(PromptAnswer::Decide(decision)) => {
                    let rest = self.line.iter().skip(1).map(|waits| &waits.asked);
                    let same = rest.filter(|other| other.cover == first.asked.cover);
                    let others: Vec<&ApprovalAsked> = same.collect();
                    render::confirm(&first.asked, decision, &others);
                    let others = others.iter().map(|other| other.approval.clone());
                    let others = others.collect();
                    self.shown = PromptState::Confirmation { decision, others };
                }
                Some(PromptAnswer::Help) | None => {
                    render::explain_answers(&first.asked, self.in_run);
                    self.shown = PromptState::Question { of };
                }
            },
            PromptState::Confirmation { decision, others } => {
                match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => self.decide(session, decision, others).await,
                    "n" | "no" => {
                        render::ask_again(self.in_run);
                        let of = self.answered + self.line.len();
                        self.shown = PromptState::Question { of };
                    }
                    _ => {
                        render::confirm_again();
                        self.shown = PromptState::Confirmation { decision, others };
                    }
                }
            }
        }
    }

    /// Sends the decision for the first approval and for the others that were shown with it.
    async fn decide(&mut self, session: &Session, decision: Decision, shown: Vec<String>) {
        let Some(first) = self.line.pop_front() else {
            return;
        };
        let others = shown.len();
        let request = DecideRequest {
            approval: first.asked.approval,
            decision,
            reason: None,
            shown: shown.clone(),
        };
        self.answered += 1;
        match session.client.decide(within_seconds(10), request).await {
            Ok(Ok(decided)) => {
                // If fewer were released, the rest is asked next or withdrawn by the daemon.
                if decided.released == others {
                    self.line
                        .retain(|waits| !shown.contains(&waits.asked.approval));
                    self.answered += others;
                }
                if let Some(warning) = &decided.warning {
                    render::approval_narrowed(warning);
                }
            }
            // It was decided elsewhere, or is no longer needed.
            Ok(Err(error)) => render::not_decided(&error),
            // The run or the call reports the lost connection.
            Err(_) => {}
        }
        // Prints what was held back during the question, before the next one.
        self.resume_spinner();
        self.schedule_show();
    }

    fn resume_spinner(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.end_prompt();
        }
    }

    /// Standard input has ended: nothing is decided, and pending approvals can be answered elsewhere.
    fn close(&mut self) {
        (self.typed, self.is_closed, self.due) = (None, true, None);
        if !matches!(self.shown, PromptState::Nothing) {
            render::approval_left_open();
        }
        self.shown = PromptState::Nothing;
        self.resume_spinner();
        for waits in std::mem::take(&mut self.line) {
            self.print_pending(waits.asked);
        }
    }

    /// Prints that the approval must be answered elsewhere.
    fn print_pending(&self, asked: ApprovalAsked) {
        if let Some(spinner) = &self.spinner {
            spinner.aside(move || render::approval_requested(&asked));
        }
    }

    /// Starts to read the terminal, at the first question.
    fn start_reader(&mut self) {
        if self.typed.is_some() {
            return;
        }
        let (sender, typed) = mpsc::unbounded_channel();
        self.typed = Some(typed);
        // The thread ends with the process: a blocking read of a terminal cannot be interrupted.
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }

    async fn next_typed_line(&mut self) -> Option<String> {
        match &mut self.typed {
            Some(typed) => typed.recv().await,
            None => std::future::pending().await,
        }
    }
}

async fn wait_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
