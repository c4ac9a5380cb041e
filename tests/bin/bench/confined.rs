//! The cost of a sandbox for a server. Each round measures the same server without a sandbox and in several
//! sandboxes, one after the other.

use std::fmt::Write as _;

use anyhow::ensure;
use mux_tests::{
    Agent, TestEnv,
    env::{binary, npm, server},
};
use serde_json::json;

use super::figures::{Samples, fact, millis, row};

/// Starts of each server. One of Node takes about 300 ms.
const STARTS: usize = 21;

/// How a server runs, and the value of `sandbox` in its entry.
const SANDBOXES: &[(&str, &str)] = &[
    ("without a sandbox", "false"),
    ("without a network", "{ network = \"none\" }"),
    ("a list of hosts", "{ network = [\"api.example.com:443\"] }"),
    ("any network", "{ network = \"any\" }"),
];

pub(crate) fn measure(rounds: usize) -> anyhow::Result<()> {
    let env = TestEnv::new().with_default_log();
    let fixture = binary("mux-fixture-server");
    let node = npm("mcp-server-everything");
    let programs = [("fixture", &fixture), ("node", &node)];
    let mut config = String::new();
    for (name, program) in programs {
        for (n, (_, sandbox)) in SANDBOXES.iter().enumerate() {
            let entry = server(&format!("{name}{n}"), program, &[]);
            _ = writeln!(config, "{entry}sandbox = {sandbox}");
        }
    }
    env.write_config(&config);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    for (name, argument) in [("fixture", "text"), ("node", "message")] {
        let mut starts: Vec<Samples> = SANDBOXES.iter().map(|_| Samples::default()).collect();
        let mut calls: Vec<Samples> = SANDBOXES.iter().map(|_| Samples::default()).collect();
        for _ in 0..STARTS {
            for (n, starts) in starts.iter_mut().enumerate() {
                let server = format!("{name}{n}");
                starts.time(|| env.mux(["servers", "restart", &server]).ok());
            }
        }
        for round in 0..rounds + 10 {
            for (n, calls) in calls.iter_mut().enumerate() {
                let call = json!({ "path": format!("{name}{n}.echo"), "arguments": { argument: "hello" } });
                let mut once = Samples::default();
                let answer = once.time(|| agent.call("call", call));
                ensure!(answer["isError"] != true, "{answer}");
                // The first ones are warm-up.
                if round >= 10 {
                    calls.extend(once);
                }
            }
        }
        for (what, samples) in [
            ("`mux servers restart`", &starts),
            ("a call through `mux mcp`", &calls),
        ] {
            for ((sandbox, _), samples) in SANDBOXES.iter().zip(samples) {
                row(&format!("{name}, {what}, {sandbox}"), samples);
            }
            let over = |n: usize| millis(samples[n].median()) - millis(samples[0].median());
            let ratio = samples[1].median().as_secs_f64() / samples[0].median().as_secs_f64();
            fact(
                "  the sandbox without a network, at p50",
                &format!("{:+.3} ms, ratio {ratio:.2}", over(1)),
            );
        }
    }
    let listed = env.mux(["--json", "servers"]).ok().json();
    let first = &listed[1]["sandbox"];
    fact("layers", &first["layers"].to_string());
    Ok(())
}
