//! Servers of both eras of MCP: legacy (2025-11-25) and modern (2026-07-28). Clients cannot tell them apart.
//!
//! Invariant: calls that work with a server of one era also work with a server of the other.

mod back_channel;
mod greetings;
mod instructions;
mod sdks;
mod terminal;

use std::path::PathBuf;

use mux_tests::{TestEnv, env::may_sample};

const LEGACY: &str = "legacy";
const MODERN: &str = "modern";
const BOTH: [&str; 2] = [LEGACY, MODERN];

/// A home with a fixture server `fix` of this era, and the path of its call log.
fn home(era: &str, more: &[&str]) -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let mut args = vec![
        "--offers",
        "--era",
        era,
        "--call-log",
        log.to_str().unwrap(),
    ];
    args.extend(more);
    env.write_config(&format!(
        "{}{}",
        may_sample("fix"),
        env.fixture("fix", &args)
    ));
    (env, log)
}
