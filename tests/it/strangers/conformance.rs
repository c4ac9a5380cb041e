//! Both legs of MCP's conformance suite, at both revisions: `mux mcp` as a server, and the daemon's own
//! sessions as a client.
//!
//! Invariant: the expected failures are in `tests/data/conformance/REVISION.yml`, each with its reason. The suite fails
//! on any other failure, and on an expected failure that passes.

use std::{path::Path, process::Command};

use mux_tests::{
    Output, TestEnv,
    clients::client,
    env::{binary, output},
};
use serde_json::Value;

use super::home::{Bridge, home, home_with, node_program};

/// A revision of MCP, and how many scenarios it requires of a server.
#[derive(Clone, Copy)]
struct Revision {
    name: &'static str,
    scenarios: usize,
}

const OLD: Revision = Revision {
    name: "2025-11-25",
    scenarios: 30,
};
const NEW: Revision = Revision {
    name: "2026-07-28",
    scenarios: 37,
};

/// Shows that a failure of the other tests is not a failure of the server behind `mux mcp`.
#[test]
fn the_conformance_server_alone_conforms_to_both_revisions() {
    let env = home();
    let server = Command::new(binary("mux-conformance-server"));
    let bridge = Bridge::to(&env, &server);
    for revision in [OLD, NEW] {
        let nothing = env.path("nothing.yml");
        std::fs::write(&nothing, "server: []\n").unwrap();
        conforms(&env, &bridge, revision, &nothing);
    }
}

#[test]
fn mux_mcp_conforms_to_2025_11_25() {
    passed_through(OLD);
}

#[test]
fn mux_mcp_conforms_to_2026_07_28() {
    passed_through(NEW);
}

#[track_caller]
fn passed_through(revision: Revision) {
    // The server speaks both.
    let env = home_with(&format!("era = {:?}\n", revision.name));
    let mut server = env.command("mux");
    server.args(["mcp", "--passthrough=conf"]);
    let bridge = Bridge::to(&env, &server);
    let list = format!("data/conformance/{}.yml", revision.name);
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(list);
    conforms(&env, &bridge, revision, &list);
}

#[test]
fn muxd_conforms_to_2025_11_25_as_a_client() {
    as_a_client("2025-11-25", 18);
}

#[test]
fn muxd_conforms_to_2026_07_28_as_a_client() {
    as_a_client("2026-07-28", 32);
}

#[track_caller]
fn as_a_client(revision: &str, scenarios: usize) {
    let env = home();
    let list = format!("data/conformance/{revision}.yml");
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(list);
    let required = required("client", revision);
    assert_eq!(required.len(), scenarios);
    let run = output(
        node_program(
            &env,
            &client("@modelcontextprotocol/conformance/dist/index.js"),
        )
        .args(["client", "--requirements", revision, "--command"])
        .arg(binary("mux-conformance-client"))
        .arg("--expected-failures")
        .arg(list)
        .arg("--output-dir")
        .arg(env.path(revision)),
    );
    let said = || {
        let complaints = complaints("", &env.path(revision), &required).join("\n");
        format!("{}\n{}\n{complaints}", summary(&run), run.stderr)
    };
    let ran: Vec<&str> = summary(&run).lines().filter_map(scenario).collect();
    for scenario in &required {
        assert!(
            ran.contains(&scenario.as_str()),
            "no {scenario}: {}",
            said()
        );
    }
    assert_eq!(run.code, 0, "{}", said());
}

#[track_caller]
fn conforms(env: &TestEnv, bridge: &Bridge, required_of: Revision, list: &Path) {
    let Revision {
        name: revision,
        scenarios,
    } = required_of;
    let suite = client("@modelcontextprotocol/conformance/dist/index.js");
    let results = env.path(revision);
    let run = output(
        node_program(env, &suite)
            .args(["server", "--url", &bridge.url, "--requirements", revision])
            .arg("--expected-failures")
            .arg(list)
            .arg("--output-dir")
            .arg(&results),
    );
    let required = required("server", revision);
    let said = || {
        let complaints = complaints("server-", &results, &required).join("\n");
        let end = summary(&run);
        let log = bridge.log();
        format!("{end}\n{}\n{complaints}\n{log}", run.stderr)
    };
    // An empty run is not a success: the summary must have a line for each required scenario.
    assert_eq!(required.len(), scenarios);
    let ran: Vec<&str> = summary(&run).lines().filter_map(scenario).collect();
    for scenario in &required {
        assert!(
            ran.contains(&scenario.as_str()),
            "no {scenario}: {}",
            said()
        );
    }
    assert_eq!(run.code, 0, "{}", said());
}

/// The required scenarios, from the suite's own list.
fn required(leg: &str, revision: &str) -> Vec<String> {
    let list = client("@modelcontextprotocol/conformance/requirements");
    let list = std::fs::read_to_string(list.join(format!("{revision}.yaml"))).unwrap();
    let lines = list
        .lines()
        .skip_while(|line| *line != format!("{leg}:"))
        .skip(1);
    let named = lines.map_while(|line| line.strip_prefix("  - "));
    named.map(str::to_owned).collect()
}

fn summary(run: &Output) -> &str {
    let begin = run.stdout.find("=== SUMMARY ===").unwrap_or_default();
    &run.stdout[begin..]
}

/// The scenario that a line of the summary is about: `✓ ping: 2 passed, 0 failed`.
fn scenario(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("✓ ").or(line.strip_prefix("✗ "))?;
    rest.split_once(": ").map(|(name, _)| name)
}

/// Every check that failed or warned, as `scenario:check: message`.
fn complaints(leg: &str, results: &Path, required: &[String]) -> Vec<String> {
    let mut complaints = Vec::new();
    for entry in std::fs::read_dir(results).into_iter().flatten().flatten() {
        let folder = entry.file_name().to_string_lossy().into_owned();
        let is_of =
            |name: &&String| folder.starts_with(&format!("{leg}{}-2", name.replace('/', "-")));
        let Some(name) = required.iter().find(is_of) else {
            continue;
        };
        let text = std::fs::read_to_string(entry.path().join("checks.json")).unwrap_or_default();
        let checks: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        for check in &checks {
            if check["status"] == "FAILURE" || check["status"] == "WARNING" {
                let id = &check["id"];
                let message = &check["errorMessage"];
                complaints.push(format!("{name}:{id}: {message}"));
            }
        }
    }
    complaints.sort();
    complaints
}
