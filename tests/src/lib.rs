//! The support library of the end-to-end tests: a hermetic `MUX_HOME` with its own daemon, and more.
//!
//! This is the only crate that may depend on all crates that the tests drive. The tests themselves are in `it/`, those
//! of the web page in `browser/`; `fixture/` is the crate of the fixture server; `bin/` has the rogue worker, the
//! benchmarks (`bench`), the token bill (`bill`), the soak test and the conformance programs; `data/` has the golden data.
//!
//! - `env` is one home and the commands run in it. `process` inspects processes, `running` is a program in the
//!   background, `terminal` one at a terminal, and `pool` a pool of workers without a daemon.
//! - `agent` speaks MCP to `mux mcp`, `frames` speaks to the daemon's socket, `clients` and `editors` run third-party
//!   clients and the editor packages, `fake_daemon` gives clients prepared responses, `fake_programs` stand in for large
//!   binaries.
//! - `authority`, `web`, `proxy` and `graphql` are servers; `issuers` runs third-party authorization servers; `browser`
//!   drives a real browser.
//! - `real_agents` runs the agents that people use, with a model's API that plays a script.
//! - `output_snapshot` compares what commands print with snapshots of `insta`, `golden` compares generated files and
//!   data. `snapshot` makes homes with or without V8 snapshots.
//! - `discovery` has graded queries over sets of tools, and judges a ranking.
//! - `differential` compares muxd with the official SDKs, on a server that is driven from data.
//! - `canary` limits the daemon's longest poll and memory growth, `dice` is seeded randomness, `left_out`
//!   skips tests whose tools are missing.
//!
//! Invariants: a daemon has exited when its home is dropped. No test waits by sleeping.

#![expect(clippy::format_collect, reason = "short, and speed does not matter")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are mostly `json!` literals"
)]
#![expect(
    clippy::unnecessary_debug_formatting,
    reason = "paths in TOML are quoted strings"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "random bits, cut on purpose"
)]

pub mod agent;
pub mod authority;
pub mod browser;
pub mod canary;
pub mod clients;
pub mod dice;
pub mod differential;
pub mod discovery;
pub mod editors;
pub mod env;
mod fake_daemon;
pub mod fake_programs;
pub mod frames;
pub mod golden;
pub mod graphql;
pub mod issuers;
mod left_out;
pub mod output_snapshot;
pub mod pool;
pub mod process;
pub mod program_result;
pub mod proxy;
pub mod real_agents;
pub mod running;
mod snapshot;
mod terminal;
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
pub use output_snapshot::CommandTranscript;
pub use running::Running;
pub use terminal::{TerminalStreams, TestTerminal};
