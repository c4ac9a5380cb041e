//! Servers that fail again and again, start in a crowd, take long, or may be asked twice.
//!
//! Invariant of all of it: a server that is in trouble costs its own callers a clear error, and nobody else
//! anything.

mod retries;
mod starts;
mod timeouts;

use mux_tests::TestEnv;
use serde_json::Value;

/// What `mux servers` says of one server.
fn seen(env: &TestEnv, name: &str) -> Value {
    let mut servers = env.mux(["--json", "servers"]).ok().json();
    let servers = servers.as_array_mut().unwrap();
    let found = servers.iter_mut().find(|server| server["name"] == name);
    found.unwrap().take()
}

/// Looks until the server is seen so. Each look is a request to the daemon, so that nobody waits for the clock.
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
