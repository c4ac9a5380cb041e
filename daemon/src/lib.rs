//! `muxd`: owns every MCP session, the catalog and the runs.
//!
//! [`serve`] is the whole daemon between the lock and its release; `main` does what must happen
//! before there are threads.

mod address_policy;
mod age;
pub mod approvals;
pub mod audit;
pub mod auth;
mod blocking;
pub mod cache;
pub mod catalog;
mod causes;
pub mod check;
pub mod config;
#[cfg(target_os = "linux")]
pub mod core_dumps;
pub mod descriptors;
pub mod discovery;
pub mod environment;
pub mod gateway;
pub mod handles;
pub mod handover;
pub mod inspect;
mod json_weight;
pub mod keeper;
pub mod lifecycle;
pub mod logging;
pub mod memory;
pub mod metrics;
pub mod notices;
mod own_file;
pub mod pins;
pub mod policy;
pub mod program;
pub mod projects;
pub mod recording;
pub mod rotated;
pub mod runs;
pub mod runtime;
mod same_call;
pub mod settings;
pub mod sources;
pub mod state;
pub mod straits;
pub mod trace;
pub mod upstream;
pub mod watching;

mod length;
mod nearest;
mod nesting;
mod packed;
mod random_name;
mod rpc;
mod serve;

pub use serve::{ServeError, Setup, serve};
