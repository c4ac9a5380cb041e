//! Executes one step: fills its arguments, calls its tool, and prepares its result for the summary.
//!
//! Invariant: a step calls its tool at most once, through the gateway.

use std::{sync::Arc, time::Duration};

use mux_typegen::ResultShape;
use mux_wire::{CallTarget, Fault, FaultKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{step_summary::StepResultView, step_values::TemplateInputs};
use crate::run_context::RunContext;
use mux_process::blocking_pool;
use mux_program::{
    FillError, MissingValue, ReferenceRoot, ReferenceValues, StepPart, StepPlan, ValueReference,
    value_at_path,
};

/// Up to this size the arguments are filled on the current thread, because switching threads would take longer.
const MAX_INLINE_FILL_BYTES: usize = 256 << 10;
/// Error messages show the type of a value only up to this size.
const MAX_OUTLINED_BYTES: usize = 4 << 20;

/// A step that is about to start.
pub(super) struct StepCall {
    pub(super) plan: Arc<StepPlan>,
    pub(super) index: usize,
    pub(super) values: TemplateInputs,
    /// The maximum size of the arguments, in bytes.
    pub(super) most: usize,
    pub(super) context: RunContext,
}

/// The values of a step to which later steps can refer, as JSON.
#[derive(Clone)]
pub(super) struct StepOutput {
    pub(super) args: Arc<str>,
    pub(super) result: Arc<str>,
    pub(super) shown: Arc<StepResultView>,
}

pub(super) struct EndedStep {
    pub(super) index: usize,
    pub(super) took: Duration,
    pub(super) outcome: Result<StepOutput, Fault>,
}

impl StepOutput {
    pub(super) fn bytes(&self) -> usize {
        self.args.len() + self.result.len()
    }
}

impl StepCall {
    /// Runs until the step has ended, or `halt` is cancelled because an earlier step failed.
    pub(super) async fn run_until_halted(self, halt: CancellationToken) -> EndedStep {
        let index = self.index;
        let began = Instant::now();
        let outcome = tokio::select! {
            biased;
            () = halt.cancelled() => Err(Fault::new(
                FaultKind::Cancelled,
                "the step was cancelled while running, because an earlier step failed",
            )
            .hint("it may or may not have happened; check before you call it again")),
            outcome = self.call() => outcome,
        };
        EndedStep {
            index,
            took: began.elapsed(),
            outcome,
        }
    }

    async fn call(self) -> Result<StepOutput, Fault> {
        let context = self.context.clone();
        let plan = Arc::clone(&self.plan);
        let index = self.index;
        let is_long =
            self.values.bytes() > MAX_INLINE_FILL_BYTES && !plan.steps[index].args.is_fixed();
        let args = blocking_pool::run_if(is_long, move || self.fill_arguments()).await?;
        let args: Arc<str> = args.into();
        let target = CallTarget::Path {
            path: plan.steps[index].tool.clone(),
            raw: false,
        };
        let result = context.call(target, Arc::clone(&args)).await?;
        let shown = Arc::new(StepResultView::of(&result, &context.handles).await);
        Ok(StepOutput {
            args,
            result: result.into(),
            shown,
        })
    }

    /// The arguments to send.
    fn fill_arguments(self) -> Result<String, Fault> {
        let step = &self.plan.steps[self.index];
        step.args
            .fill(&self.values, self.most)
            .map_err(|why| match why {
                FillError::TooLong(most) => Fault::new(
                    FaultKind::Limit,
                    format!("the arguments would be over the limit of {most} bytes"),
                )
                .hint(
                    "send less at once; [limits] argument in config.toml allows more, up to 15 MiB",
                )
                .path(&step.tool),
                FillError::TooMuch(most) => scan_limit_fault(most).path(&step.tool),
                FillError::Missing(reference, missing) => {
                    missing_value_fault(&self.plan, "it", &reference, &missing, &self.values)
                        .path(&step.tool)
                }
            })
    }
}

pub(super) fn scan_limit_fault(most: usize) -> Fault {
    let message = format!(
        "resolving its references would require reading more than {most} bytes of step results"
    );
    Fault::new(FaultKind::Limit, message).hint(
        "this limit is fixed: refer to long results less often, or write a TypeScript program",
    )
}

/// The fault of a reference to a missing value, with suggestions and the type of what exists.
pub(super) fn missing_value_fault(
    plan: &StepPlan,
    who: &str,
    reference: &ValueReference,
    missing: &MissingValue,
    values: &TemplateInputs,
) -> Fault {
    let message = format!(
        "{who} refers to {{{{{}}}}}, but there is no such value: {}",
        reference.text, missing.message
    );
    let mut hints: Vec<String> = Vec::new();
    if !missing.near.is_empty() {
        let near: Vec<String> = missing
            .near
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        hints.push(format!("did you mean {}?", near.join(" or ")));
    }
    let of = match reference.root {
        ReferenceRoot::Input => "the input".to_owned(),
        ReferenceRoot::Step { index, part } => {
            let step = &plan.steps[index];
            let what = match part {
                StepPart::Result => "the result",
                StepPart::Args => "the arguments",
            };
            format!("{what} of `{}` ({})", step.id, step.tool)
        }
    };
    let whole = values
        .root_text(reference)
        .and_then(|text| value_at_path(text, &[]).ok());
    if let Some(shape) = whole
        .filter(|text| text.len() <= MAX_OUTLINED_BYTES)
        .and_then(shape_outline)
    {
        hints.push(format!("{of} looks like this:\n{shape}"));
    }
    let fault = Fault::new(FaultKind::Runtime, message);
    if hints.is_empty() {
        fault
    } else {
        fault.hint(hints.join("\n"))
    }
}

/// The TypeScript type of a value, without its content.
fn shape_outline(text: &str) -> Option<String> {
    let mut shape = ResultShape::new();
    shape.add(&serde_json::from_str(text).ok()?);
    shape.outline()
}
