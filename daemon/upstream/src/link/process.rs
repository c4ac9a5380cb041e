//! The link to a server that is a process: its start through the keeper, JSON-RPC over its pipes, its standard error.

#[cfg(test)]
mod fuzz;
mod process_launcher;
mod request_ids;
mod stderr;
mod stdio_transport;
mod stray_output;

pub use self::{process_launcher::ProcessLauncher, stderr::without_output};
pub(crate) use self::{stderr::LastLines, stray_output::StrayOutput};
pub(super) use self::{
    stderr::{StderrHandover, drain_stderr},
    stdio_transport::{PipesHandover, StdioTransport, TransportPipes},
};
