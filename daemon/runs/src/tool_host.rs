//! The sandbox's `ToolHost` for one run: calls tools through the gateway, answers built-ins, prints and emits parts.

use std::time::{Duration, Instant};

use futures::{FutureExt, future::BoxFuture};
use mux_sandbox::ToolHost;
use mux_wire::{CallTarget, ConsoleLevel, Fault};
use tracing::Instrument;

use super::{RunEvent, builtins, run_context::RunContext};

pub(super) struct RunToolHost {
    reach: RunContext,
    /// The time when the program began to wait for a worker.
    asked: Instant,
}

impl RunToolHost {
    pub(super) fn new(reach: RunContext) -> Self {
        Self {
            reach,
            asked: Instant::now(),
        }
    }
}

impl ToolHost for RunToolHost {
    fn run_started(&self) {
        let metrics = self.reach.gateway.upstreams().metrics();
        metrics.runs.waited(self.asked.elapsed());
        let recorder = self.reach.observer.writer();
        recorder.run().set_running();
        recorder.push(RunEvent::Started);
    }

    fn call(
        &self,
        target: CallTarget,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let reach = self.reach.clone();
        let for_agent = reach.asking.caller.origin.for_agent;
        let call = match target {
            CallTarget::Own { .. } => {
                let asked = reach.clone();
                reach.record_or_replay(target, arguments.into(), |target, arguments| {
                    async move {
                        match target {
                            CallTarget::Own { name } => {
                                builtins::call_builtin(&name, &arguments, &asked).await
                            }
                            target => asked.call(target, arguments).await,
                        }
                    }
                    .in_current_span()
                    .boxed()
                })
            }
            target => reach.call(target, arguments.into()),
        };
        // The program may print everything that it reads.
        if for_agent {
            call.map(|outcome| outcome.map_err(Fault::for_agents))
                .boxed()
        } else {
            call
        }
    }

    fn console(&self, level: ConsoleLevel, text: String) {
        let line = RunEvent::Console { level, text };
        self.reach.observer.writer().push(line);
    }

    fn emit(&self, part: String) {
        self.reach.observer.writer().push_content_block(part);
    }

    fn paused_for(&self) -> Duration {
        self.reach.asking.caller.clock.paused_for()
    }
}
