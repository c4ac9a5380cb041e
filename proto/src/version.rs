//! The versions of contract and build, and the features of the contract.

use serde::{Deserialize, Serialize};

/// The contract that this crate describes.
pub const CONTRACT: u32 = 1;

/// What was added to the contract since its first build, as `hello` lists it: each added method by its name.
///
/// A client sends an added method only to a daemon that lists it.
pub const FEATURES: &[&str] = &[];

/// The build of this program, for display and for the warning about a daemon of another build.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// The output of `muxd --version --json` and `mux-worker --version --json`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProgramVersion {
    pub build: String,
    /// The contract that a daemon speaks.
    pub contract: Option<u32>,
    /// True if a daemon is built with OpenTelemetry.
    pub otel: Option<bool>,
    /// The name and the version of a worker's engine.
    pub engine: Option<String>,
}

/// [`FEATURES`], as `hello` sends them.
pub fn features() -> Vec<String> {
    FEATURES.iter().map(|name| (*name).to_owned()).collect()
}
