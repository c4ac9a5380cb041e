//! Runs one program on one worker: handles its frames, makes its calls, enforces its deadline.
//!
//! Invariant: whatever the worker does, a run ends by its deadline, and its calls are cancelled by then.

mod calls;
mod processor;
mod spoken;

use std::time::Duration;

use mux_wire::{Fault, FromWorker, Kind, Level, ToWorker};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::{calls::Calls, processor::Processor, spoken::Spoken};
use crate::{
    Limits, ToolHost, limits,
    worker_process::{Cause, Checked, Worker, WorkerError},
};

/// Texts of a fault from a worker are cut at this many bytes: one message must not fill a screen or a log.
const MAX_TEXT: usize = 16 << 10;
/// The minimum interval between two checks whether the run is paused.
const GLANCE: Duration = Duration::from_millis(50);
/// Longer details of a fault are dropped: they are for programs, to which a truncated text is useless.
const MAX_DETAILS: usize = 1 << 20;

/// How a run ended, and whether its worker may serve another.
pub(crate) struct Ended {
    pub(crate) outcome: Result<String, Fault>,
    pub(crate) clean: bool,
    /// Whether the worker was killed from outside before the program had called, printed or emitted anything, so that
    /// it can be restarted on another worker without a visible difference.
    pub(crate) can_begin_again: bool,
}

impl Ended {
    fn broken(fault: Fault) -> Self {
        Self {
            outcome: Err(fault),
            clean: false,
            can_begin_again: false,
        }
    }

    /// The end of a run whose worker failed. `untouched`: the program had no effect so far.
    fn failed(error: WorkerError, untouched: bool) -> Self {
        let killed = matches!(&error, WorkerError::Ended(death) if death.cause == Cause::Killed);
        Self {
            can_begin_again: killed && untouched,
            ..Self::broken(fault_of(error))
        }
    }
}

/// The limits, the host and the cancellation of one run.
pub(crate) struct Job<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) host: &'a dyn ToolHost,
    pub(crate) cancel: &'a CancellationToken,
}

/// Drives a run from the moment the worker has accepted the program until it ends.
pub(crate) async fn drive(worker: &mut Worker, job: Job<'_>) -> Ended {
    let begun = Instant::now();
    let mut deadline = begun + job.limits.wall;
    let mut processor = Processor::start(worker.pid(), job.limits.processor());
    let (mut calls, mut spoken) = (Calls::default(), Spoken::default());
    let outbox = worker.outbox();
    // An answer for which the outbox has no room yet.
    let mut unsent = None;
    loop {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => {
                return Ended::broken(Fault::new(Kind::Cancelled, "the run was cancelled"));
            }
            () = sleep_until(deadline) => {
                let due = begun + job.limits.wall + job.host.stood_still();
                if due > Instant::now() {
                    // While the run is paused for a user's answer, `due` moves on: check it at intervals only.
                    deadline = due.max(Instant::now() + GLANCE);
                    continue;
                }
                return Ended::broken(limits::timed_out(job.limits.wall, &calls.pending()));
            }
            used = processor.exceeded() => {
                return Ended::broken(limits::processor_time(used, job.limits));
            }
            () = outbox.room(), if unsent.is_some() => {
                if let Some(frame) = unsent.take()
                    && let Err(e) = outbox.send(&frame)
                {
                    return Ended::failed(e, false);
                }
            }
            Some((call, outcome)) = calls.ended(&job), if unsent.is_none() => {
                unsent = Some(ToWorker::CallDone { call, outcome });
            }
            frame = worker.receive(), if calls.has_room(&job) => {
                match on_frame(frame, &mut calls, &mut spoken, &job) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => return outcome,
                    Err(e) => {
                        let untouched = calls.are_none() && spoken.is_nothing();
                        return Ended::failed(e, untouched);
                    }
                }
            }
        }
    }
}

fn on_frame(
    frame: Result<FromWorker, WorkerError>,
    calls: &mut Calls,
    spoken: &mut Spoken,
    job: &Job<'_>,
) -> Result<Option<Ended>, WorkerError> {
    match frame? {
        FromWorker::Call {
            call,
            target,
            arguments,
        } => {
            calls.accept(call, target, arguments, job)?;
            Ok(None)
        }
        FromWorker::Console { level, text } => {
            spoken.print(&text, job.limits)?;
            job.host.console(level, text);
            Ok(None)
        }
        FromWorker::Emit { part } => {
            spoken.emit(&part, job.limits)?;
            job.host.emit(part);
            Ok(None)
        }
        FromWorker::Done { outcome } => {
            let outcome = outcome.map_err(trusted);
            if let Ok(result) = &outcome {
                let (length, most) = (result.len(), job.limits.result);
                if length > most as usize {
                    return Err(WorkerError::Protocol(format!(
                        "a result of {length} bytes, over the limit of {most}"
                    )));
                }
            }
            if outcome.is_ok()
                && let calls = calls.pending()
                && !calls.is_empty()
            {
                // A cancelled call may have had its effect, or part of it.
                let text = format!(
                    "the program returned before {} had ended, which was cancelled; await it",
                    limits::shortened(&calls)
                );
                job.host.console(Level::Warn, text);
            }
            // After one of these the state of the process is not trusted.
            const UNCLEAN: [Kind; 3] = [Kind::Memory, Kind::Limit, Kind::Internal];
            let clean = !matches!(&outcome, Err(fault) if UNCLEAN.contains(&fault.kind));
            Ok(Some(Ended {
                outcome,
                clean,
                can_begin_again: false,
            }))
        }
        other => Err(WorkerError::Protocol(format!(
            "unexpected frame during a run: {}",
            other.name()
        ))),
    }
}

/// Checks a program on a worker that is ready.
pub(crate) async fn check(
    worker: &mut Worker,
    source: String,
    within: Duration,
) -> Result<Checked, Fault> {
    match tokio::time::timeout(within, worker.check(source)).await {
        Ok(Ok(checked)) => Ok(Checked {
            errors: checked.errors.into_iter().map(trusted).collect(),
            warnings: checked.warnings.into_iter().map(trusted).collect(),
        }),
        Ok(Err(e)) => Err(fault_of(e)),
        Err(_) => Err(limits::timed_out(within, &[])),
    }
}

/// Limits the size of a fault that came from a worker.
fn trusted(mut fault: Fault) -> Fault {
    if fault.message.is_empty() {
        fault.message = "the program failed without a message".into();
    }
    for text in [
        Some(&mut fault.message),
        fault.hint.as_mut(),
        fault.path.as_mut(),
    ]
    .into_iter()
    .flatten()
    {
        if text.len() > MAX_TEXT {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            text.push('…');
        }
    }
    fault.details = fault.details.filter(|text| text.len() <= MAX_DETAILS);
    fault
}

pub(crate) fn fault_of(error: WorkerError) -> Fault {
    let WorkerError::Ended(death) = error else {
        return Fault::new(Kind::Internal, error.to_string())
            .user_hint("only this run is lost; `mux logs` has more");
    };
    match death.cause {
        Cause::Memory => Fault::new(
            Kind::Memory,
            format!(
                "the program exceeded its memory limits ({} MiB of heap, {} MiB of buffers), and its \
                 worker process ended",
                death.memory.heap, death.memory.buffers
            ),
        )
        .hint(
            "work on one part of the data at a time and keep only what you need; [limits] heap and buffers in \
             config.toml allow more",
        ),
        Cause::Depth => limits::reached(
            "the program, or one of its values, nests deeper than the worker's stack".into(),
            "this limit is fixed: break the expression or the data into parts",
        ),
        Cause::Processor => limits::reached(
            "the worker process used up its processor time".into(),
            "the next run has a fresh process",
        ),
        Cause::Forbidden => Fault::new(
            Kind::Internal,
            "the worker was killed because it made a system call that no program may make",
        )
        .hint("only this run is lost; please report the program that did this"),
        Cause::Killed | Cause::Unknown => {
            let error = WorkerError::Ended(death);
            Fault::new(Kind::Internal, error.to_string())
                .user_hint("only this run is lost; `mux logs` has more")
        }
    }
}
