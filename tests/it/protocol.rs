//! The contract on the socket: recorded frames, and clients that violate the protocol.
//!
//! Invariant: a connection that violates the protocol is closed or answered with an error, no task of the daemon
//! panics, and all other clients are served.

mod crowd;
mod golden;
mod random;
pub(crate) mod requests;
mod responses;
mod rude;

use mux_tests::TestEnv;
use serde_json::json;

/// Asserts that the daemon is still the same process, serves, and has not panicked.
#[track_caller]
fn unharmed(env: &TestEnv, daemon: Option<i32>) {
    assert_eq!(env.result("return 6 * 7"), json!(42));
    assert!(daemon.is_some());
    assert_eq!(env.daemon(), daemon);
    env.stop();
    let log = env.log();
    assert!(log.contains("shutdown complete"), "{log}");
    let panics: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("panicked"))
        .collect();
    assert!(panics.is_empty(), "{panics:#?}");
}
