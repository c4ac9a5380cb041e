//! Real agents, as users start them, with a model's API that plays a script.
//!
//! - `agent` starts the programs that `tests/agents/agents.toml` describes. `scripts/setup --agents` installs them.
//! - `model_api` is the API: it answers with the calls of a script, in the four `dialects`, and keeps every request.
//!   `model_request` reads what reached the model.
//! - `profiles` is the file with which `mux mcp` adapts to its client. `probe` tries one of its profiles with a server
//!   whose texts have marks of their length (`marks`).
//! - `mux_session` is a session with the real `mux mcp`, and `inventory` checks that the statements about its
//!   signatures are true for the model's input. `bad_servers` is a session beside servers that hang and fail.
//!
//! Invariant: when a session has ended, the processes of its agent have exited.

mod agent;
mod bad_servers;
mod dialects;
mod inventory;
mod marks;
mod model_api;
mod model_request;
mod mux_session;
mod probe;
mod profiles;

pub use agent::{McpServer, RealAgent, ServerList, Session};
pub use bad_servers::BadServers;
pub use inventory::Inventory;
pub use marks::Passed;
pub use model_api::{ModelApi, SeenResult, Step, ToolSearch, Transcript};
pub use model_request::ModelRequest;
pub use mux_session::MuxSession;
pub use probe::{Probe, list_contradiction};
pub use profiles::{Profile, Shows};
