//! A new daemon that fails to start leaves the old one as it was.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use mux_tests::{TestEnv, process};
use serde_json::{Value, json};

use super::{count, upgrade};

/// A program that sends these messages of the handover protocol, and exits.
fn successor(env: &TestEnv, name: &str, words: &[Value]) -> PathBuf {
    let mut bytes = Vec::new();
    for word in words {
        let text = word.to_string();
        bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.bytes());
    }
    let said = env.path(&format!("{name}.words"));
    fs::write(&said, bytes).unwrap();
    let program = env.path(name);
    fs::write(&program, format!("#!/bin/sh\ncat {said:?} >&0\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn hello(wire: u32, contract: u32) -> Value {
    json!({ "hello": { "wire": wire, "build": "9.9.9", "contract": contract } })
}

#[test]
fn old_daemon_continues_when_the_new_one_fails() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    count(&env, "fix");
    let old = env.daemon().unwrap();
    let ours = mux_proto::version::CONTRACT;
    let warm = json!({ "warm": {} });
    let ready = json!({ "ready": {} });
    let failed = json!({ "failed": { "message": "no room" } });
    // An exit in the middle may be noticed by a failing read or by a failing write.
    let cases: [(&str, &[Value], &str); 7] = [
        ("silent", &[], "ended before it served"),
        ("wire", &[hello(999, ours)], "handover protocol"),
        ("contract", &[hello(1, 999)], "contract 999"),
        ("failed", &[failed], "no room"),
        ("hello", &[hello(1, ours)], "hint"),
        ("warm", &[hello(1, ours), warm.clone()], "hint"),
        ("ready", &[hello(1, ours), warm, ready], "hint"),
    ];
    let mut calls = 1;
    for (name, words, said) in cases {
        let program = successor(&env, name, words);
        let binary = program.to_str().unwrap();
        env.mux(["restart", "--upgrade", "--binary", binary])
            .fails(3, &["this muxd continues", said]);
        calls += 1;
        assert_eq!(count(&env, "fix"), calls, "{name}");
        assert_eq!(env.daemon(), Some(old), "{name}");
        assert!(process::mentioning(binary).is_empty(), "{name}");
    }
    let text = env.path("text");
    fs::write(&text, "no program").unwrap();
    let text = text.to_str().unwrap();
    env.mux(["restart", "--upgrade", "--binary", text])
        .fails(3, &["cannot be started"]);
    env.mux(["restart", "--upgrade", "--binary", "/nowhere/muxd"])
        .fails(1, &["there is no muxd at /nowhere/muxd"]);
    // The cache is open again, and the next attempt succeeds.
    let status = env.mux(["--json", "status"]).ok().json();
    let problems = status["problems"].to_string();
    assert!(!problems.contains("memory only"), "{problems}");
    upgrade(&env);
    assert_eq!(count(&env, "fix"), calls + 1);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn upgrade_without_a_running_daemon_starts_one() {
    let env = TestEnv::new();
    let output = env.mux(["--json", "restart", "--upgrade"]).ok().json();
    assert_eq!(env.daemon().map(Value::from), Some(output["pid"].clone()));
}
