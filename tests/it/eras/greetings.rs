//! Detection of a server's era, and its cache.

use mux_tests::{TestEnv, env::binary};
use serde_json::json;

use super::home;
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
fn era_is_detected_once_and_remembered() {
    for (args, first, then, starts, probes) in [
        (&["legacy"][..], OLD, OLD, 1, 1),
        (&["legacy", "--on-discover", "silence"], OLD, OLD, 1, 1),
        // The server is restarted, and gets the legacy handshake.
        (&["legacy", "--on-discover", "exit"], OLD, OLD, 2, 1),
        (&["modern"], NEW, NEW, 1, 2),
        (&["dual"], NEW, NEW, 1, 2),
        // Its answer to the probe arrives after the legacy handshake.
        (&["dual", "--slow-start", "1500"], OLD, NEW, 1, 2),
    ] {
        let (env, log) = home(args[0], &args[1..]);
        let said = format!("{args:?}");
        assert_eq!(spoken(&env), first, "{said}");
        assert_eq!(env.starts("fix").len(), starts, "{said}");
        // A new daemon remembers the era.
        env.stop();
        assert_eq!(spoken(&env), then, "{said}");
        assert_eq!(env.starts("fix").len(), starts + 1, "{said}");
        assert_eq!(asked(&log, "server/discover"), probes, "{said}");
    }
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
fn unknown_result_fields_are_passed_on() {
    for era in super::BOTH {
        let (env, _) = home(era, &[]);
        let result = env.mux(["call", "--raw", "fix.meta"]).ok();
        let result: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
        assert_eq!(result["x/unknown"], json!({ "kept": true }), "{result:#}");
        assert_eq!(result["_meta"], json!({ "x/meta": 1 }), "{result:#}");
        assert_eq!(result.get("resultType"), None, "{result:#}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let meta: serde_json::Value = serde_json::from_str(text).unwrap();
        let ours = |name: &str| &meta[format!("io.modelcontextprotocol/{name}")];
        assert!(!meta["progressToken"].is_null(), "{meta:#}");
        if era == super::MODERN {
            assert_eq!(ours("protocolVersion"), NEW);
            assert_eq!(ours("clientInfo")["name"], "muxd");
            assert_eq!(ours("logLevel"), "info");
            assert!(ours("clientCapabilities")["elicitation"].is_object());
        } else {
            assert!(ours("protocolVersion").is_null(), "{meta:#}");
        }
    }
}
