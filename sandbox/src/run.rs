//! One program on one worker: frames in, calls out, a deadline kept from outside.
//!
//! Invariant: whatever the worker does, this ends by the deadline, and the calls it started are
//! cancelled by then.

mod processor;

use std::{collections::HashMap, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use mux_wire::{Fault, FromWorker, Kind, Level, Target, ToWorker};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::processor::Processor;
use crate::{
    Limits, ToolHost, limits,
    worker_process::{Cause, Worker, WorkerError},
};

/// What a worker says is cut here: one message must not fill a screen or a log.
const MAX_TEXT: usize = 16 << 10;

/// How a run ended, and whether its worker may serve another.
pub(crate) struct Ended {
    pub(crate) outcome: Result<String, Fault>,
    pub(crate) clean: bool,
}

impl Ended {
    fn broken(fault: Fault) -> Self {
        Self {
            outcome: Err(fault),
            clean: false,
        }
    }
}

/// What a guest needs besides its worker.
pub(crate) struct Job<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) host: &'a dyn ToolHost,
    pub(crate) cancel: &'a CancellationToken,
}

type Answer = (u32, Result<String, Fault>);

/// Calls of this run: running, waiting in line, and counted.
struct Calls {
    running: FuturesUnordered<BoxFuture<'static, Answer>>,
    line: std::collections::VecDeque<(u32, Target, String)>,
    names: HashMap<u32, String>,
    expected: u32,
}

impl Calls {
    /// Takes the next call of the worker, whose numbers must count up.
    fn accept(&mut self, call: u32, target: &Target) -> Result<(), WorkerError> {
        if call != self.expected {
            return Err(WorkerError::Protocol(format!(
                "call {call} in place of {}",
                self.expected
            )));
        }
        self.expected += 1;
        let name = match target {
            Target::Named { server, tool } => format!("{server}.{tool}"),
            Target::Path { path, .. } => path.clone(),
            Target::Own { name } => format!("mux.{name}"),
        };
        self.names.insert(call, name);
        Ok(())
    }

    /// Starts calls from the line while there is room.
    fn advance(&mut self, job: &Job<'_>) {
        while self.running.len() < job.limits.calls_at_once {
            let Some((call, target, arguments)) = self.line.pop_front() else {
                return;
            };
            let outcome = job.host.call(target, arguments);
            self.running
                .push(outcome.map(move |outcome| (call, outcome)).boxed());
        }
    }

    fn pending(&self) -> Vec<String> {
        let mut calls: Vec<_> = self.names.iter().collect();
        calls.sort();
        calls.into_iter().map(|(_, name)| name.clone()).collect()
    }
}

/// From the moment at which the worker has accepted the program.
pub(crate) async fn drive(worker: &mut Worker, job: Job<'_>) -> Ended {
    let deadline = Instant::now() + job.limits.wall;
    let mut processor = Processor::start(worker.pid(), job.limits.processor());
    let mut calls = Calls {
        running: FuturesUnordered::new(),
        line: std::collections::VecDeque::new(),
        names: HashMap::new(),
        expected: 0,
    };
    loop {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => {
                return Ended::broken(Fault::new(Kind::Cancelled, "the run was cancelled"));
            }
            () = sleep_until(deadline) => {
                return Ended::broken(limits::timed_out(job.limits.wall, &calls.pending()));
            }
            used = processor.exceeded() => {
                return Ended::broken(limits::processor_time(used, job.limits));
            }
            Some((call, outcome)) = calls.running.next() => {
                let name = calls.names.remove(&call).unwrap_or_default();
                let outcome = outcome.and_then(|text| limits::fitting(text, &name));
                if let Err(e) = worker.send(&ToWorker::CallDone { call, outcome }) {
                    return Ended::broken(fault_of(e));
                }
                calls.advance(&job);
            }
            frame = worker.receive() => match on_frame(frame, &mut calls, &job) {
                Ok(None) => {}
                Ok(Some(outcome)) => return outcome,
                Err(e) => return Ended::broken(fault_of(e)),
            },
        }
    }
}

fn on_frame(
    frame: Result<FromWorker, WorkerError>,
    calls: &mut Calls,
    job: &Job<'_>,
) -> Result<Option<Ended>, WorkerError> {
    match frame? {
        FromWorker::Call {
            call,
            target,
            arguments,
        } => {
            calls.accept(call, &target)?;
            if let Some(fault) = limits::refused(job.limits, call, arguments.len()) {
                let answer: Answer = (call, Err(fault));
                calls.running.push(futures::future::ready(answer).boxed());
            } else {
                calls.line.push_back((call, target, arguments));
                calls.advance(job);
            }
            Ok(None)
        }
        FromWorker::Console { level, text } => {
            job.host.console(level, text);
            Ok(None)
        }
        FromWorker::Emit { part } => {
            job.host.emit(part);
            Ok(None)
        }
        FromWorker::Done { outcome } => {
            let outcome = outcome.map_err(trusted);
            if outcome.is_ok()
                && let calls = calls.pending()
                && !calls.is_empty()
            {
                // What nobody waits for may have had its effect, or half of it.
                let text = format!(
                    "the program returned before {} had ended, which was cancelled; await it",
                    limits::shortened(&calls)
                );
                job.host.console(Level::Warn, text);
            }
            // A limit that was hit may have left the process fat or strange.
            let clean =
                !matches!(&outcome, Err(f) if matches!(f.kind, Kind::Memory | Kind::Internal));
            Ok(Some(Ended { outcome, clean }))
        }
        other => Err(WorkerError::Protocol(format!(
            "unexpected frame during a run: {:?}",
            std::mem::discriminant(&other)
        ))),
    }
}

/// The programs faults of a check, asked of a worker that is ready.
pub(crate) async fn check(
    worker: &mut Worker,
    source: String,
    within: Duration,
) -> Result<Vec<Fault>, Fault> {
    worker.send(&ToWorker::Check { source }).map_err(fault_of)?;
    match tokio::time::timeout(within, worker.receive()).await {
        Ok(Ok(FromWorker::Checked { faults })) => Ok(faults.into_iter().map(trusted).collect()),
        Ok(Ok(_)) => Err(fault_of(WorkerError::Protocol(
            "no answer to a check".into(),
        ))),
        Ok(Err(e)) => Err(fault_of(e)),
        Err(_) => Err(limits::timed_out(within, &[])),
    }
}

/// A fault that came from a worker, made safe to pass on.
fn trusted(mut fault: Fault) -> Fault {
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
    fault
}

pub(crate) fn fault_of(error: WorkerError) -> Fault {
    let WorkerError::Ended(death) = error else {
        return Fault::new(Kind::Internal, error.to_string())
            .hint("only this run is lost; `mux logs` has more");
    };
    match death.cause {
        Cause::Memory => Fault::new(
            Kind::Memory,
            format!(
                "the program used more memory than it may ({} MiB of heap, {} MiB of buffers), and its \
                 isolate had to be killed",
                death.memory.heap, death.memory.buffers
            ),
        )
        .hint(
            "work on one part of the data at a time and keep only what you need; whoever owns this \
             machine can allow more: `heap` and `buffers` under `[limits]` in config.toml",
        ),
        Cause::Depth => limits::reached(
            "the program, or a value of its, nests deeper than the worker's stack".into(),
            "this limit is fixed: break the expression or the data into parts",
        ),
        Cause::Processor => limits::reached(
            "the worker process used up its processor time".into(),
            "the next run has a fresh process",
        ),
        Cause::Forbidden => Fault::new(
            Kind::Internal,
            "the worker was killed because it asked the system for what no program may have",
        )
        .hint("only this run is lost; please report the program that did this"),
        Cause::Unknown => {
            let error = WorkerError::Ended(death);
            Fault::new(Kind::Internal, error.to_string())
                .hint("only this run is lost; `mux logs` has more")
        }
    }
}
