//! The state that the ops of one isolate share: the link to the daemon, the pending calls, and the output budgets of a
//! program.
//!
//! Invariant: an answer is delivered at most once, and only to the call that it belongs to.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use deno_error::JsErrorBox;
use mux_wire::{
    CONSOLE_LINE_OVERHEAD_BYTES, CallTarget, ConsoleLevel, EMITTED_PART_OVERHEAD_BYTES, Fault,
    FromWorker, Program,
};
use tokio::sync::oneshot;

use crate::{daemon_link::DaemonLink, fault, large_integers::LargeIntegers};

/// The shared state of the ops, stored in the runtime's `OpState`.
pub(crate) struct OpBridge {
    link: DaemonLink,
    /// Calls that the daemon has not answered yet, by number.
    waiting: HashMap<u32, oneshot::Sender<Result<String, Fault>>>,
    next_call: u32,
    console_left: u32,
    console_most: u32,
    /// Whether the line that announces dropped output was sent.
    console_cut: bool,
    emitted: u64,
    most_emitted: u32,
    /// The maximum bytes of one part: the limit of a call's arguments.
    most_part: u32,
    started: Instant,
    integers: LargeIntegers,
}

impl OpBridge {
    pub(crate) fn new(link: DaemonLink) -> Self {
        Self {
            link,
            waiting: HashMap::new(),
            next_call: 0,
            console_left: 0,
            console_most: 0,
            console_cut: false,
            emitted: 0,
            most_emitted: 0,
            most_part: 0,
            started: Instant::now(),
            integers: LargeIntegers::default(),
        }
    }

    /// Resets the budgets and the clock for a program that starts.
    pub(crate) fn start_program(&mut self, program: &Program) {
        self.console_left = program.max_console;
        self.console_most = program.max_console;
        self.most_emitted = program.max_emitted;
        self.most_part = program.max_argument;
        self.started = Instant::now();
        self.integers.remember_source(&program.source);
        self.remember_integers(&program.input, "`mux.input`");
    }

    /// Remembers the integers of JSON that enters the isolate. Warns if JavaScript rounds them.
    pub(crate) fn remember_integers(&mut self, json: &str, origin: &str) {
        if let Some(warning) = self.integers.remember_json(json, origin) {
            self.send_line(ConsoleLevel::Warn, warning);
        }
    }

    /// The result with the integers that JavaScript has rounded.
    pub(crate) fn restore_result(&mut self, result: String) -> String {
        let restored = self.integers.restore(result, true);
        if let Some(ambiguous) = restored.ambiguous {
            let warning = fault::ambiguous_integer_message("result", &ambiguous);
            self.send_line(ConsoleLevel::Warn, format!("{warning}: it is rounded"));
        }
        restored.text
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Passes an answer to the op that waits for it. An answer without such an op is dropped.
    pub(crate) fn deliver_answer(&mut self, call: u32, outcome: Result<String, Fault>) {
        if let Some(waiter) = self.waiting.remove(&call) {
            drop(waiter.send(outcome));
        }
    }

    /// Sends a call and returns the receiver of its answer. A call with a name that is too long is not sent and gets no
    /// number.
    pub(crate) fn send_call(
        &mut self,
        target: CallTarget,
        arguments: String,
    ) -> Result<oneshot::Receiver<Result<String, Fault>>, JsErrorBox> {
        let (sender, receiver) = oneshot::channel();
        if let Some(fault) = target.name_limit_fault() {
            drop(sender.send(Err(fault)));
            return Ok(receiver);
        }
        let restored = self.integers.restore(arguments, true);
        if let Some(ambiguous) = restored.ambiguous {
            let fault = fault::ambiguous_argument_fault(&target, &ambiguous);
            drop(sender.send(Err(fault)));
            return Ok(receiver);
        }
        let call = self.next_call;
        self.next_call += 1;
        self.waiting.insert(call, sender);
        self.link
            .send(&FromWorker::Call {
                call,
                target,
                arguments: restored.text,
            })
            .map_err(|e| JsErrorBox::generic(e.to_string()))?;
        Ok(receiver)
    }

    /// Sends a console line if the budget allows it. The first line over the budget is replaced by a notice.
    pub(crate) fn send_console_line(&mut self, level: ConsoleLevel, text: String) {
        let text = self.integers.restore(text, false).text;
        self.send_line(level, text);
    }

    fn send_line(&mut self, level: ConsoleLevel, text: String) {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let cost = length.saturating_add(CONSOLE_LINE_OVERHEAD_BYTES);
        let frame = if cost <= self.console_left {
            self.console_left -= cost;
            FromWorker::Console { level, text }
        } else if !std::mem::replace(&mut self.console_cut, true) {
            self.console_left = 0;
            let most = self.console_most;
            let text = format!("[console output beyond {most} bytes is dropped]");
            FromWorker::Console {
                level: ConsoleLevel::Warn,
                text,
            }
        } else {
            return;
        };
        // Errors are ignored: if the daemon has exited, the end of the link ends this process.
        drop(self.link.send(&frame));
    }

    /// Sends a part, or returns the limit that it exceeds.
    pub(crate) fn send_part(&mut self, part: String) -> Result<(), Fault> {
        let part = self.integers.restore(part, true).text;
        let length = part.len() as u64;
        if length > self.most_part.into() {
            return Err(fault::part_limit_fault(length, self.most_part));
        }
        let emitted = self.emitted + length + u64::from(EMITTED_PART_OVERHEAD_BYTES);
        if emitted > self.most_emitted.into() {
            return Err(fault::emit_limit_fault(emitted, self.most_emitted));
        }
        self.emitted = emitted;
        // Errors are ignored: if the daemon has exited, the end of the link ends this process.
        drop(self.link.send(&FromWorker::Emit { part }));
        Ok(())
    }
}
