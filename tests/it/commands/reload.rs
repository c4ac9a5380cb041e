//! `mux reload`: the effect of a new configuration on open sessions.

use mux_tests::{TestEnv, process};
use serde_json::{Value, json};

use super::{complains, prints};

/// The changes that a reload made, or that were active before it because the file had been saved.
fn changes(report: &Value) -> Value {
    match report["earlier"]["report"].clone() {
        Value::Null => report.clone(),
        earlier => earlier,
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
    // The kept session has its state; the others are new, or gone.
    prints(env.mux(["call", "kept.counter", "key=k"]), "2\n");
    prints(env.mux(["call", "changed.counter", "key=k"]), "1\n");
    prints(env.mux(["call", "added.counter", "key=k"]), "1\n");
    complains(
        env.mux(["call", "removed.counter", "key=k"]),
        1,
        &["no server `removed`"],
    );
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
    let told = env.mux(["reload"]).ok();
    assert!(
        told.stdout.contains("servers: fix (args) changed"),
        "{told:?}"
    );
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
    complains(
        env.mux(["reload"]),
        1,
        &[
            "error[validation]",
            "line 1",
            "the last good configuration stays in force",
        ],
    );
    env.mux(["call", "fix.pid"]).ok();
    assert_eq!(env.starts("fix").len(), 1);
    let status = env.mux(["status"]).ok();
    assert!(status.stderr.contains("is not valid TOML"), "{status:#?}");
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
    let told = env.mux(["reload"]).ok().stdout;
    for part in [
        "policy: 1 rule added (deny fix.echo)",
        "limits: wall changed",
        "agents: small added",
    ] {
        assert!(told.contains(part), "{part:?} in {told}");
    }
    // Each change is told once.
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
    // Until the saved file is in force.
    while env.mux(["call", "fix.echo", "text=x"]).code != 5 {}
    let told = env.mux(["reload"]).ok().stdout;
    let (now, before) = told.trim_end().split_once('\n').unwrap();
    assert_eq!(now, "nothing changed (1 server)");
    assert!(before.starts_with("already active (loaded "), "{told}");
    assert!(
        before.ends_with("): policy: 1 rule added (deny fix.echo)"),
        "{told}"
    );
    prints(env.mux(["reload"]), "nothing changed (1 server)\n");
}
