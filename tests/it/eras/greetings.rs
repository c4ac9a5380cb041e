//! How it is found out which era a server speaks, and that it is remembered.

use mux_tests::{TestEnv, env::binary};
use serde_json::json;

use super::home;
use crate::offers::asked;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// In which version `fix` is spoken to.
#[track_caller]
fn spoken(env: &TestEnv) -> String {
    env.mux(["call", "fix.echo", "text=x"]).ok();
    let status = env.mux(["--json", "status"]).ok().json();
    let protocol = status["servers"][0]["protocol"].as_str();
    protocol.unwrap_or_default().to_owned()
}

#[test]
fn the_era_is_found_out_once_and_then_known() {
    for (args, first, then, starts, probes) in [
        (&["legacy"][..], OLD, OLD, 1, 1),
        (&["legacy", "--on-discover", "silence"], OLD, OLD, 1, 1),
        // It is started again, and greeted as it likes.
        (&["legacy", "--on-discover", "exit"], OLD, OLD, 2, 1),
        (&["modern"], NEW, NEW, 1, 2),
        (&["dual"], NEW, NEW, 1, 2),
        // It has said what it is when it was greeted already.
        (&["dual", "--slow-start", "1500"], OLD, NEW, 1, 2),
    ] {
        let (env, log) = home(args[0], &args[1..]);
        let said = format!("{args:?}");
        assert_eq!(spoken(&env), first, "{said}");
        assert_eq!(env.starts("fix").len(), starts, "{said}");
        // Another daemon knows it, too.
        env.stop();
        assert_eq!(spoken(&env), then, "{said}");
        assert_eq!(env.starts("fix").len(), starts + 1, "{said}");
        assert_eq!(asked(&log, "server/discover"), probes, "{said}");
    }
}

#[test]
fn a_memory_that_is_wrong_costs_one_more_greeting() {
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
        // Asked what it was, and then greeted.
        ("legacy", OLD, 1),
        ("legacy", OLD, 0),
        // Greeted, refused, and asked.
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
fn what_a_server_says_that_nobody_knows_is_passed_on() {
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
