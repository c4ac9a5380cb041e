//! What the end-to-end tests use: a hermetic `MUX_HOME` with a daemon of its own.
//!
//! It knows every crate that the tests drive, and is the only one that may. The tests themselves are in `it/`, those of
//! the page in a browser in `browser/`; `bin/` has the fixture server (`fixture`), the rogue worker, the bench
//! (`bench`), the bill (`bill`), the soak test and the conformance programs, `data/` the golden data.
//!
//! - `env` is one home and the commands run in it; `process`, `running` and `pool` are processes, programs and pools as
//!   a test sees them; `agent` speaks MCP to `mux mcp`, `frames` the socket, `clients` and `editors` other programs'
//!   clients, `fake_daemon` answers as a daemon would.
//! - `authority`, `web`, `proxy` and `graphql` are servers of the outside world; `browser` drives a real browser;
//!   `golden` and `snapshot` compare with recorded text and worlds.
//! - `canary` holds the daemon's longest poll and growth within limits, `chance` and `dice` are seeded randomness,
//!   `left_out` is a test that cannot run for want of a tool.
//!
//! Invariants: a daemon is gone when its home is dropped, and no test sleeps to wait.

pub mod agent;
pub mod authority;
pub mod browser;
pub mod canary;
pub mod chance;
pub mod clients;
pub mod dice;
pub mod editors;
pub mod env;
mod fake_daemon;
pub mod frames;
pub mod golden;
pub mod graphql;
mod left_out;
pub mod pool;
pub mod process;
pub mod proxy;
pub mod running;
mod snapshot;
pub mod web;

pub use agent::Agent;
pub use authority::Authority;
pub use browser::{Browser, Page};
pub use canary::Canary;
pub use editors::Editors;
pub use env::{Output, TestEnv};
pub use fake_daemon::{Answers, FakeDaemon};
pub use graphql::GraphqlServer;
pub use left_out::left_out;
pub use running::Running;
