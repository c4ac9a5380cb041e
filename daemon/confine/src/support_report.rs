//! The sandbox layers for programs and servers that this machine lacks, why, and what a user can do about it.
//!
//! Invariant: nothing is reported from the version of a system: each layer is tried, or asked of the kernel.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use serde::Serialize;

/// The layers that this machine enforces, serialized as `mux-proto`'s `sandbox_support` reads them.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SupportReport {
    /// The layers around a server in a sandbox.
    pub layers: Vec<&'static str>,
    /// Set if a server with `sandbox = {}` starts.
    pub has_sandboxes: bool,
    pub notes: Vec<SupportNote>,
}

/// A missing layer, or a condition that weakens a layer.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SupportNote {
    pub message: String,
    pub fix: String,
    /// Set if a layer is missing or weaker. Otherwise another layer replaces it.
    pub is_weaker: bool,
}
