//! `muxd`: owns every MCP session, the catalog and the runs.
//!
//! [`serve`] is the whole daemon between the lock and its release; `main` does what must happen
//! before there are threads.

pub mod handover;
pub mod lifecycle;
pub mod state;
pub mod straits;

mod rpc;
mod serve;

pub use serve::{ServeError, Setup, serve};
