//! `muxd`: owns every MCP session, the catalog and the runs.
//!
//! [`serve`] is the whole daemon between the lock and its release; `main` does what must happen
//! before there are threads.

mod address_policy;
pub mod approvals;
pub mod audit;
pub mod auth;
pub mod cache;
pub mod catalog;
pub mod config;
pub mod discovery;
pub mod environment;
pub mod gateway;
pub mod handles;
pub mod handover;
pub mod inspect;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub mod notices;
pub mod pins;
pub mod policy;
pub mod program;
pub mod projects;
pub mod recording;
pub mod runs;
mod same_call;
pub mod settings;
pub mod sources;
pub mod state;
pub mod straits;
pub mod trace;
pub mod upstream;

mod random_name;
mod rpc;
mod serve;

pub use serve::{ServeError, Setup, serve};
