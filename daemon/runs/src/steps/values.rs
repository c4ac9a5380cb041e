//! What steps gave, for as long as a later one needs it.
//!
//! Invariant: what is held together is bounded, and let go with the last step that needs it.

use std::{collections::HashMap, sync::Arc};

use mux_wire::{Fault, Kind};

use super::one::Given;
use mux_program::{Part, Plan, Reference, Root, Template, Values};

/// Bytes of all values that later steps still need: as much as the heap of a program has.
const MOST: usize = 64 << 20;

/// Values of a whole program.
pub(super) struct Kept {
    input: Arc<str>,
    values: HashMap<usize, Given>,
    /// Who still needs what a step gave: the steps that refer to it, and the result.
    uses: Vec<usize>,
    last: usize,
    bytes: usize,
}

/// What one step is made from.
pub(super) struct Sources {
    input: Arc<str>,
    values: HashMap<usize, Given>,
}

impl Kept {
    pub(super) fn new(plan: &Plan, input: String) -> Self {
        let mut uses = vec![0; plan.steps.len()];
        let last = plan.steps.len().saturating_sub(1);
        let templates = plan.steps.iter().map(|step| &step.args);
        for index in templates.chain(&plan.returns).flat_map(Plan::needs) {
            uses[index] += 1;
        }
        if plan.returns.is_none() {
            uses[last] += 1;
        }
        Self {
            input: input.into(),
            values: HashMap::new(),
            uses,
            last,
            bytes: 0,
        }
    }

    /// What a step gave. It is refused where it would be too much.
    pub(super) fn take(&mut self, index: usize, given: Given) -> Result<Given, Fault> {
        if self.uses[index] == 0 {
            return Ok(given);
        }
        let bytes = self.bytes + given.bytes();
        if bytes > MOST {
            return Err(Fault::new(
                Kind::Limit,
                format!(
                    "what later steps need of the results so far is {bytes} bytes, over the limit of {MOST}"
                ),
            )
            .hint("this limit is fixed: ask the tools for less, or write a TypeScript program"));
        }
        self.bytes = bytes;
        self.values.insert(index, given.clone());
        Ok(given)
    }

    /// A step that needed these does not need them any more.
    pub(super) fn release(&mut self, args: &Template) {
        for index in Plan::needs(args) {
            self.uses[index] = self.uses[index].saturating_sub(1);
            if self.uses[index] == 0
                && let Some(given) = self.values.remove(&index)
            {
                self.bytes -= given.bytes();
            }
        }
    }

    pub(super) fn of(&self, template: &Template) -> Sources {
        let needed = Plan::needs(template).into_iter();
        let values = needed.filter_map(|index| Some((index, self.values.get(&index)?.clone())));
        Sources {
            input: Arc::clone(&self.input),
            values: values.collect(),
        }
    }

    /// The result of the last step, if it has one.
    pub(super) fn last(&self) -> Option<&str> {
        Some(&self.values.get(&self.last)?.result)
    }
}

impl Sources {
    /// How much there is to read.
    pub(super) fn bytes(&self) -> usize {
        self.values.values().map(Given::bytes).sum::<usize>() + self.input.len()
    }
}

impl Values for Sources {
    fn text(&self, reference: &Reference) -> Option<&str> {
        match reference.root {
            Root::Input => Some(&self.input),
            Root::Step { index, part } => {
                let given = self.values.get(&index)?;
                Some(match part {
                    Part::Result => &given.result,
                    Part::Args => &given.args,
                })
            }
        }
    }
}
