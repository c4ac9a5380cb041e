//! Asks the user at the terminal of `mux run`, `mux program`, `mux resume` and `mux call`: to approve calls, and to answer
//! questions of servers.
//!
//! - `approval_prompt` asks for approvals, `elicitation_prompt` asks the questions of servers. `prompt_terminal` reads
//!   the terminal and keeps other output from it.
//!
//! Invariant: no questions are asked if standard input is not a terminal, because it is then data. The terminal shows
//! one question at a time.

mod approval_prompt;
mod elicitation_prompt;
mod prompt_terminal;

use std::{cell::Cell, convert::Infallible, time::Duration};

use mux_client::{Session, within_seconds};
use mux_proto::{ApprovalAsked, AskKind, Cause, NoticeKind, NoticesRequest, transport};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use self::{
    approval_prompt::ApprovalPrompt,
    elicitation_prompt::{ElicitationPrompt, ServerQuestion},
    prompt_terminal::PromptTerminal,
};
use super::confirm::can_ask;
use crate::render::{self, RunView, SpinnerGuard, SpinnerHandle};

/// Milliseconds that the daemon holds a request before it answers without notices.
const NOTICES_POLL_MS: u64 = 25_000;
/// Why a server's question is declined if no question can be asked.
const NO_TERMINAL: &str = "standard input and standard error must be a terminal";
/// How long questions are collected before they are shown together. Input typed before that is discarded.
const QUESTION_BATCH_DELAY: Duration = Duration::from_millis(50);

/// Receives and answers the questions of a connection.
pub(super) struct TerminalQuestions {
    /// The kinds of questions that the user at the terminal answers.
    answers: &'static [AskKind],
    /// The path of the call, outside of runs. For such a call, this module shows what a run's view shows for a run.
    call: Option<String>,
    /// With `--json`.
    is_mute: bool,
    spinner: Option<SpinnerHandle>,
    /// The number of the last notice that was handled.
    last_notice: Cell<u64>,
}

impl TerminalQuestions {
    /// For a run, whose view shows pending approvals. If `mute`, no questions are asked.
    pub(super) fn for_run(mute: bool, view: &mut RunView) -> Self {
        let asks = !mute && can_ask();
        Self {
            spinner: Some(view.spinner(asks)),
            ..Self::new(asks, mute)
        }
    }

    /// For a call outside of runs.
    pub(super) fn for_call(
        mute: bool,
        takes_stdin: bool,
        path: &str,
        waiting: &SpinnerGuard,
    ) -> Self {
        Self {
            call: Some(path.to_owned()),
            spinner: Some(waiting.spinner()),
            ..Self::new(!mute && !takes_stdin && can_ask(), mute)
        }
    }

    /// For a run that this command only starts: its calls are held as if they could be approved at this terminal.
    pub(super) fn for_detached_run(mute: bool) -> Self {
        let asks = !mute && can_ask();
        Self {
            answers: if asks { &[AskKind::Approval] } else { &[] },
            ..Self::new(asks, mute)
        }
    }

    fn new(asks: bool, mute: bool) -> Self {
        Self {
            // An approval is asked in the first of these kinds.
            answers: if asks {
                &[AskKind::Approval, AskKind::Elicitation]
            } else {
                &[]
            },
            call: None,
            is_mute: mute,
            spinner: None,
            last_notice: Cell::new(0),
        }
    }

    /// Tells the daemon which questions this connection answers. Must precede the request that may cause some.
    pub(super) async fn announce(&self, session: &Session) {
        if self.is_idle() {
            return;
        }
        // Each connection counts its notices from 1.
        self.last_notice.set(0);
        // If this fails, no questions are asked here, but `mux approve` still works.
        let request = self.request(0);
        drop(session.client.notices(within_seconds(5), request).await);
    }

    /// Asks one question after the other, until the connection ends.
    pub(super) async fn answer_all(&self, session: &Session) -> Infallible {
        if self.is_idle() {
            return std::future::pending().await;
        }
        let mut prompts = QuestionPrompts::new(self);
        let poll = || {
            let context = transport::within(Duration::from_millis(2 * NOTICES_POLL_MS));
            let request = self.request(NOTICES_POLL_MS);
            session.client.notices(context, request)
        };
        let mut polling = Box::pin(poll());
        loop {
            tokio::select! {
                page = &mut polling => {
                    let Ok(Ok(page)) = page else {
                        // The run or the call reports the lost connection.
                        return std::future::pending().await;
                    };
                    for notice in page.notices {
                        self.last_notice.set(notice.seq);
                        self.handle_notice(session, notice.notice, &mut prompts).await;
                    }
                    polling = Box::pin(poll());
                }
                () = wait_until_due(prompts.due) => prompts.show(session).await,
                line = prompts.terminal.next_typed_line() => match line {
                    Some(line) => prompts.handle_line(session, &line).await,
                    None => prompts.close(session).await,
                },
            }
        }
    }

    /// Prints the declined questions and the warnings of a call or run that has ended: its end may have overtaken
    /// notices.
    pub(super) async fn print_late_notices(&self, session: &Session) {
        if self.is_idle() {
            return;
        }
        let page = session.client.notices(within_seconds(5), self.request(0));
        let Ok(Ok(page)) = page.await else {
            return;
        };
        for notice in page.notices {
            match notice.notice {
                NoticeKind::Declined {
                    server,
                    kind: AskKind::Elicitation,
                    why,
                    ..
                } if why.is_some() || !self.asks() => self.report_declined(server, why),
                NoticeKind::Log { server, data, .. } => self.report_warning(&server, &data),
                _ => {}
            }
        }
    }

    fn report_declined(&self, server: String, why: Option<String>) {
        let print = move || {
            let why = why.as_deref().unwrap_or(NO_TERMINAL);
            render::elicitation_unanswered(&server, "declined", why);
        };
        if let Some(spinner) = self.spinner.as_ref().filter(|_| !self.is_mute) {
            spinner.aside(print);
        }
    }

    /// Prints a warning of muxd about the call. The view of a run prints those about its calls.
    fn report_warning(&self, server: &str, data: &Value) {
        if let (Some(_), Some(spinner), "mux", Some(warning)) =
            (&self.call, &self.spinner, server, data.as_str())
        {
            let warning = warning.to_owned();
            spinner.aside(move || render::warn(warning));
        }
    }

    fn is_idle(&self) -> bool {
        // A call also warns on standard error with `--json`.
        let shows_notices = self.spinner.is_some() && (!self.is_mute || self.call.is_some());
        !(self.asks() || shows_notices)
    }

    fn asks(&self) -> bool {
        !self.answers.is_empty()
    }

    fn request(&self, wait_ms: u64) -> NoticesRequest {
        NoticesRequest {
            after: self.last_notice.get(),
            wait_ms,
            answers: self.answers.to_vec(),
        }
    }

    async fn handle_notice(
        &self,
        session: &Session,
        notice: NoticeKind,
        prompts: &mut QuestionPrompts,
    ) {
        match notice {
            NoticeKind::Ask {
                ask,
                kind: AskKind::Approval,
                params,
                ..
            } => {
                if let Ok(request) = serde_json::from_value(params) {
                    prompts.add_approval(ask, request);
                }
            }
            NoticeKind::Ask {
                ask,
                server,
                tool,
                kind: AskKind::Elicitation,
                params,
                ..
            } => {
                let terminal = &prompts.terminal;
                if let Some(question) =
                    ServerQuestion::receive(session, ask, server, tool, &params, terminal).await
                {
                    prompts.add_elicitation(question);
                }
            }
            NoticeKind::Withdrawn { ask } => prompts.remove(ask),
            NoticeKind::Log { server, data, .. } => self.report_warning(&server, &data),
            NoticeKind::Declined {
                server,
                kind: AskKind::Elicitation,
                why,
                ..
            } if why.is_some() || !self.asks() => self.report_declined(server, why),
            NoticeKind::ElicitationComplete { server, .. } => {
                let print = move || render::page_completed(&server);
                prompts.terminal.print_aside(print);
            }
            NoticeKind::ApprovalAsked {
                cause: Cause::Call(_),
                asked,
            } if self.call.is_some() && !self.asks() && !self.is_mute => {
                prompts.print_pending(asked);
            }
            NoticeKind::Progress {
                cause: Cause::Call(_),
                progress,
                total,
                message,
            } => {
                if let Some(path) = self.call.as_ref().filter(|_| !self.is_mute) {
                    let message = message.as_deref();
                    let line = render::call_progress_line(path, progress, total, message);
                    prompts.terminal.update_progress(&line);
                }
            }
            _ => {}
        }
    }
}

/// The pending questions, and the terminal where they are asked.
struct QuestionPrompts {
    terminal: PromptTerminal,
    approvals: ApprovalPrompt,
    elicitations: ElicitationPrompt,
    /// When changes of the queues are shown.
    due: Option<Instant>,
}

impl QuestionPrompts {
    fn new(questions: &TerminalQuestions) -> Self {
        Self {
            terminal: PromptTerminal::new(questions.spinner.clone()),
            approvals: ApprovalPrompt::new(questions.call.is_none()),
            elicitations: ElicitationPrompt::default(),
            due: None,
        }
    }

    fn add_approval(&mut self, ask: u64, asked: ApprovalAsked) {
        if self.terminal.is_closed() {
            self.print_pending(asked);
            return;
        }
        self.terminal.start_reader();
        self.approvals.add(ask, asked);
        self.schedule_show();
    }

    fn add_elicitation(&mut self, question: ServerQuestion) {
        self.terminal.start_reader();
        self.elicitations.add(question);
        self.schedule_show();
    }

    /// Removes a question that was answered elsewhere or is no longer needed.
    fn remove(&mut self, ask: u64) {
        if self.approvals.remove(ask) || self.elicitations.remove(ask, &self.terminal) {
            self.schedule_show();
        }
    }

    fn schedule_show(&mut self) {
        self.due
            .get_or_insert_with(|| Instant::now() + QUESTION_BATCH_DELAY);
    }

    /// Shows the first question. Approvals precede server questions, one of which may be on the terminal.
    async fn show(&mut self, session: &Session) {
        self.due = None;
        let Self {
            terminal,
            approvals,
            elicitations,
            ..
        } = self;
        let is_asking = elicitations.is_shown()
            || approvals.show(terminal)
            || elicitations.show(session, terminal).await;
        if !is_asking {
            terminal.end_question();
        }
    }

    async fn handle_line(&mut self, session: &Session, line: &str) {
        let terminal = &mut self.terminal;
        if self.elicitations.is_shown() {
            self.elicitations.handle_line(session, line, terminal).await;
        } else {
            self.approvals.handle_line(session, line, terminal).await;
        }
        if !self.approvals.is_shown() && !self.elicitations.is_shown() {
            // Prints the output that was held back during the question, before the next question.
            self.terminal.end_question();
            self.schedule_show();
        }
    }

    /// Standard input has ended.
    async fn close(&mut self, session: &Session) {
        self.due = None;
        self.terminal.close();
        let left = self.approvals.close();
        self.elicitations.close(session, &self.terminal).await;
        self.terminal.end_question();
        for asked in left {
            self.print_pending(asked);
        }
    }

    /// Prints that the approval must be answered elsewhere.
    fn print_pending(&self, asked: ApprovalAsked) {
        let print = move || render::approval_requested(&asked);
        self.terminal.print_aside(print);
    }
}

async fn wait_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
