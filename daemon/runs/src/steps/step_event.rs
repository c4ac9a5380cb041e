//! What happens to a step, for whoever watches.

use std::time::Duration;

use mux_wire::Fault;

use crate::RunEvent;
use mux_program::{PlanStep, short_text};

/// Something that happened to a step.
#[derive(Clone, Debug)]
pub struct StepEvent {
    pub step: String,
    pub tool: String,
    pub news: StepProgress,
}

#[derive(Clone, Debug)]
pub enum StepProgress {
    /// Its call comes next.
    Started { description: Option<String> },
    /// With the length of its result.
    Ended {
        took: Duration,
        outcome: Result<usize, Fault>,
    },
    /// It never begins.
    Skipped { reason: String },
}

impl StepEvent {
    /// About how much room its words take.
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

    /// The summary has the details.
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
