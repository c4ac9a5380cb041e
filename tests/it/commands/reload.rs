//! `mux reload`: the effect of a new configuration on open sessions.

use mux_tests::{TestEnv, mux_snapshot, process};
use serde_json::{Value, json};

use super::prints;

/// The changes that a reload made, or that were active before it because the file had been saved.
fn changes(report: &Value) -> Value {
    match report["earlier"]["report"].clone() {
        Value::Null => report.clone(),
        earlier => earlier,
    }
}

/// The same as text. A change that was active before is one line.
fn reported_changes(env: &TestEnv) -> String {
    let printed = env.mux(["reload"]).ok().stdout;
    match printed.split_once("already active (") {
        Some((_, earlier)) => earlier.split_once("): ").unwrap().1.replace("; ", "\n"),
        None => printed.replace("servers: nothing changed\n", ""),
    }
}

#[test]
fn commands_reload_restarts_only_changed_servers() {
    let env = TestEnv::with_fixtures(&[("kept", &[]), ("changed", &[]), ("removed", &[])]);
    for server in ["kept", "changed", "removed"] {
        env.mux(["call", &format!("{server}.counter"), "key=k"])
            .ok();
    }
    prints(env.mux(["reload"]), "nothing changed (3 servers)\n");

    env.write_config(&format!(
        "{}{}{}",
        env.fixture("kept", &[]),
        env.fixture("changed", &["--name", "renamed"]),
        env.fixture("added", &[]),
    ));
    let report = env.mux(["reload", "--json"]).ok().json();
    let changes = changes(&report);
    for (what, expected) in [
        ("added", json!(["added"])),
        ("removed", json!(["removed"])),
        ("changed", json!(["changed"])),
        ("reasons", json!({ "changed": ["args"] })),
    ] {
        assert_eq!(changes[what], expected, "{report:#}");
    }
    assert_eq!(report["problems"], json!([]));
    // The kept session has its state. The others are new or closed.
    prints(env.mux(["call", "kept.counter", "key=k"]), "2\n");
    prints(env.mux(["call", "changed.counter", "key=k"]), "1\n");
    prints(env.mux(["call", "added.counter", "key=k"]), "1\n");
    mux_snapshot!(env.mux(["call", "removed.counter", "key=k"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `removed`
      hint: known servers: added, changed, kept
    ");
    let servers = env.mux(["servers", "--json"]).ok().json();
    let names: Vec<_> = servers
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["name"])
        .collect();
    assert_eq!(names, ["added", "changed", "kept"]);
    assert_eq!(
        servers[1]["identity"],
        format!("renamed {}", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(
        (env.starts("kept").len(), env.starts("changed").len()),
        (1, 2)
    );
    // The processes of the old sessions end.
    let old = [env.starts("changed")[0], env.starts("removed")[0]];
    for pid in old {
        let gone = process::wait_for_end(pid, std::time::Duration::from_secs(30));
        assert!(gone, "{pid} of an old session lives on");
    }
}

#[test]
fn commands_reload_keeps_the_old_session_for_calls_in_flight() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let first = "console.log(await mux.fix.pid());\n\
                 const met = mux.fix.barrier({ name: 'b', parties: 2 });\n\
                 await mux.fix.echo({ text: 'sent' }); console.log('waiting'); return await met";
    let mut run = env.begin(["run", "-e", first]);
    run.wait_for("waiting");
    let old = env.starts("fix")[0];
    env.write_config(&env.fixture("fix", &["--name", "new"]));
    mux_snapshot!(reported_changes(&env), @"servers: fix (args) changed");
    // The new session serves while the old one finishes its call.
    let new = env.mux(["call", "fix.pid"]).ok();
    assert_ne!(new.stdout.trim(), old.to_string());
    assert!(process::is_alive(old), "its call is not over");
    run.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(run.wait().code, 130);
    assert!(process::wait_for_end(
        old,
        std::time::Duration::from_secs(30)
    ));
}

#[test]
fn commands_reload_keeps_the_last_good_configuration() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.pid"]).ok();
    env.write_config("[servers.fix\n");
    mux_snapshot!(env.mux(["reload"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: [HOME]/config.toml is not valid TOML: line 1, column 13: unclosed table, expected `]`
      hint: the last good configuration stays active
    ");
    env.mux(["call", "fix.pid"]).ok();
    assert_eq!(env.starts("fix").len(), 1);
    mux_snapshot!(env.mux(["status"]).ok().stderr, @"warning: [HOME]/config.toml is not valid TOML: line 1, column 13: unclosed table, expected `]`");
    env.write_config(&env.fixture("fix", &[]));
    prints(env.mux(["reload"]), "nothing changed (1 server)\n");
    assert_eq!(env.mux(["status"]).ok().stderr, "");
}

#[test]
fn commands_reload_names_what_changed_besides_servers() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["call", "fix.pid"]).ok();
    env.mux(["reload"]).ok();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}[limits]\nwall = \"40s\"\n[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n\
         [agents.small]\nexclude = [\"fix.env\"]\n"
    ));
    mux_snapshot!(reported_changes(&env), @"
    policy: 1 rule added (deny fix.echo)
    limits: wall changed
    agents: small added
    ");
    // Each change is printed once.
    prints(env.mux(["reload"]), "nothing changed (1 server)\n");
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn commands_reload_tells_what_was_active_before() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.mux(["reload"]).ok();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}[[policy]]\nmatch = \"fix.echo\"\naction = \"deny\"\n"
    ));
    // Wait until the saved file is applied.
    while env.mux(["call", "fix.echo", "text=x"]).code != 5 {}
    mux_snapshot!(env.mux(["reload"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    nothing changed (1 server)
    already active (loaded [AGE]): policy: 1 rule added (deny fix.echo)
    ----- stderr -----
    ");
    prints(env.mux(["reload"]), "nothing changed (1 server)\n");
}
