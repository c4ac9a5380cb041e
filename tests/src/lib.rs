//! What the end-to-end tests stand on: a hermetic `MUX_HOME` with a daemon of its own.

pub mod env;
pub mod process;

pub use env::{Output, TestEnv};
