//! The link to a server that is a process: its start through the keeper, JSON-RPC over its pipes, its standard error.

#[cfg(test)]
mod fuzz;
mod process_launcher;
mod request_ids;
mod stderr;
mod stdio_transport;
mod stray_output;
mod write_order;

pub use self::process_launcher::ProcessLauncher;
pub(crate) use self::{
    stderr::{LastLines, without_output},
    stray_output::StrayOutput,
};
pub(super) use self::{
    stderr::{StderrHandover, drain_stderr},
    stdio_transport::{PipesHandover, StdioTransport, TransportPipes},
};
