//! How far the steps of a program are, and which may go next.
//!
//! Invariant: a step goes once, when all before it have ended; behind a step that has failed for good
//! none begins.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mux_wire::{Fault, Kind};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    News,
    one::Ended,
    summary::{self, Shown},
};
use crate::Happening;
use mux_program::{OnError, Order, Plan};

pub(super) enum Standing {
    Waiting,
    Running {
        /// Ends it, because it was never to begin.
        halt: CancellationToken,
        began: Instant,
    },
    Ok {
        took: Duration,
        shown: Arc<Shown>,
    },
    Failed {
        took: Duration,
        fault: Fault,
    },
    Skipped {
        reason: String,
    },
}

impl Standing {
    /// As it is told when the program has ended.
    fn word(&self) -> &'static str {
        match self {
            Self::Ok { .. } => "ok",
            Self::Failed { .. } => "failed",
            Self::Waiting | Self::Running { .. } | Self::Skipped { .. } => "skipped",
        }
    }
}

pub(super) struct Course {
    plan: Arc<Plan>,
    order: Order,
    followers: Vec<Vec<usize>>,
    /// Steps that have to end before each one.
    waits: Vec<usize>,
    ready: BTreeSet<usize>,
    standings: Vec<Standing>,
    /// The first of those that failed for good.
    stop: Option<usize>,
}

impl Course {
    pub(super) fn new(plan: Arc<Plan>, order: Order) -> Self {
        let count = plan.steps.len();
        let waits: Vec<usize> = (0..count).map(|index| order.waits(index)).collect();
        Self {
            ready: (0..count).filter(|index| waits[*index] == 0).collect(),
            followers: order.followers(),
            standings: (0..count).map(|_| Standing::Waiting).collect(),
            plan,
            order,
            waits,
            stop: None,
        }
    }

    /// The next step that may go, in the order of the program, and what ends it before its time.
    pub(super) fn next(&mut self) -> Option<(usize, CancellationToken)> {
        let index = *self.ready.first()?;
        if self.stop.is_some_and(|stop| index > stop) {
            return None;
        }
        self.ready.remove(&index);
        let halt = CancellationToken::new();
        self.standings[index] = Standing::Running {
            halt: halt.clone(),
            began: Instant::now(),
        };
        Some((index, halt))
    }

    pub(super) fn started(&self, index: usize) -> Happening {
        let step = &self.plan.steps[index];
        News::started(step).of(step)
    }

    pub(super) fn event(&self, ended: &Ended) -> Happening {
        let outcome = ended.outcome.as_ref().map(|given| given.result.len());
        News::ended(ended.took, outcome).of(&self.plan.steps[ended.index])
    }

    /// Takes the end of a step. Gives those that never begin because of it.
    pub(super) fn ended(&mut self, ended: Ended) -> Vec<(usize, Happening)> {
        let Ended {
            index,
            took,
            outcome,
        } = ended;
        self.standings[index] = match outcome {
            Ok(given) => Standing::Ok {
                took,
                shown: given.shown,
            },
            Err(fault) => {
                if self.plan.steps[index].on_error == OnError::Abort && !self.is_behind(index) {
                    self.stop_at(index);
                }
                Standing::Failed { took, fault }
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
                match self.lost(next) {
                    None => drop(self.ready.insert(next)),
                    Some(reason) => {
                        skipped.push((next, self.skip(next, reason)));
                        over.push(next);
                    }
                }
            }
        }
        skipped
    }

    /// An earlier step has failed for good.
    fn is_behind(&self, index: usize) -> bool {
        self.stop.is_some_and(|stop| index > stop)
    }

    fn stop_at(&mut self, index: usize) {
        self.stop = Some(index);
        for later in &self.standings[index + 1..] {
            if let Standing::Running { halt, .. } = later {
                halt.cancel();
            }
        }
    }

    /// Why a step cannot be made, if it cannot.
    fn lost(&self, index: usize) -> Option<String> {
        let needs = &self.order.needs[index];
        needs.iter().find_map(|need| {
            let id = &self.plan.steps[*need].id;
            match &self.standings[*need] {
                Standing::Failed { .. } => Some(format!("`{id}`, to which it refers, failed")),
                Standing::Skipped { .. } => {
                    Some(format!("`{id}`, to which it refers, was skipped"))
                }
                _ => None,
            }
        })
    }

    fn skip(&mut self, index: usize, reason: String) -> Happening {
        let step = &self.plan.steps[index];
        let news = News::Skipped {
            reason: reason.clone(),
        };
        let happening = news.of(step);
        self.standings[index] = Standing::Skipped { reason };
        happening
    }

    pub(super) fn on_their_way(&self) -> Vec<String> {
        let running = self.running();
        let named = |index: usize| {
            let step = &self.plan.steps[index];
            format!("step `{}` ({})", step.id, step.tool)
        };
        running.into_iter().map(named).collect()
    }

    fn running(&self) -> Vec<usize> {
        let is_running = |index: &usize| matches!(self.standings[*index], Standing::Running { .. });
        (0..self.standings.len()).filter(is_running).collect()
    }

    /// Why the program failed, by one of its steps.
    pub(super) fn failure(&self) -> Option<Fault> {
        let Standing::Failed { fault, .. } = &self.standings[self.stop?] else {
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

    /// Nothing begins any more, and what is on its way ends here.
    pub(super) fn close(&mut self, why: Option<&Fault>) -> Vec<Happening> {
        let mut happened = Vec::new();
        for index in 0..self.standings.len() {
            let step = &self.plan.steps[index];
            match &self.standings[index] {
                Standing::Running { began, .. } => {
                    let kind = why.map_or(Kind::Cancelled, |fault| fault.kind);
                    let message = "it was on its way when the program ended, and was cancelled";
                    let fault = Fault::new(kind, message).path(&step.tool);
                    let took = began.elapsed();
                    happened.push(News::ended(took, Err(&fault)).of(step));
                    self.standings[index] = Standing::Failed { took, fault };
                }
                Standing::Waiting => {
                    let reason = match self.stop {
                        Some(stop) => {
                            format!("`{}` failed before it began", self.plan.steps[stop].id)
                        }
                        None => "the program ended before it began".into(),
                    };
                    happened.push(self.skip(index, reason));
                }
                _ => {}
            }
        }
        happened
    }

    /// Every step with what became of it, in the order of the program.
    pub(super) fn summary(&self) -> Vec<Value> {
        let steps = self.plan.steps.iter().zip(&self.standings);
        let told = steps.map(|(step, standing)| {
            let mut told = Map::new();
            told.insert("id".into(), step.id.as_str().into());
            told.insert("tool".into(), step.tool.as_str().into());
            told.insert("status".into(), standing.word().into());
            match standing {
                Standing::Ok { took, shown } => {
                    told.insert("took_ms".into(), summary::millis(*took));
                    shown.tell(&mut told);
                }
                Standing::Failed { took, fault } => {
                    told.insert("took_ms".into(), summary::millis(*took));
                    told.insert("error".into(), summary::error(fault));
                }
                Standing::Skipped { reason } => {
                    told.insert("reason".into(), reason.as_str().into());
                }
                Standing::Waiting | Standing::Running { .. } => {}
            }
            Value::Object(told)
        });
        told.collect()
    }

    /// The failure of the program, with what its steps did in the details.
    pub(super) fn told(&self, mut fault: Fault) -> Fault {
        let mut details = Map::new();
        if let Some(stop) = self.stop {
            details.insert("step".into(), self.plan.steps[stop].id.as_str().into());
        }
        details.insert("steps".into(), self.summary().into());
        fault.details = Some(json!(details).to_string());
        fault
    }
}
