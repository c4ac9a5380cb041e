//! What the end-to-end tests stand on: a hermetic `MUX_HOME` with a daemon of its own.

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
