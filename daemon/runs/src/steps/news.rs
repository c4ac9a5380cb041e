//! What happens to a step, for whoever watches.

use std::time::Duration;

use mux_wire::Fault;

use crate::Happening;
use mux_program::{Step, short};

/// Something that happened to a step.
#[derive(Clone, Debug)]
pub struct StepEvent {
    pub step: String,
    pub tool: String,
    pub news: News,
}

#[derive(Clone, Debug)]
pub enum News {
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
            News::Started { description } => description.as_ref().map_or(0, String::len),
            News::Ended { outcome, .. } => {
                let fault = outcome.as_ref().err();
                fault.map_or(0, |fault| fault.message.len())
            }
            News::Skipped { reason } => reason.len(),
        }
    }
}

impl News {
    pub(super) fn started(step: &Step) -> Self {
        Self::Started {
            description: step.description.as_deref().map(short),
        }
    }

    /// The summary has the details.
    pub(super) fn ended(took: Duration, outcome: Result<usize, &Fault>) -> Self {
        let outcome = outcome.map_err(|fault| Fault {
            details: None,
            ..fault.clone()
        });
        Self::Ended { took, outcome }
    }

    pub(super) fn of(self, step: &Step) -> Happening {
        Happening::Step(StepEvent {
            step: step.id.clone(),
            tool: step.tool.clone(),
            news: self,
        })
    }
}
