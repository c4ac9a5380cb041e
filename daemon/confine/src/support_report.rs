//! Which layers of the sandboxes of programs and servers this machine lacks, why, and what a user can do about it.
//!
//! Invariant: nothing is reported from the version of a system: each layer is tried, or asked of the kernel.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// What this machine enforces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SupportReport {
    /// The layers around a server in a sandbox.
    pub layers: Vec<&'static str>,
    /// Whether a server with `sandbox = {}` starts.
    pub has_sandboxes: bool,
    pub notes: Vec<SupportNote>,
}

/// A layer that is missing, or a condition that weakens one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SupportNote {
    pub message: String,
    pub fix: String,
    /// A layer is missing, or holds less. Otherwise another one takes its place.
    pub is_weaker: bool,
}
