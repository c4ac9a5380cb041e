//! A program of steps as a run: no isolate, and otherwise what every run is.
//!
//! What is wrong with the program is told before its first call. Then each step goes as soon as those
//! before it have ended, so many at once as a run may have calls. A step that fails ends the program, and
//! the steps behind it, unless it says `continue`.
//!
//! Invariant: who sees the steps in their order sees what he would see if they had gone one by one.

mod ahead;
mod course;
mod news;
mod one;
mod summary;
mod values;

use std::sync::Arc;

use futures::{StreamExt, stream::FuturesUnordered};
use mux_sandbox::{Limits, RunRequest, limits};
use mux_wire::{Fault, Kind};
use tokio::{task::spawn_blocking, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info};

pub(super) use self::ahead::known_changes;
pub use self::news::{News, StepEvent};
use self::{
    course::Course,
    one::One,
    values::{Kept, Sources},
};
use super::{Happening, reach::Reach};
use crate::inspect::Inspector;
pub use mux_program::Language;
use mux_program::{Filling, Order, Plan};
use mux_telemetry::trace::Kind as SpanKind;

/// The program, if it is one and no longer than a run of these limits may be.
pub(super) fn read(source: &str, limits: &Limits) -> Result<Plan, Fault> {
    limits::fitting_source(source, limits)?;
    mux_program::read(source, limits.calls as usize)
}

/// Runs it to its end and gives the summary of its steps with the result.
pub(super) async fn run(
    plan: Plan,
    request: RunRequest,
    (reach, checks): (Reach, Option<(&Inspector, Option<String>)>),
    cancel: &CancellationToken,
) -> Result<String, Fault> {
    let stopped = || Fault::new(Kind::Cancelled, "the run was cancelled");
    let trace = &reach.asking.caller.trace;
    let span = trace.begin(SpanKind::Internal, || "check".into());
    let before = ahead::look(&plan, &reach, checks);
    let ahead = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(stopped()),
        ahead = before => ahead,
    };
    span.ended(|| ahead.as_ref().err().map(|fault| fault.kind.to_string()));
    let ahead = ahead?;
    let recorder = Arc::clone(reach.observer.recorder());
    recorder.run().set_running();
    recorder.push(Happening::Started);
    let order = Order::of(&plan, &ahead.changes);
    let plan = Arc::new(plan);
    let mut course = Course::new(Arc::clone(&plan), order);
    let mut kept = Kept::new(&plan, request.input);
    let mut running = FuturesUnordered::new();
    let caller = Arc::clone(&reach.asking.caller);
    let over = caller.clock.over(Instant::now(), request.limits.wall);
    tokio::pin!(over);
    let early = loop {
        while running.len() < request.limits.calls_at_once
            && let Some((index, halt)) = course.next()
        {
            recorder.push(course.started(index));
            let one = One {
                plan: Arc::clone(&plan),
                index,
                values: kept.of(&plan.steps[index].args),
                most: request.limits.argument as usize,
                reach: reach.clone(),
            };
            running.push(one.go(halt).in_current_span());
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => break Some(stopped()),
            () = &mut over => {
                break Some(limits::timed_out(request.limits.wall, &course.on_their_way()));
            }
            ended = running.next() => match ended {
                None => break None,
                Some(mut ended) => {
                    let index = ended.index;
                    if let Ok(value) = &mut ended.outcome {
                        ended.outcome = kept.take(index, value.clone());
                    }
                    recorder.push(course.event(&ended));
                    for (skipped, happening) in course.ended(ended) {
                        kept.release(&plan.steps[skipped].args);
                        recorder.push(happening);
                    }
                    kept.release(&plan.steps[index].args);
                }
            }
        }
    };
    // Calls that are on their way are cancelled with this.
    drop(running);
    let failure = early.or_else(|| course.failure());
    for happening in course.close(failure.as_ref()) {
        recorder.push(happening);
    }
    info!(steps = plan.steps.len(), "steps ended");
    if let Some(fault) = failure {
        return Err(course.told(fault));
    }
    let result = match &plan.returns {
        Some(returns) => {
            let (values, plan) = (kept.of(returns), Arc::clone(&plan));
            let most = request.limits.result as usize;
            let made = spawn_blocking(move || result(&plan, &values, most));
            let lost = |_| Fault::new(Kind::Internal, "the result was lost in the daemon");
            let made = made.await.map_err(lost).and_then(|made| made);
            made.map_err(|fault| course.told(fault))?
        }
        None => kept.last().map_or_else(|| "null".into(), str::to_owned),
    };
    summary::document(course.summary(), result, &reach.handles).await
}

/// What `return` says, with all values in their places.
fn result(plan: &Plan, values: &Sources, most: usize) -> Result<String, Fault> {
    let Some(returns) = &plan.returns else {
        return Ok("null".into());
    };
    returns.fill(values, most).map_err(|why| match why {
        Filling::TooLong(most) => Fault::new(
            Kind::Limit,
            format!("the result of the program would be over the limit of {most} bytes"),
        )
        .hint("return less, or read what a step gave by its handle"),
        Filling::TooMuch(most) => one::too_much_to_read(most),
        Filling::Missing(reference, missing) => {
            one::leads_nowhere(plan, "`return`", &reference, &missing, values)
        }
    })
}
