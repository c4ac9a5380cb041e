//! Servers in a sandbox: the refusals that a hostile server gets, the access that an honest server keeps, and
//! the output for users.
//!
//! Invariant: every attempt succeeds for the same server without a sandbox. A refusal is therefore the
//! sandbox's.

mod fetched;
mod hostile;
mod links;
mod ordinary;
mod proposed;
mod suggested;
mod unenforceable;

use mux_tests::{
    TestEnv,
    env::{self, binary},
    left_out,
};

/// Returns true if bubblewrap is installed and works. Without it, the namespace tests are left out.
pub(crate) fn has_bubblewrap() -> bool {
    let probe = std::process::Command::new("bwrap")
        .args(["--unshare-all", "--ro-bind", "/", "/", "--", "/bin/true"])
        .status();
    let works = probe.is_ok_and(|status| status.success());
    if !works {
        left_out(
            "namespaces",
            "bubblewrap is missing, or may not create them",
        );
    }
    works
}

/// A server named `box` with this `sandbox`. Its tool makes the attempts that tests ask for.
pub(crate) fn server(sandbox: &str) -> String {
    let entry = env::server("box", &binary("mux-fixture-server"), &["--attempts"]);
    format!("{entry}sandbox = {sandbox}\n")
}

/// The result of the server's attempt.
#[track_caller]
fn attempt(env: &TestEnv, what: &str, target: &str) -> String {
    let arguments = serde_json::json!({ "what": what, "target": target }).to_string();
    let output = env
        .mux(["--json", "call", "box.attempt", &arguments])
        .ok()
        .json();
    output["result"].as_str().unwrap().to_owned()
}
