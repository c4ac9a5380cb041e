//! [`ToolHost`], the interface between a guest program and the daemon.

use std::time::Duration;

use futures::future::BoxFuture;

use mux_wire::{CallTarget, ConsoleLevel, Fault};

/// The operations that one run may perform outside its isolate. The daemon creates one for each run.
pub trait ToolHost: Send + Sync + 'static {
    /// Called when a worker has accepted the program, which starts now.
    fn run_started(&self);

    /// Calls a tool with `arguments` (JSON as the guest wrote it) and returns JSON. Dropping the future cancels the
    /// call.
    fn call(
        &self,
        target: CallTarget,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, Fault>>;

    /// Takes one console line. Must not block.
    fn console(&self, level: ConsoleLevel, text: String);

    /// Takes a part that the program emits for its caller: an MCP content block as JSON, not validated yet. Must not
    /// block.
    fn emit(&self, part: String);

    /// How long the run has been paused so far to wait for an answer of a user. The wall time limit excludes it.
    fn paused_for(&self) -> Duration {
        Duration::ZERO
    }
}
