//! Values of steps, kept as long as a later step needs them.
//!
//! Invariant: the total size is bounded, and a value is released after the last step that needs it.

use std::{collections::HashMap, sync::Arc};

use mux_wire::{Fault, FaultKind};

use super::step_call::StepOutput;
use mux_program::{ReferenceRoot, ReferenceValues, StepPart, StepPlan, Template, ValueReference};

/// The maximum size of all values that later steps still need: the heap size of a program.
const MAX_KEPT_VALUE_BYTES: usize = 64 << 20;

/// The kept values of a program.
pub(super) struct KeptStepValues {
    input: Arc<str>,
    values: HashMap<usize, StepOutput>,
    /// For each step, the number of later steps, and the result, that still need its values.
    uses: Vec<usize>,
    last: usize,
    bytes: usize,
}

/// The values to which one template refers.
pub(super) struct TemplateInputs {
    input: Arc<str>,
    values: HashMap<usize, StepOutput>,
}

impl KeptStepValues {
    pub(super) fn new(plan: &StepPlan, input: String) -> Self {
        let mut uses = vec![0; plan.steps.len()];
        let last = plan.steps.len().saturating_sub(1);
        let templates = plan.steps.iter().map(|step| &step.args);
        for index in templates
            .chain(&plan.returns)
            .flat_map(StepPlan::needed_steps)
        {
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

    /// Keeps the output of a step if a later step needs it. Fails if the total would exceed the limit.
    pub(super) fn keep_output(
        &mut self,
        index: usize,
        given: StepOutput,
    ) -> Result<StepOutput, Fault> {
        if self.uses[index] == 0 {
            return Ok(given);
        }
        let bytes = self.bytes + given.bytes();
        if bytes > MAX_KEPT_VALUE_BYTES {
            return Err(Fault::new(
                FaultKind::Limit,
                format!(
                    "the results that later steps need are {bytes} bytes, over the limit of {MAX_KEPT_VALUE_BYTES}"
                ),
            )
            .hint("this limit is fixed: ask the tools for less, or write a TypeScript program"));
        }
        self.bytes = bytes;
        self.values.insert(index, given.clone());
        Ok(given)
    }

    /// Releases the values that `args` refers to, for one step.
    pub(super) fn release(&mut self, args: &Template) {
        for index in StepPlan::needed_steps(args) {
            self.uses[index] = self.uses[index].saturating_sub(1);
            if self.uses[index] == 0
                && let Some(given) = self.values.remove(&index)
            {
                self.bytes -= given.bytes();
            }
        }
    }

    pub(super) fn inputs_of(&self, template: &Template) -> TemplateInputs {
        let needed = StepPlan::needed_steps(template).into_iter();
        let values = needed.filter_map(|index| Some((index, self.values.get(&index)?.clone())));
        TemplateInputs {
            input: Arc::clone(&self.input),
            values: values.collect(),
        }
    }

    /// The result of the last step, if it has one.
    pub(super) fn last_result(&self) -> Option<&str> {
        Some(&self.values.get(&self.last)?.result)
    }
}

impl TemplateInputs {
    /// The total size of the values and the input.
    pub(super) fn bytes(&self) -> usize {
        self.values.values().map(StepOutput::bytes).sum::<usize>() + self.input.len()
    }
}

impl ReferenceValues for TemplateInputs {
    fn root_text(&self, reference: &ValueReference) -> Option<&str> {
        match reference.root {
            ReferenceRoot::Input => Some(&self.input),
            ReferenceRoot::Step { index, part } => {
                let given = self.values.get(&index)?;
                Some(match part {
                    StepPart::Result => &given.result,
                    StepPart::Args => &given.args,
                })
            }
        }
    }
}
