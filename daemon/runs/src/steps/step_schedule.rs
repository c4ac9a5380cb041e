//! Tracks the state of a program's steps, and decides which may start next.
//!
//! Invariant: a step starts at most once, after all its predecessors have ended. After a step that aborts the program
//! no later step starts.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    step_call::EndedStep,
    step_summary::{self, StepResultView},
};
use mux_messages::EventKind;
use mux_program::{OnError, PlanStep, StepOrder, StepPlan, short_text};

pub(super) enum StepState {
    Waiting,
    Running {
        /// Cancels the step when an earlier step aborts the program.
        halt: CancellationToken,
        began: Instant,
    },
    Ok {
        took: Duration,
        shown: Arc<StepResultView>,
    },
    Failed {
        took: Duration,
        fault: Fault,
    },
    Skipped {
        reason: String,
    },
}

impl StepState {
    /// The status in the summary, when the program has ended.
    fn status_word(&self) -> &'static str {
        match self {
            Self::Ok { .. } => "ok",
            Self::Failed { .. } => "failed",
            Self::Waiting | Self::Running { .. } | Self::Skipped { .. } => "skipped",
        }
    }
}

pub(super) struct StepSchedule {
    plan: Arc<StepPlan>,
    order: StepOrder,
    followers: Vec<Vec<usize>>,
    /// For each step, the number of predecessors that have not ended.
    waits: Vec<usize>,
    ready: BTreeSet<usize>,
    states: Vec<StepState>,
    /// The first step that aborts the program.
    stop: Option<usize>,
}

impl StepSchedule {
    pub(super) fn new(plan: Arc<StepPlan>, order: StepOrder) -> Self {
        let count = plan.steps.len();
        let waits: Vec<usize> = (0..count).map(|index| order.wait_count(index)).collect();
        Self {
            ready: (0..count).filter(|index| waits[*index] == 0).collect(),
            followers: order.followers(),
            states: (0..count).map(|_| StepState::Waiting).collect(),
            plan,
            order,
            waits,
            stop: None,
        }
    }

    /// The next step that may start, in program order, and the token that cancels it.
    pub(super) fn next_ready(&mut self) -> Option<(usize, CancellationToken)> {
        let index = *self.ready.first()?;
        if self.stop.is_some_and(|stop| index > stop) {
            return None;
        }
        self.ready.remove(&index);
        let halt = CancellationToken::new();
        self.states[index] = StepState::Running {
            halt: halt.clone(),
            began: Instant::now(),
        };
        Some((index, halt))
    }

    pub(super) fn started_event(&self, index: usize) -> EventKind {
        let step = &self.plan.steps[index];
        EventKind::StepStarted {
            step: step.id.clone(),
            tool: step.tool.clone(),
            description: step.description.as_deref().map(short_text),
        }
    }

    pub(super) fn ended_event(&self, ended: &EndedStep) -> EventKind {
        let outcome = ended.outcome.as_ref().map(|given| given.result.len());
        step_ended(&self.plan.steps[ended.index], ended.took, outcome)
    }

    /// Records the end of a step. Returns the steps that are skipped as a consequence.
    pub(super) fn finish_step(&mut self, ended: EndedStep) -> Vec<(usize, EventKind)> {
        let EndedStep {
            index,
            took,
            outcome,
        } = ended;
        self.states[index] = match outcome {
            Ok(given) => StepState::Ok {
                took,
                shown: given.shown,
            },
            Err(fault) => {
                if self.plan.steps[index].on_error == OnError::Abort && !self.is_behind(index) {
                    self.stop_at(index);
                }
                StepState::Failed { took, fault }
            }
        };
        let mut skipped = Vec::new();
        let mut over = vec![index];
        while let Some(before) = over.pop() {
            for next in self.followers[before].clone() {
                self.waits[next] -= 1;
                if self.waits[next] > 0 {
                    continue;
                }
                match self.skip_reason(next) {
                    None => drop(self.ready.insert(next)),
                    Some(reason) => {
                        skipped.push((next, self.skip_step(next, reason)));
                        over.push(next);
                    }
                }
            }
        }
        skipped
    }

    /// True if an earlier step has aborted the program.
    fn is_behind(&self, index: usize) -> bool {
        self.stop.is_some_and(|stop| index > stop)
    }

    fn stop_at(&mut self, index: usize) {
        self.stop = Some(index);
        for later in &self.states[index + 1..] {
            if let StepState::Running { halt, .. } = later {
                halt.cancel();
            }
        }
    }

    /// The reason a step is skipped, if it is.
    fn skip_reason(&self, index: usize) -> Option<String> {
        let needs = &self.order.needs[index];
        needs.iter().find_map(|need| {
            let id = &self.plan.steps[*need].id;
            match &self.states[*need] {
                StepState::Failed { .. } => Some(format!("`{id}`, to which it refers, failed")),
                StepState::Skipped { .. } => {
                    Some(format!("`{id}`, to which it refers, was skipped"))
                }
                _ => None,
            }
        })
    }

    fn skip_step(&mut self, index: usize, reason: String) -> EventKind {
        let step = &self.plan.steps[index];
        let event = EventKind::StepSkipped {
            step: step.id.clone(),
            tool: step.tool.clone(),
            reason: reason.clone(),
        };
        self.states[index] = StepState::Skipped { reason };
        event
    }

    pub(super) fn describe_running(&self) -> Vec<String> {
        let running = self.running();
        let named = |index: usize| {
            let step = &self.plan.steps[index];
            format!("step `{}` ({})", step.id, step.tool)
        };
        running.into_iter().map(named).collect()
    }

    fn running(&self) -> Vec<usize> {
        let is_running = |index: &usize| matches!(self.states[*index], StepState::Running { .. });
        (0..self.states.len()).filter(is_running).collect()
    }

    /// The fault of the step that aborted the program.
    pub(super) fn failure(&self) -> Option<Fault> {
        let StepState::Failed { fault, .. } = &self.states[self.stop?] else {
            return None;
        };
        Some(Fault {
            message: format!(
                "step `{}` failed: {}",
                self.plan.steps[self.stop?].id, fault.message
            ),
            ..fault.clone()
        })
    }

    /// Skips all waiting steps and marks all running ones as failed.
    pub(super) fn cancel_remaining(&mut self, why: Option<&Fault>) -> Vec<EventKind> {
        let mut events = Vec::new();
        for index in 0..self.states.len() {
            let step = &self.plan.steps[index];
            match &self.states[index] {
                StepState::Running { began, .. } => {
                    let kind = why.map_or(FaultKind::Cancelled, |fault| fault.kind);
                    let message = "the step was cancelled while running, because the program ended";
                    let fault = Fault::new(kind, message).path(&step.tool);
                    let took = began.elapsed();
                    events.push(step_ended(step, took, Err(&fault)));
                    self.states[index] = StepState::Failed { took, fault };
                }
                StepState::Waiting => {
                    let reason = match self.stop {
                        Some(stop) => {
                            format!("`{}` failed before it began", self.plan.steps[stop].id)
                        }
                        None => "the program ended before it began".into(),
                    };
                    events.push(self.skip_step(index, reason));
                }
                _ => {}
            }
        }
        events
    }

    /// Every step with its outcome, in program order.
    pub(super) fn summary(&self) -> Vec<Value> {
        let steps = self.plan.steps.iter().zip(&self.states);
        let summaries = steps.map(|(step, standing)| {
            let mut members = Map::new();
            members.insert("id".into(), step.id.as_str().into());
            members.insert("tool".into(), step.tool.as_str().into());
            members.insert("status".into(), standing.status_word().into());
            match standing {
                StepState::Ok { took, shown } => {
                    members.insert("took_ms".into(), step_summary::millis_json(*took));
                    shown.write_fields(&mut members);
                }
                StepState::Failed { took, fault } => {
                    members.insert("took_ms".into(), step_summary::millis_json(*took));
                    members.insert("error".into(), step_summary::step_fault_json(fault));
                }
                StepState::Skipped { reason } => {
                    members.insert("reason".into(), reason.as_str().into());
                }
                StepState::Waiting | StepState::Running { .. } => {}
            }
            Value::Object(members)
        });
        summaries.collect()
    }

    /// Adds the summary of the steps to the details of the program's fault.
    pub(super) fn with_step_details(&self, mut fault: Fault) -> Fault {
        let mut details = Map::new();
        if let Some(stop) = self.stop {
            details.insert("step".into(), self.plan.steps[stop].id.as_str().into());
        }
        details.insert("steps".into(), self.summary().into());
        fault.details = Some(json!(details).to_string());
        fault
    }
}

/// The event of a step's end. The fault's details are only in the summary.
fn step_ended(step: &PlanStep, took: Duration, outcome: Result<usize, &Fault>) -> EventKind {
    EventKind::StepEnded {
        step: step.id.clone(),
        tool: step.tool.clone(),
        ms: took.as_secs_f64() * 1e3,
        bytes: *outcome.as_ref().unwrap_or(&0),
        error: outcome.err().map(Fault::to_event_error),
    }
}
