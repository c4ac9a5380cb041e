//! `mux doctor` with many problems, and without a daemon that answers.

use std::fs;

use mux_tests::{TestEnv, env::output};
use nix::sys::signal::Signal;

#[test]
fn doctor_finds_problems_without_a_daemon() {
    let env = TestEnv::with_config(
        "[servers.lost]\ncommand = \"no-such-program\"\n[servers.twice]\ncommand = \"uvx\"\nargs = [\"x\"]\n",
    );
    env.dirs.prepare().unwrap();
    fs::create_dir(env.path(".cursor")).unwrap();
    let agent = r#"{ "mcpServers": { "mux": { "command": "/no/such/mux", "args": ["mcp"] },
        "mine": { "command": "uvx", "args": ["x"] } } }"#;
    fs::write(env.path(".cursor/mcp.json"), agent).unwrap();
    let mut command = env.command("mux");
    command
        .env("HTTPS_PROXY", "http://[")
        .env("SSL_CERT_FILE", "/no/such.pem");
    let said = output(command.args(["doctor"])).fails(
        1,
        &[
            "[servers.lost]: `no-such-program` is not in PATH",
            "failure network: HTTPS_PROXY is not a proxy address",
            "failure network: SSL_CERT_FILE names /no/such.pem",
            "failure agents: Cursor starts /no/such/mux, which does not exist",
            "Cursor has servers that mux also has: mine",
            "fix: `mux import --move --from cursor` removes them from ~/.cursor/mcp.json",
            "note    daemon: no muxd is running",
            "note    configuration: twice: the version of `x` is not pinned",
            "write `x@VERSION`",
        ],
    );
    // Each problem has a fix.
    let lines: Vec<&str> = said.stdout.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("failure") || line.starts_with("warning") {
            assert!(lines[at + 1].trim_start().starts_with("fix: "), "{line}");
        }
    }
    assert_eq!(env.daemon(), None, "it starts nothing");

    env.write_config("[servers.a]\ncommand = \"sh\"\nargs = [\"s3cret\n");
    let said = env.mux(["doctor"]).fails(1, &["is not valid TOML, line 3"]);
    assert!(!said.stdout.contains("s3cret"), "{said:#?}");
}

#[test]
fn doctor_works_while_the_daemon_hangs() {
    let env = TestEnv::with_config("[servers.lost]\ncommand = \"no-such-program\"\n");
    let daemon = env.serve();
    daemon.signal(Signal::SIGSTOP);
    let fix = format!("kill -CONT {}", daemon.pid());
    env.mux(["doctor"])
        .fails(1, &["is stopped", &fix, "[servers.lost]"]);
    daemon.signal(Signal::SIGCONT);
    env.mux(["doctor"])
        .fails(0, &[&format!("muxd {} answers", daemon.pid())]);
}
