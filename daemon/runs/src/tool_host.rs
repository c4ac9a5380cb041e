//! The sandbox's `ToolHost` for one run: calls tools through the gateway, answers built-ins, prints and emits parts.

use std::time::{Duration, Instant};

use futures::{FutureExt, future::BoxFuture};
use mux_sandbox::ToolHost;
use mux_wire::{CallTarget, ConsoleLevel, Fault};

use super::run_context::RunContext;
use mux_messages::EventKind;

pub(super) struct RunToolHost {
    context: RunContext,
    /// The time when the program began to wait for a worker.
    asked: Instant,
}

impl RunToolHost {
    pub(super) fn new(context: RunContext) -> Self {
        Self {
            context,
            asked: Instant::now(),
        }
    }
}

impl ToolHost for RunToolHost {
    fn run_started(&self) {
        let metrics = self.context.gateway.upstreams().metrics();
        metrics.runs.waited(self.asked.elapsed());
        self.context.observer.writer().push(EventKind::Started {});
    }

    fn call(
        &self,
        target: CallTarget,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let for_agent = self.context.call_context.caller.origin.for_agent;
        let call = self.context.call(target, arguments.into());
        // The program may print everything that it reads.
        if for_agent {
            call.map(|outcome| outcome.map_err(Fault::for_agents))
                .boxed()
        } else {
            call
        }
    }

    fn console(&self, level: ConsoleLevel, text: String) {
        let line = EventKind::Console { level, text };
        self.context.observer.writer().push(line);
    }

    fn emit(&self, part: String) {
        self.context.observer.writer().push_content_block(part);
    }

    fn paused_for(&self) -> Duration {
        self.context.call_context.caller.clock.paused_for()
    }
}
