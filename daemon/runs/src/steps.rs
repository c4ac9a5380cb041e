//! Executes a step program. Such a program needs no isolate, and is otherwise an ordinary run.
//!
//! Errors in the program are reported before its first call. Each step starts as soon as its predecessors have ended,
//! up to the limit of concurrent calls. A failed step ends the program and cancels the steps after it, unless it has
//! `on_error: continue`.
//!
//! Invariant: the outcome is the same as if the steps had run one after another.

mod preflight;
mod step_call;
mod step_schedule;
mod step_summary;
mod step_values;

use std::sync::Arc;

use futures::{StreamExt, stream::FuturesUnordered};
use mux_sandbox::{ProgramLimits, RunRequest, limits};
use mux_wire::{Fault, FaultKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info};

pub(super) use self::preflight::known_changes;
use self::{
    step_call::StepCall,
    step_schedule::StepSchedule,
    step_values::{KeptStepValues, TemplateInputs},
};
use super::run_context::RunContext;
use crate::program_check::ProgramChecker;
use mux_messages::EventKind;
use mux_process::blocking_pool;
use mux_program::{FillError, StepOrder, StepPlan};
use mux_telemetry::trace::SpanKind;

/// Parses a step program within the limits of a run.
pub(super) fn parse_steps(source: &str, limits: &ProgramLimits) -> Result<StepPlan, Fault> {
    limits::check_source_length(source, limits)?;
    mux_program::parse_program(source, limits.calls as usize)
}

/// Runs the program to its end and returns a summary of its steps with the result.
pub(super) async fn run_steps(
    plan: StepPlan,
    request: RunRequest,
    context: RunContext,
    checks: Option<(&ProgramChecker, Option<String>)>,
    cancel: &CancellationToken,
) -> Result<String, Fault> {
    let stopped = || Fault::new(FaultKind::Cancelled, "the run was cancelled");
    let trace = &context.call_context.caller.trace;
    let span = trace.begin_span(SpanKind::Internal, || "check".into());
    let before = preflight::run_preflight(&plan, &context, checks);
    let ahead = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(stopped()),
        ahead = before => ahead,
    };
    span.end_with(|| ahead.as_ref().err().map(|fault| fault.kind.to_string()));
    let ahead = ahead?;
    let writer = Arc::clone(context.observer.writer());
    writer.push(EventKind::Started {});
    let order = StepOrder::of(&plan, &ahead.changes);
    let plan = Arc::new(plan);
    let mut schedule = StepSchedule::new(Arc::clone(&plan), order);
    let mut kept = KeptStepValues::new(&plan, request.input);
    let mut running = FuturesUnordered::new();
    let caller = Arc::clone(&context.call_context.caller);
    let over = caller
        .clock
        .wait_until_elapsed(Instant::now(), request.limits.wall);
    tokio::pin!(over);
    let early = loop {
        while running.len() < request.limits.calls_at_once
            && let Some((index, halt)) = schedule.next_ready()
        {
            writer.push(schedule.started_event(index));
            let one = StepCall {
                plan: Arc::clone(&plan),
                index,
                values: kept.inputs_of(&plan.steps[index].args),
                most: request.limits.argument as usize,
                context: context.clone(),
            };
            running.push(one.run_until_halted(halt).in_current_span());
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => break Some(stopped()),
            () = &mut over => {
                break Some(limits::timeout_fault(request.limits.wall, &schedule.describe_running()));
            }
            ended = running.next() => match ended {
                None => break None,
                Some(mut ended) => {
                    let index = ended.index;
                    if let Ok(value) = &mut ended.outcome {
                        ended.outcome = kept.keep_output(index, value.clone());
                    }
                    writer.push(schedule.ended_event(&ended));
                    for (skipped, event) in schedule.finish_step(ended) {
                        kept.release(&plan.steps[skipped].args);
                        writer.push(event);
                    }
                    kept.release(&plan.steps[index].args);
                }
            }
        }
    };
    // Cancels the calls in flight.
    drop(running);
    let failure = early.or_else(|| schedule.failure());
    for event in schedule.cancel_remaining(failure.as_ref()) {
        writer.push(event);
    }
    info!(steps = plan.steps.len(), "steps ended");
    if let Some(fault) = failure {
        return Err(schedule.with_step_details(fault));
    }
    let result = match &plan.returns {
        Some(returns) => {
            let values = kept.inputs_of(returns);
            let plan = Arc::clone(&plan);
            let most = request.limits.result as usize;
            let made = blocking_pool::run(move || fill_result(&plan, &values, most)).await;
            made.map_err(|fault| schedule.with_step_details(fault))?
        }
        None => kept
            .last_result()
            .map_or_else(|| "null".into(), str::to_owned),
    };
    step_summary::summary_document(schedule.summary(), result, &context.handles).await
}

/// The value of `return`, with all references expanded.
fn fill_result(plan: &StepPlan, values: &TemplateInputs, most: usize) -> Result<String, Fault> {
    let Some(returns) = &plan.returns else {
        return Ok("null".into());
    };
    returns.fill(values, most).map_err(|why| match why {
        FillError::TooLong(most) => Fault::new(
            FaultKind::Limit,
            format!("the result of the program would be over the limit of {most} bytes"),
        )
        .hint("return less, or read a step's result by its handle"),
        FillError::TooMuch(most) => step_call::scan_limit_fault(most),
        FillError::Missing(reference, missing) => {
            step_call::missing_value_fault(plan, "`return`", &reference, &missing, values)
        }
    })
}
