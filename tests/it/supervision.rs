//! Servers that fail repeatedly, start at the same time, respond slowly, or allow retries.
//!
//! Invariant: a failing server gives its own callers a clear error, and does not affect anything else.

mod retries;
mod starts;
mod timeouts;

use mux_tests::TestEnv;
use serde_json::Value;

/// The entry of `mux servers --json` for one server.
fn seen(env: &TestEnv, name: &str) -> Value {
    let mut servers = env.mux(["--json", "servers"]).ok().json();
    let servers = servers.as_array_mut().unwrap();
    let found = servers.iter_mut().find(|server| server["name"] == name);
    found.unwrap().take()
}

/// Polls the server's entry until the condition holds. Each poll is a request to the daemon, so there is no sleep.
#[track_caller]
fn until_seen(env: &TestEnv, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for _ in 0..3000 {
        last = seen(env, name);
        if is_so(&last) {
            return last;
        }
    }
    panic!("it never comes to that: {last:#}");
}
