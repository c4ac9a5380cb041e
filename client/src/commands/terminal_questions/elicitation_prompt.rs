//! Asks the questions of servers (MCP's elicitation), one after the other.
//!
//! Invariant: each question is answered once, and a page is opened only after the user agreed.

use std::collections::VecDeque;

use mux_client::{Session, within_seconds};
use mux_proto::{Answer, AnswerRequest};
use serde_json::Value;

use super::{super::browser, prompt_terminal::PromptTerminal};
use crate::{
    elicitation::{DialogStep, ElicitationAnswer, ElicitationDialog},
    render,
};

const INPUT_ENDED: &str = "standard input has ended";

/// The queue of questions. The first may be on the terminal.
#[derive(Default)]
pub(super) struct ElicitationPrompt {
    queue: VecDeque<ServerQuestion>,
    is_shown: bool,
}

/// A question of a server.
pub(super) struct ServerQuestion {
    ask: u64,
    server: String,
    /// The path of the tool whose call caused the question, if it is known.
    tool: Option<String>,
    dialog: ElicitationDialog,
}

impl ServerQuestion {
    /// Reads a question. Questions that a user cannot be asked are refused.
    pub(super) async fn receive(
        session: &Session,
        ask: u64,
        server: String,
        tool: Option<String>,
        params: &Value,
        terminal: &PromptTerminal,
    ) -> Option<Self> {
        let dialog = if terminal.is_closed() {
            Err(INPUT_ENDED.into())
        } else {
            ElicitationDialog::parse(params)
        };
        match dialog {
            Ok(dialog) => Some(Self {
                ask,
                server,
                tool,
                dialog,
            }),
            Err(why) => {
                send_answer(session, ask, Answer::Refused(why.clone())).await;
                terminal.print_aside(move || {
                    render::elicitation_unanswered(&server, "declined", &why);
                });
                None
            }
        }
    }
}

impl ElicitationPrompt {
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    pub(super) fn add(&mut self, question: ServerQuestion) {
        self.queue.push_back(question);
    }

    /// Removes a question whose answer is no longer needed. Returns whether it was pending.
    pub(super) fn remove(&mut self, ask: u64, terminal: &PromptTerminal) -> bool {
        let first = self.queue.front().is_some_and(|first| first.ask == ask);
        let before = self.queue.len();
        self.queue.retain(|pending| pending.ask != ask);
        if first && self.is_shown {
            terminal.show_input();
            render::answered_elsewhere();
            self.is_shown = false;
        }
        self.queue.len() < before
    }

    /// Shows the first question, unless it is shown already. Returns whether there is one.
    pub(super) async fn show(&mut self, session: &Session, terminal: &mut PromptTerminal) -> bool {
        while !self.is_shown
            && let Some(first) = self.queue.front()
        {
            self.is_shown = true;
            terminal.begin_question();
            render::ask_elicitation(&first.server, first.tool.as_deref(), &first.dialog);
            self.prompt(session, terminal, false).await;
        }
        self.is_shown
    }

    /// Handles a line of input.
    pub(super) async fn handle_line(
        &mut self,
        session: &Session,
        line: &str,
        terminal: &mut PromptTerminal,
    ) {
        let Some(first) = self.queue.front_mut() else {
            return;
        };
        terminal.show_input();
        let step = if line.contains(char::REPLACEMENT_CHARACTER) {
            DialogStep::Retry("the line is not valid UTF-8".into())
        } else {
            first.dialog.handle_line(line)
        };
        match step {
            DialogStep::Next => self.prompt(session, terminal, false).await,
            DialogStep::Retry(why) => {
                render::elicitation_retry(&why);
                self.prompt(session, terminal, true).await;
            }
            DialogStep::Explain => {
                render::explain_elicitation(&first.dialog);
                self.prompt(session, terminal, true).await;
            }
            DialogStep::Finished(answer) => self.finish(session, answer).await,
        }
    }

    /// Standard input has ended: the user has made no choice.
    pub(super) async fn close(&mut self, session: &Session, terminal: &PromptTerminal) {
        if self.is_shown {
            terminal.show_input();
            render::end_prompt_line();
        }
        self.is_shown = false;
        for question in std::mem::take(&mut self.queue) {
            let cancelled = ElicitationAnswer::Cancel.into_result();
            send_answer(session, question.ask, Answer::Result(cancelled)).await;
            render::elicitation_unanswered(&question.server, "cancelled", INPUT_ENDED);
        }
    }

    /// Prompts for the next answer. `again` is true after a line that was not an answer.
    async fn prompt(&mut self, session: &Session, terminal: &mut PromptTerminal, again: bool) {
        let Some(first) = self.queue.front() else {
            return;
        };
        terminal.discard_input();
        if first.dialog.is_hidden()
            && let Err(error) = terminal.hide_input()
        {
            let why = format!("the terminal cannot hide what is typed: {error}");
            render::elicitation_unanswered(&first.server, "declined", &why);
            send_answer(session, first.ask, Answer::Refused(why)).await;
            self.queue.pop_front();
            self.is_shown = false;
            return;
        }
        render::elicitation_prompt(&first.dialog, again);
    }

    async fn finish(&mut self, session: &Session, answer: ElicitationAnswer) {
        self.is_shown = false;
        let Some(question) = self.queue.pop_front() else {
            return;
        };
        if let (Some(page), ElicitationAnswer::Accept(_)) = (question.dialog.page(), &answer) {
            let opened = browser::open_url(None, page.as_str());
            render::open_this(page.as_str(), opened.is_some());
        }
        send_answer(session, question.ask, Answer::Result(answer.into_result())).await;
    }
}

async fn send_answer(session: &Session, ask: u64, answer: Answer) {
    let request = AnswerRequest { ask, answer };
    // The run or the call reports a lost connection.
    if let Ok(Err(error)) = session.client.answer(within_seconds(10), request).await {
        render::elicitation_rejected(&error);
    }
}
