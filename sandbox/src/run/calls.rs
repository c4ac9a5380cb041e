//! The calls of one run: starts, queues and counts them.
//!
//! Invariant: the memory that the daemon uses for the calls of a worker is bounded, whatever the worker sends.

use std::collections::{HashMap, VecDeque};

use futures::{FutureExt, StreamExt, future::BoxFuture, future::ready, stream::FuturesUnordered};
use mux_wire::{Fault, Target};

use super::Job;
use crate::{limits, worker_process::WorkerError};

/// Above this many bytes of arguments in queued calls, no further frames of the worker are read.
const MAX_WAITING: usize = 64 << 20;
/// Above this many finished calls whose answers the worker has not taken, no further frames of it are read.
const MAX_UNTAKEN: usize = 1_000;
/// A program that makes this many calls beyond its limit is ended.
const MAX_REFUSED: u32 = 100_000;
/// The maximum bytes of a name that are kept for errors.
const SHOWN_NAME: usize = 200;

pub(super) type Answer = (u32, Result<String, Fault>);

#[derive(Default)]
pub(super) struct Calls {
    running: FuturesUnordered<BoxFuture<'static, Answer>>,
    line: VecDeque<(u32, Target, String)>,
    /// Bytes of arguments of the queued calls.
    waiting: usize,
    names: HashMap<u32, String>,
    /// The number that the next call must have.
    next: u32,
}

impl Calls {
    /// Accepts the next call of the worker. The numbers must be consecutive.
    pub(super) fn accept(
        &mut self,
        call: u32,
        target: Target,
        arguments: String,
        job: &Job<'_>,
    ) -> Result<(), WorkerError> {
        if call != self.next {
            return Err(WorkerError::Protocol(format!(
                "call {call} in place of {}",
                self.next
            )));
        }
        if call >= job.limits.calls.saturating_add(MAX_REFUSED) {
            return Err(WorkerError::Protocol(format!(
                "{MAX_REFUSED} calls beyond the limit of {}",
                job.limits.calls
            )));
        }
        self.next += 1;
        self.names.insert(call, shown(&target));
        let refused =
            limits::refused(job.limits, call, arguments.len()).or_else(|| target.too_long());
        if let Some(fault) = refused {
            self.running.push(ready((call, Err(fault))).boxed());
        } else {
            self.waiting += arguments.len();
            self.line.push_back((call, target, arguments));
            self.advance(job);
        }
        Ok(())
    }

    /// Whether the program has not made any call yet.
    pub(super) fn are_none(&self) -> bool {
        self.next == 0
    }

    /// Whether the next frame of the worker may be read.
    pub(super) fn has_room(&self, job: &Job<'_>) -> bool {
        let untaken = self.running.len().saturating_sub(job.limits.calls_at_once);
        self.waiting <= MAX_WAITING && untaken <= MAX_UNTAKEN
    }

    /// Waits for the next call that ends. `None` if no call is running. Cancel-safe.
    pub(super) async fn ended(&mut self, job: &Job<'_>) -> Option<Answer> {
        let (call, outcome) = self.running.next().await?;
        let name = self.names.remove(&call).unwrap_or_default();
        self.advance(job);
        Some((call, outcome.and_then(|text| limits::fitting(text, &name))))
    }

    /// The names of the calls that have not ended, in the order in which they were made.
    pub(super) fn pending(&self) -> Vec<String> {
        let mut calls: Vec<_> = self.names.iter().collect();
        calls.sort();
        calls.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// Starts queued calls while there is room.
    fn advance(&mut self, job: &Job<'_>) {
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

/// The name of a tool, shortened for errors.
fn shown(target: &Target) -> String {
    let cut = |name: &str| name[..name.floor_char_boundary(SHOWN_NAME)].to_owned();
    match target {
        Target::Named { server, tool } => format!("{}.{}", cut(server), cut(tool)),
        Target::Path { path, .. } => cut(path),
        Target::Own { name } => format!("mux.{}", cut(name)),
    }
}
