//! How a guest reaches the world.

use std::time::Duration;

use futures::future::BoxFuture;

use mux_wire::{Fault, Level, Target};

/// What one run may do outside its isolate. The daemon makes one for each run.
pub trait ToolHost: Send + Sync + 'static {
    /// A worker has accepted the program, which begins now.
    fn begun(&self);

    /// Calls a tool with `arguments` (JSON text as the guest wrote it) and gives JSON text back.
    /// Dropping the future cancels the call.
    fn call(&self, target: Target, arguments: String) -> BoxFuture<'static, Result<String, Fault>>;

    /// Takes one console line. Must not block.
    fn console(&self, level: Level, text: String);

    /// Takes a part that the program hands to its caller beside the result: an MCP content block as JSON
    /// text, of which nothing is checked yet. Must not block.
    fn emit(&self, part: String);

    /// How long somebody was asked for an answer so far. The wall time of the run does not count it.
    fn stood_still(&self) -> Duration {
        Duration::ZERO
    }
}
