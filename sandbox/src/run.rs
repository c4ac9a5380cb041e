//! Runs one program on one worker: handles its frames, makes its calls, enforces its deadline.
//!
//! Invariant: a run ends by its deadline regardless of what the worker does, and its calls are cancelled by then.

mod call_queue;
mod output_meter;
mod processor_limit;

use std::time::Duration;

use mux_wire::{ConsoleLevel, Fault, FaultKind, FromWorker, ProgramFindings, ToWorker};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::{call_queue::CallQueue, output_meter::OutputMeter, processor_limit::ProcessorLimit};
use crate::{
    ProgramLimits, ToolHost, limits,
    worker_process::{DeathCause, Worker, WorkerError},
};

/// Strings in a worker's fault are cut at this many bytes: one message must not fill a screen or a log.
const MAX_FAULT_TEXT_BYTES: usize = 16 << 10;
/// The minimum interval between two checks whether the run is paused.
const PAUSE_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Longer details of a fault are dropped: programs read them, and truncated details are useless to a program.
const MAX_FAULT_DETAILS_BYTES: usize = 1 << 20;

/// How a run ended, and whether its worker may serve another.
pub(crate) struct RunEnd {
    pub(crate) outcome: Result<String, Fault>,
    pub(crate) clean: bool,
    /// Whether the worker was killed from outside before the program had called, printed or emitted anything. It can
    /// then be restarted on another worker without a visible difference.
    pub(crate) can_begin_again: bool,
}

impl RunEnd {
    fn broken(fault: Fault) -> Self {
        Self {
            outcome: Err(fault),
            clean: false,
            can_begin_again: false,
        }
    }

    /// The end of a run whose worker failed. `untouched` is true if the program has had no effect so far.
    fn failed(error: WorkerError, untouched: bool) -> Self {
        let killed =
            matches!(&error, WorkerError::Ended(death) if death.cause == DeathCause::Killed);
        Self {
            can_begin_again: killed && untouched,
            ..Self::broken(worker_fault(error))
        }
    }
}

/// The limits, the host and the cancellation of one run.
pub(crate) struct RunEnvironment<'a> {
    pub(crate) limits: &'a ProgramLimits,
    pub(crate) host: &'a dyn ToolHost,
    pub(crate) cancel: &'a CancellationToken,
}

/// Drives a run from the moment the worker has accepted the program until it ends.
pub(crate) async fn drive_run(worker: &mut Worker, job: RunEnvironment<'_>) -> RunEnd {
    let mut processor = ProcessorLimit::start(worker.pid(), job.limits.processor_time_limit());
    let end = drive_until_end(worker, &job, &mut processor).await;
    RunEnd {
        clean: end.clean && !processor.has_lowered_priority(),
        ..end
    }
}

async fn drive_until_end(
    worker: &mut Worker,
    job: &RunEnvironment<'_>,
    processor: &mut ProcessorLimit,
) -> RunEnd {
    let begun = Instant::now();
    let mut deadline = begun + job.limits.wall;
    let mut calls = CallQueue::default();
    let mut output = OutputMeter::default();
    let outbox = worker.outbox();
    // An answer for which the outbox has no room yet.
    let mut unsent = None;
    loop {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => {
                return RunEnd::broken(Fault::new(FaultKind::Cancelled, "the run was cancelled"));
            }
            () = sleep_until(deadline) => {
                let due = begun + job.limits.wall + job.host.paused_for();
                if due > Instant::now() {
                    // While the run is paused for a user's answer, `due` moves on: check it at intervals only.
                    deadline = due.max(Instant::now() + PAUSE_CHECK_INTERVAL);
                    continue;
                }
                return RunEnd::broken(limits::timeout_fault(job.limits.wall, &calls.pending_names()));
            }
            used = processor.exceeded() => {
                return RunEnd::broken(limits::processor_time_fault(used, job.limits));
            }
            () = outbox.wait_for_room(), if unsent.is_some() => {
                if let Some(frame) = unsent.take()
                    && let Err(e) = outbox.send(&frame)
                {
                    return RunEnd::failed(e, false);
                }
            }
            Some((call, outcome)) = calls.next_ended(job), if unsent.is_none() => {
                unsent = Some(ToWorker::CallDone { call, outcome });
            }
            frame = worker.receive(), if calls.has_room(job) => {
                match handle_frame(frame, &mut calls, &mut output, job) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => return outcome,
                    Err(e) => {
                        let untouched = calls.is_unused() && output.is_empty();
                        return RunEnd::failed(e, untouched);
                    }
                }
            }
        }
    }
}

fn handle_frame(
    frame: Result<FromWorker, WorkerError>,
    calls: &mut CallQueue,
    output: &mut OutputMeter,
    job: &RunEnvironment<'_>,
) -> Result<Option<RunEnd>, WorkerError> {
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
            output.count_console(&text, job.limits)?;
            job.host.console(level, text);
            Ok(None)
        }
        FromWorker::Emit { part } => {
            output.count_part(&part, job.limits)?;
            job.host.emit(part);
            Ok(None)
        }
        FromWorker::Done { mut outcome } => {
            if let Err(fault) = &mut outcome {
                sanitize_fault(fault);
            }
            if let Ok(result) = &outcome {
                let length = result.len();
                let most = job.limits.result;
                if length > most as usize {
                    return Err(WorkerError::Protocol(format!(
                        "a result of {length} bytes, over the limit of {most}"
                    )));
                }
            }
            if outcome.is_ok()
                && let calls = calls.pending_names()
                && !calls.is_empty()
            {
                // A cancelled call may have had its effect, or part of it.
                let text = format!(
                    "the program returned before {} had ended, which was cancelled; await it",
                    limits::format_call_names(&calls)
                );
                job.host.console(ConsoleLevel::Warn, text);
            }
            // After one of these the state of the process is not trusted.
            let unclean_kinds = [FaultKind::Memory, FaultKind::Limit, FaultKind::Internal];
            let clean = !matches!(&outcome, Err(fault) if unclean_kinds.contains(&fault.kind));
            Ok(Some(RunEnd {
                outcome,
                clean,
                can_begin_again: false,
            }))
        }
        other => Err(WorkerError::Protocol(format!(
            "unexpected frame during a run: {}",
            other.as_ref()
        ))),
    }
}

/// Checks a program on a worker that is ready.
pub(crate) async fn check_program(
    worker: &mut Worker,
    source: String,
    within: Duration,
) -> Result<ProgramFindings, Fault> {
    match tokio::time::timeout(within, worker.check(source)).await {
        Ok(Ok(mut findings)) => {
            let faults = findings.errors.iter_mut().chain(&mut findings.warnings);
            faults.for_each(sanitize_fault);
            Ok(findings)
        }
        Ok(Err(e)) => Err(worker_fault(e)),
        Err(_) => Err(limits::timeout_fault(within, &[])),
    }
}

/// Limits the size of a fault that came from a worker.
fn sanitize_fault(fault: &mut Fault) {
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
        if text.len() > MAX_FAULT_TEXT_BYTES {
            text.truncate(text.floor_char_boundary(MAX_FAULT_TEXT_BYTES));
            text.push('…');
        }
    }
    fault
        .details
        .take_if(|text| text.len() > MAX_FAULT_DETAILS_BYTES);
}

pub(crate) fn worker_fault(error: WorkerError) -> Fault {
    let WorkerError::Ended(death) = error else {
        return Fault::new(FaultKind::Internal, error.to_string())
            .user_hint("only this run is lost; `mux logs` has more");
    };
    match death.cause {
        DeathCause::Memory => Fault::new(
            FaultKind::Memory,
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
        DeathCause::Depth => limits::limit_fault(
            "the program, or one of its values, nests deeper than the worker's stack".into(),
            "this limit is fixed: break the expression or the data into parts",
        ),
        DeathCause::Processor => limits::limit_fault(
            "the worker process used up its processor time".into(),
            "the next run has a fresh process",
        ),
        DeathCause::Forbidden => Fault::new(
            FaultKind::Internal,
            "the worker was killed because it made a system call that no program may make",
        )
        .hint("only this run is lost; please report the program that did this"),
        DeathCause::Killed | DeathCause::Unknown => {
            let error = WorkerError::Ended(death);
            Fault::new(FaultKind::Internal, error.to_string())
                .user_hint("only this run is lost; `mux logs` has more")
        }
    }
}
