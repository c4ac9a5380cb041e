//! Standard input and output as the connection to an agent.
//!
//! tokio's own are read and written by other threads, which takes four thread switches for each request. Pipes and
//! sockets can be awaited instead.
//!
//! Invariant: no flag of the inherited descriptors changes, because other processes may share them.

#[cfg(target_os = "linux")]
mod linux;

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(target_os = "linux")]
use self::linux::{open_input, open_output};

pub(super) type AgentInput = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type AgentOutput = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. Must be called inside a tokio runtime.
pub(super) fn open_agent_stdio() -> (AgentInput, AgentOutput) {
    let input = open_input().unwrap_or_else(|| Box::new(tokio::io::stdin()));
    let output = open_output().unwrap_or_else(|| Box::new(tokio::io::stdout()));
    (input, output)
}

#[cfg(not(target_os = "linux"))]
fn open_input() -> Option<AgentInput> {
    None
}

#[cfg(not(target_os = "linux"))]
fn open_output() -> Option<AgentOutput> {
    None
}
