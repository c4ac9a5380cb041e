//! Secrets on their way from an agent's file to the server that needs them, and nowhere else.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::{TestEnv, env::binary};
use serde_json::json;

use super::write;

const SECRET: &str = "s3cret $5 $$ \"quoted\" #1";

#[test]
fn agents_import_hands_secrets_to_the_server_and_shows_them_to_nobody() {
    let env = TestEnv::with_fixtures(&[("own", &[])]);
    let daemon = env.mux(["call", "own.pid"]).ok();
    assert!(env.daemon().is_some(), "{daemon:#?}");
    let entry = json!({
        "type": "stdio",
        "command": "/bin/sh",
        "args": ["-c", "exec \"$0\"", binary("mux-fixture-server"), "ghp_s3cret0123456789"],
        "env": { "API_TOKEN": SECRET, "PLAIN": "costs $5", "HOME_TOO": "${HOME}" },
    });
    let file = json!({ "mcpServers": { "my fixture": entry, "mux": { "command": "mux", "args": ["mcp"] } } });
    write(&env, ".claude.json", file.to_string());

    let shown = env.mux(["import", "--dry-run"]).ok();
    let report = env.mux(["import"]).ok();
    assert!(report.stdout.contains("muxd has read it"), "{report:#?}");
    assert!(
        report.stdout.contains("MUX_MY_FIXTURE_API_TOKEN"),
        "{report:#?}"
    );
    let again = env.mux(["import", "--json"]).ok();
    let statuses = again.json()["servers"].clone();
    assert_eq!(
        (&statuses[0]["status"], &statuses[1]["status"]),
        (&json!("same"), &json!("skipped"))
    );

    // The running daemon serves it, and the variable is there.
    let call = |name: &str| {
        let output = env.mux(["call", "my-fixture.env", &format!("name={name}")]);
        output.stdout.trim_end().to_owned()
    };
    assert_eq!(call("API_TOKEN"), SECRET);
    assert_eq!(call("PLAIN"), "costs $5");
    assert_eq!(call("HOME_TOO"), env.home().to_str().unwrap());

    let status = env.mux(["status", "--json"]).ok();
    let servers = env.mux(["servers", "--json"]).ok();
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(servers.stdout.contains("my-fixture"), "{servers:#?}");
    assert!(
        servers.stdout.contains("${MUX_MY_FIXTURE_ARG_4}"),
        "{servers:#?}"
    );
    assert!(config.contains("${MUX_MY_FIXTURE_API_TOKEN}"), "{config}");
    let log = env.log();
    for text in [
        &shown.stdout,
        &report.stdout,
        &report.stderr,
        &again.stdout,
        &status.stdout,
        &servers.stdout,
        &config,
        &log,
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let mode = fs::metadata(env.dirs.env_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
