//! `mux call --stdio` and `--url`: servers without an entry.

use std::fs;

use mux_tests::{TestEnv, env::binary};

use super::prints;

fn fixture(args: &str) -> String {
    format!("{} {args}", binary("mux-fixture-server").display())
}

#[test]
fn server_without_an_entry_is_called_and_ends_with_the_command() {
    let env = TestEnv::new();
    let pids = env.path("pids");
    let server = fixture(&format!("--pid-file {}", pids.display()));
    prints(
        env.mux(["call", "--stdio", &server, "echo", "text=hi"]),
        "hi\n",
    );
    prints(
        env.mux(["call", "--stdio", &server, "add(a: 1, b: 2)", "--json"]),
        "{\n  \"ok\": true,\n  \"result\": {\n    \"sum\": 3\n  }\n}\n",
    );
    let list = env.mux(["call", "--stdio", &server]).ok();
    assert!(
        list.stdout.contains("server.echo(args: { text: string })"),
        "{list:#?}"
    );
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 3, "{pids}");
    for pid in pids.lines() {
        assert!(
            !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(),
            "{pid}"
        );
    }
    // The user's own daemon was not needed.
    assert_eq!(env.daemon(), None);
    assert!(!env.path("config.toml").exists());
}

#[test]
fn rules_of_the_user_apply_to_a_server_without_an_entry() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[[policy]]\nmatch = \"*.echo\"\naction = \"deny\"\n",
        env.fixture("mine", &[])
    ));
    let server = fixture("");
    let output = env.mux(["call", "--stdio", &server, "echo", "text=hi"]);
    output.fails(5, &["error[denied]"]);
    // The servers of the configuration are not started.
    assert_eq!(env.starts("mine"), [0; 0]);
    // Hints name no entry and no command that needs one.
    env.mux(["call", "--stdio", &server, "nope"]).fails(
        1,
        &[
            "there is no tool `server.nope`",
            "leave out the tool to list the tools",
        ],
    );
    let failed = env.mux(["call", "--stdio", &server, "fail", "message=x"]);
    assert_eq!(failed.fails(1, &[]).stderr, "error[tool]: x\n");
    env.mux(["call", "--stdio", "/no/such/program", "x"])
        .fails(3, &["/no/such/program", "check the command"]);
    env.mux(["call", "--stdio", "", "x"])
        .fails(2, &["is not a command line"]);
}
