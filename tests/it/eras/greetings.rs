//! Detection of a server's era, and its cache.

use std::path::Path;

use mux_tests::{Running, TestEnv, env::binary};
use serde_json::{Value, json};

use crate::offers::asked;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// The protocol version of the session with `fix`.
#[track_caller]
fn spoken(env: &TestEnv) -> String {
    env.mux(["call", "fix.echo", "text=x"]).ok();
    let status = env.mux(["--json", "status"]).ok().json();
    let protocol = status["servers"][0]["protocol"].as_str();
    protocol.unwrap_or_default().to_owned()
}

#[test]
fn stale_remembered_era_costs_one_more_handshake() {
    for on_discover in ["error", "silence", "exit", "spoil"] {
        changes_its_era(on_discover);
    }
}

/// Changes the era of a server; in the old era it reacts to `server/discover` as given.
#[track_caller]
fn changes_its_era(on_discover: &str) {
    let env = TestEnv::new();
    let file = env.path("era");
    let log = env.path("calls");
    let fixture = binary("mux-fixture-server");
    let script = format!(
        "exec {} --call-log {} --on-discover {on_discover} --name $(cat {}) --era $(cat {})",
        fixture.display(),
        log.display(),
        file.display(),
        file.display()
    );
    env.write_config(&format!(
        "[servers.fix]\ncommand = \"/bin/sh\"\nargs = [\"-c\", {}]\n",
        json!(script)
    ));
    let mut before = 0;
    for (era, version, probes) in [
        ("modern", NEW, 1),
        // The probe fails, and the legacy handshake succeeds.
        ("legacy", OLD, 1),
        ("legacy", OLD, 0),
        // The legacy handshake is refused, and the probe succeeds.
        ("modern", NEW, 1),
        ("modern", NEW, 1),
    ] {
        std::fs::write(&file, era).unwrap();
        assert_eq!(spoken(&env), version, "{era} {on_discover}");
        let now = asked(&log, "server/discover");
        assert_eq!(now - before, probes, "{era} {on_discover}");
        before = now;
        env.stop();
    }
}

#[test]
fn era_of_a_process_depends_on_neither_its_speed_nor_its_last_session() {
    for (era, version) in [("legacy", OLD), ("dual", OLD), ("modern", NEW)] {
        for delay in ["0", "1500"] {
            let flags = ["--slow-start", delay, "--era", era];
            let env = TestEnv::with_fixtures(&[("fix", &flags)]);
            for starts in 1..=2 {
                assert_eq!(spoken(&env), version, "{era} {delay}");
                assert_eq!(env.starts("fix").len(), starts, "{era} {delay}");
                env.stop();
            }
        }
    }
}

#[test]
fn process_of_the_old_era_is_never_probed() {
    for on_discover in ["error", "silence", "exit", "spoil"] {
        let env = TestEnv::new();
        let log = env.path("calls");
        let flags = ["--on-discover", on_discover, "--call-log"];
        let flags = [&flags[..], &[log.to_str().unwrap()]].concat();
        env.write_config(&env.fixture("fix", &flags));
        assert_eq!(spoken(&env), OLD, "{on_discover}");
        assert_eq!(asked(&log, "server/discover"), 0, "{on_discover}");
        assert_eq!(env.starts("fix").len(), 1, "{on_discover}");
    }
}

#[test]
fn initialize_offers_the_newest_version_of_its_era_and_follows_a_refusal_once() {
    for entry in ["", "era = \"2025-11-25\"\n"] {
        for (speaks, offers) in [(OLD, &[OLD][..]), ("2025-03-26", &[OLD, "2025-03-26"])] {
            for face in [None, Some("--http"), Some("--sse")] {
                let env = TestEnv::new();
                let log = env.path("calls");
                let flags = ["--speaks", speaks, "--call-log", log.to_str().unwrap()];
                let mut server = None;
                let config = match face {
                    None => env.fixture("fix", &flags),
                    Some(face) => {
                        let mut command = env.command("mux-fixture-server");
                        let mut running = Running::start(command.arg(face).args(flags));
                        let port = running.next_line_of_output();
                        server = Some(running);
                        let port = port.trim();
                        format!("[servers.fix]\nurl = \"http://127.0.0.1:{port}/mcp\"\n")
                    }
                };
                env.write_config(&format!("{config}{entry}"));
                assert_eq!(spoken(&env), speaks, "{face:?} {entry}");
                let greetings = initialize_params(&log);
                let offered: Vec<_> = greetings
                    .iter()
                    .map(|params| params["protocolVersion"].as_str().unwrap())
                    .collect();
                assert_eq!(offered, offers, "{face:?} {entry}");
                // FastMCP for TypeScript asks for roots only then.
                let roots = &greetings[0]["capabilities"]["roots"];
                assert_eq!(roots, &json!({ "listChanged": true }), "{face:?}");
                drop(server);
            }
        }
    }
}

fn initialize_params(log: &Path) -> Vec<Value> {
    let log = std::fs::read_to_string(log).unwrap();
    log.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["method"] == "initialize")
        .map(|mut entry| entry["params"].take())
        .collect()
}
