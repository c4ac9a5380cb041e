//! The calls of one run: starts, queues and counts them.
//!
//! Invariant: the memory that the daemon uses for the calls of a worker is bounded, regardless of what the
//! worker sends.

use std::collections::{HashMap, VecDeque};

use futures::{FutureExt, StreamExt, future::BoxFuture, future::ready, stream::FuturesUnordered};
use mux_wire::{CallTarget, Fault};

use super::RunEnvironment;
use crate::{limits, worker_process::WorkerError};

/// Above this many bytes of arguments in queued calls, no further frames of the worker are read.
const MAX_QUEUED_ARGUMENT_BYTES: usize = 64 << 20;
/// No further frames are read from a worker that has not taken the answers of more finished calls than this.
const MAX_UNSENT_ANSWERS: usize = 1_000;
/// A program that makes this many calls beyond its limit is ended.
const MAX_REFUSED_CALLS: u32 = 100_000;

pub(super) type CallAnswer = (u32, Result<String, Fault>);

#[derive(Default)]
pub(super) struct CallQueue {
    running: FuturesUnordered<BoxFuture<'static, CallAnswer>>,
    line: VecDeque<(u32, CallTarget, String)>,
    /// Bytes of arguments of the queued calls.
    waiting: usize,
    names: HashMap<u32, String>,
    /// The number that the next call must have.
    next: u32,
}

impl CallQueue {
    /// Accepts the next call of the worker. The numbers must be consecutive.
    pub(super) fn accept(
        &mut self,
        call: u32,
        target: CallTarget,
        arguments: String,
        job: &RunEnvironment<'_>,
    ) -> Result<(), WorkerError> {
        if call != self.next {
            return Err(WorkerError::Protocol(format!(
                "call {call} in place of {}",
                self.next
            )));
        }
        if call >= job.limits.calls.saturating_add(MAX_REFUSED_CALLS) {
            return Err(WorkerError::Protocol(format!(
                "{MAX_REFUSED_CALLS} calls beyond the limit of {}",
                job.limits.calls
            )));
        }
        self.next += 1;
        self.names.insert(call, target.to_string());
        let refused = limits::check_call_limits(job.limits, call, arguments.len())
            .or_else(|| target.name_limit_fault());
        if let Some(fault) = refused {
            self.running.push(ready((call, Err(fault))).boxed());
        } else {
            self.waiting += arguments.len();
            self.line.push_back((call, target, arguments));
            self.start_queued(job);
        }
        Ok(())
    }

    /// Returns true if the program has not made any call yet.
    pub(super) fn is_unused(&self) -> bool {
        self.next == 0
    }

    /// Returns true if the next frame of the worker may be read.
    pub(super) fn has_room(&self, job: &RunEnvironment<'_>) -> bool {
        let untaken = self.running.len().saturating_sub(job.limits.calls_at_once);
        self.waiting <= MAX_QUEUED_ARGUMENT_BYTES && untaken <= MAX_UNSENT_ANSWERS
    }

    /// Waits for the next call that ends. `None` if no call is running. Cancel-safe.
    pub(super) async fn next_ended(&mut self, job: &RunEnvironment<'_>) -> Option<CallAnswer> {
        let (call, outcome) = self.running.next().await?;
        let name = self.names.remove(&call).unwrap_or_default();
        self.start_queued(job);
        Some((
            call,
            outcome.and_then(|text| limits::check_answer_length(text, &name)),
        ))
    }

    /// The names of the calls that have not ended, in the order in which they were made.
    pub(super) fn pending_names(&self) -> Vec<String> {
        let mut calls: Vec<_> = self.names.iter().collect();
        calls.sort();
        calls.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// Starts queued calls while there is room.
    fn start_queued(&mut self, job: &RunEnvironment<'_>) {
        while self.running.len() < job.limits.calls_at_once {
            let Some((call, target, arguments)) = self.line.pop_front() else {
                return;
            };
            self.waiting -= arguments.len();
            let outcome = job.host.call(target, arguments);
            self.running
                .push(outcome.map(move |outcome| (call, outcome)).boxed());
        }
    }
}
