//! Asks for approvals, one after the other.
//!
//! Invariant: an answer that was not offered has no effect. An answer that covers more than the shown call takes
//! effect only after all covered calls were listed and confirmed.

use std::{collections::VecDeque, mem};

use mux_client::{Session, within_seconds};
use mux_proto::{ApprovalAsked, DecideRequest, Decision};

use super::prompt_terminal::PromptTerminal;
use crate::render;

/// The queue of pending approvals, and the question on the terminal.
pub(super) struct ApprovalPrompt {
    /// True if a run makes the calls, which can then be allowed for the rest of the run.
    in_run: bool,
    queue: VecDeque<PendingApproval>,
    shown: PromptState,
    /// How many approvals of the current batch were answered.
    answered: usize,
}

struct PendingApproval {
    ask: u64,
    asked: ApprovalAsked,
}

/// The part of the first pending approval that the terminal shows.
enum PromptState {
    Nothing,
    /// Asks whether the call may be made. `of` is the size of the batch.
    Question {
        of: usize,
    },
    /// Asks whether the decision also applies to the approvals in `others`.
    Confirmation {
        decision: Decision,
        others: Vec<String>,
    },
}

impl ApprovalPrompt {
    pub(super) fn new(in_run: bool) -> Self {
        Self {
            in_run,
            queue: VecDeque::new(),
            shown: PromptState::Nothing,
            answered: 0,
        }
    }

    pub(super) fn is_shown(&self) -> bool {
        !matches!(self.shown, PromptState::Nothing)
    }

    pub(super) fn add(&mut self, ask: u64, asked: ApprovalAsked) {
        self.queue.push_back(PendingApproval { ask, asked });
    }

    /// Removes an approval that was answered elsewhere or is no longer needed. Returns whether it was pending.
    pub(super) fn remove(&mut self, ask: u64) -> bool {
        let first = self.queue.front().is_some_and(|first| first.ask == ask);
        let before = self.queue.len();
        self.queue.retain(|pending| pending.ask != ask);
        if self.queue.len() == before {
            return false;
        }
        if first && self.is_shown() {
            render::answered_elsewhere();
            self.shown = PromptState::Nothing;
        }
        self.answered += 1;
        true
    }

    /// Shows the first pending approval, or how many there are now. Returns whether there is one.
    pub(super) fn show(&mut self, terminal: &mut PromptTerminal) -> bool {
        let Some(first) = self.queue.front() else {
            (self.shown, self.answered) = (PromptState::Nothing, 0);
            return false;
        };
        let all = self.answered + self.queue.len();
        match &mut self.shown {
            PromptState::Nothing => {
                terminal.begin_question();
                let position = (self.answered + 1, all);
                render::ask_to_approve(&first.asked, position, self.in_run);
                self.shown = PromptState::Question { of: all };
            }
            // The line typed so far is kept.
            PromptState::Question { of } if *of < all => {
                *of = all;
                render::more_calls_wait(all - self.answered, self.in_run);
            }
            PromptState::Question { .. } | PromptState::Confirmation { .. } => {}
        }
        true
    }

    /// Handles a line of input.
    pub(super) async fn handle_line(
        &mut self,
        session: &Session,
        line: &str,
        terminal: &mut PromptTerminal,
    ) {
        let Some(first) = self.queue.front() else {
            return;
        };
        match mem::replace(&mut self.shown, PromptState::Nothing) {
            // The line was typed before there was a question.
            PromptState::Nothing => {}
            PromptState::Question { of } => match render::prompt_answer(line, self.in_run) {
                Some(decision @ (Decision::Once | Decision::Deny)) => {
                    self.decide(session, decision, Vec::new()).await;
                }
                Some(decision) => {
                    let rest = self.queue.iter().skip(1).map(|pending| &pending.asked);
                    let same = rest.filter(|other| other.cover == first.asked.cover);
                    let others: Vec<&ApprovalAsked> = same.collect();
                    terminal.discard_input();
                    render::confirm(&first.asked, decision, &others);
                    let others = others.iter().map(|other| other.approval.clone());
                    let others = others.collect();
                    self.shown = PromptState::Confirmation { decision, others };
                }
                None => {
                    render::explain_answers(&first.asked, self.in_run);
                    self.shown = PromptState::Question { of };
                }
            },
            PromptState::Confirmation { decision, others } => {
                match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => self.decide(session, decision, others).await,
                    "n" | "no" => {
                        render::ask_again(self.in_run);
                        let of = self.answered + self.queue.len();
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
        let Some(first) = self.queue.pop_front() else {
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
                    self.queue
                        .retain(|pending| !shown.contains(&pending.asked.approval));
                    self.answered += others;
                }
                if let Some(warning) = &decided.warning {
                    render::approval_narrowed(warning);
                }
            }
            // The approval was decided elsewhere, or is no longer needed.
            Ok(Err(error)) => render::not_decided(&error),
            // The run or the call reports the lost connection.
            Err(_) => {}
        }
    }

    /// Standard input has ended without a decision. Returns the approvals that must be answered elsewhere.
    pub(super) fn close(&mut self) -> Vec<ApprovalAsked> {
        if self.is_shown() {
            render::approval_left_open();
        }
        self.shown = PromptState::Nothing;
        let left = mem::take(&mut self.queue);
        left.into_iter().map(|pending| pending.asked).collect()
    }
}
