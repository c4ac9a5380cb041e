//! Detection of a server's era, and its cache.

use mux_tests::{TestEnv, env::binary};
use serde_json::json;

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
    let env = TestEnv::new();
    let (file, log) = (env.path("era"), env.path("calls"));
    let fixture = binary("mux-fixture-server");
    let script = format!(
        "exec {} --call-log {} --name $(cat {}) --era $(cat {})",
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
        assert_eq!(spoken(&env), version, "{era}");
        let now = asked(&log, "server/discover");
        assert_eq!(now - before, probes, "{era}");
        before = now;
        env.stop();
    }
}

#[test]
fn server_that_starts_slower_than_the_probe_waits_is_started_once() {
    for (era, version) in [("modern", NEW), ("legacy", OLD)] {
        let env = TestEnv::with_fixtures(&[("fix", &["--slow-start", "1500", "--era", era])]);
        assert_eq!(spoken(&env), version, "{era}");
        assert_eq!(env.starts("fix").len(), 1, "{era}");
    }
}
