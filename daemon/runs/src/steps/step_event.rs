//! Events of steps.

use std::time::Duration;

use mux_wire::Fault;

use crate::RunEvent;
use mux_program::{PlanStep, short_text};

/// An event of one step.
#[derive(Clone, Debug)]
pub struct StepEvent {
    pub step: String,
    pub tool: String,
    pub news: StepProgress,
}

#[derive(Clone, Debug)]
pub enum StepProgress {
    /// The step starts. Its call is next.
    Started { description: Option<String> },
    /// The step has ended. A successful outcome is the length of its result in bytes.
    Ended {
        took: Duration,
        outcome: Result<usize, Fault>,
    },
    /// The step never starts.
    Skipped { reason: String },
}

impl StepEvent {
    /// The approximate size of the event's texts.
    pub(crate) fn bytes(&self) -> usize {
        match &self.news {
            StepProgress::Started { description } => description.as_ref().map_or(0, String::len),
            StepProgress::Ended { outcome, .. } => {
                let fault = outcome.as_ref().err();
                fault.map_or(0, |fault| fault.message.len())
            }
            StepProgress::Skipped { reason } => reason.len(),
        }
    }
}

impl StepProgress {
    pub(super) fn step_started(step: &PlanStep) -> Self {
        Self::Started {
            description: step.description.as_deref().map(short_text),
        }
    }

    /// The event of a step's end. The fault's details are only in the summary.
    pub(super) fn step_ended(took: Duration, outcome: Result<usize, &Fault>) -> Self {
        let outcome = outcome.map_err(|fault| Fault {
            details: None,
            ..fault.clone()
        });
        Self::Ended { took, outcome }
    }

    pub(super) fn into_run_event(self, step: &PlanStep) -> RunEvent {
        RunEvent::Step(StepEvent {
            step: step.id.clone(),
            tool: step.tool.clone(),
            news: self,
        })
    }
}
