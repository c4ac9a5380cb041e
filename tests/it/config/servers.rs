//! Servers that cannot be started, or that are not MCP servers.

use std::{fs, os::unix::fs::PermissionsExt};

use mux_tests::{TestEnv, env::output, mux_snapshot};

use super::server;

#[test]
fn servers_get_ssh_agent_only_if_their_entry_names_it() {
    let env = TestEnv::new();
    let keyless = env.path("keyless.sh");
    fs::write(
        &keyless,
        "#!/bin/sh\necho 'git@h: Permission denied (publickey).' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(&keyless, fs::Permissions::from_mode(0o755)).unwrap();
    let asks = "env = { SSH_AUTH_SOCK = \"${SSH_AUTH_SOCK}\" }\n";
    env.write_config(&format!(
        "{}{}{asks}[servers.keyless]\ncommand = {keyless:?}\n",
        env.fixture("plain", &[]),
        env.fixture("git", &[]),
    ));
    let mut first = env.command("mux");
    first.env("SSH_AUTH_SOCK", "/run/agent").arg("servers");
    output(&mut first).ok();
    let seen = |server: &str| {
        let path = format!("{server}.env");
        env.mux(["call", &path, "name=SSH_AUTH_SOCK"])
    };
    assert_eq!(seen("git").ok().stdout.trim(), "/run/agent");
    mux_snapshot!(seen("plain"), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[tool]: SSH_AUTH_SOCK is not set
    ");
    env.mux(["tools", "--server", "keyless"]);
    let doctor = env.mux(["doctor"]).stdout;
    let words = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("env = { SSH_AUTH_SOCK"), "{doctor}");
}

#[test]
fn config_servers_that_fail_to_start_report_why_and_affect_no_others() {
    let env = TestEnv::new();
    let plain = env.path("plain.txt");
    fs::write(&plain, "#!/bin/sh\necho hello\n").unwrap();
    let script = env.path("script.sh");
    fs::write(
        &script,
        "#!/bin/sh\necho usage: script FILE\necho no file given >&2\nexit 2\n",
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let interpreter = env.path("interpreter.sh");
    fs::write(&interpreter, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&interpreter, fs::Permissions::from_mode(0o755)).unwrap();

    let fixture =
        |name: &str, args: &[&str], rest: &str| format!("{}{rest}\n", env.fixture(name, args));
    let entry = |name: &str, command: &str| format!("[servers.{name}]\ncommand = {command:?}\n");
    let soon = "start_timeout = \"1s\"";
    let cases: Vec<(&str, String, &[&str])> = vec![
        (
            "unknown",
            entry("unknown", "no-such-program"),
            &["`no-such-program` is not in PATH"],
        ),
        (
            "absent",
            entry("absent", "/no/such/program"),
            &["/no/such/program: there is no such file"],
        ),
        (
            "text",
            entry("text", plain.to_str().unwrap()),
            &["plain.txt", "not an executable file"],
        ),
        (
            "folder",
            entry("folder", "/tmp"),
            &["/tmp", "not an executable file"],
        ),
        (
            "orphan",
            entry("orphan", interpreter.to_str().unwrap()),
            &[
                "interpreter.sh",
                "the interpreter that it names does not exist",
            ],
        ),
        (
            "lost",
            fixture("lost", &[], "cwd = \"/no/such/folder\""),
            &["working directory /no/such/folder"],
        ),
        (
            "script",
            entry("script", script.to_str().unwrap()),
            &[
                "the process ended at once (exit code 2)",
                "not a message] usage: script FILE",
                "no file given",
            ],
        ),
        (
            "exits",
            fixture("exits", &["--exit-at-start", "7"], ""),
            &[
                "the process ended at once (exit code 7)",
                "fatal line 1 of 3",
                "fatal line 3 of 3",
            ],
        ),
        (
            "rubbish",
            fixture("rubbish", &["--rubbish"], soon),
            &[
                "not ready within 1s (start_timeout)",
                "not a message]",
                "bytes that are not text",
            ],
        ),
        (
            "mute",
            fixture("mute", &["--mute"], soon),
            &["not ready within 1s (start_timeout)"],
        ),
    ];
    let entries: String = cases.iter().map(|(_, entry, _)| entry.as_str()).collect();
    env.write_config(&(entries + &env.fixture("noisy", &["--noise-at-start", "5"])));

    for (name, _, parts) in &cases {
        let start = format!("error[unavailable]: the server `{name}` cannot be started: ");
        let output = env.mux(["call", &format!("{name}.echo"), "text=x"]);
        let output = output.fails(3, parts).fails(3, &[&start]);
        // A hint names a log only if there is one.
        let has_log = env.dirs.server_log(name).exists();
        assert_eq!(output.stderr.contains("its log: "), has_log, "{output:#?}");
        // Lines of the daemon's own log are not shown.
        assert!(!output.stderr.contains(" WARN "), "{output:#?}");
        let info = server(&env, name);
        assert_eq!(info["state"], "failed", "{info:#}");
        assert!(
            info["reason"].as_str().unwrap().contains(parts[0]),
            "{info:#}"
        );
        let answered = info["has_log"].as_bool().unwrap_or_default();
        assert_eq!(answered, has_log, "{info:#}");
    }
    // Output before the handshake does not make a server fail.
    assert_eq!(
        env.result("return await mux.noisy.echo({ text: 'x' })"),
        "x"
    );
    mux_snapshot!(env.mux(["servers", "logs", "noisy"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    [DATE] [TIME]       noisy    [stdout, not a message] npm notice: line 1 of 5 that is not JSON
    [DATE] [TIME]       noisy    [stdout, not a message] npm notice: line 2 of 5 that is not JSON
    [DATE] [TIME]       noisy    [stdout, not a message] npm notice: line 3 of 5 that is not JSON
    [DATE] [TIME]       noisy    [stdout, not a message] npm notice: line 4 of 5 that is not JSON
    [DATE] [TIME]       noisy    [stdout, not a message] npm notice: line 5 of 5 that is not JSON
    ----- stderr -----
    ");
}

#[test]
fn missing_program_is_one_line_and_its_directories_are_detail() {
    let env = TestEnv::with_config("[servers.lost]\ncommand = \"no-such-program\"\n");
    let failed = env.mux(["--json", "call", "lost.echo"]).fails(3, &[]);
    let error = &failed.json()["error"];
    assert_eq!(
        error["message"],
        "the server `lost` cannot be started: `no-such-program` is not in PATH"
    );
    assert!(
        error["hint"].as_str().unwrap().starts_with("install it"),
        "{error}"
    );
    let searched = error["details"]["searched"].as_array().unwrap();
    assert!(searched.contains(&"/usr/bin".into()), "{searched:?}");
    let mut once = searched.clone();
    once.dedup();
    assert_eq!(&once, searched);
    let info = server(&env, "lost");
    assert_eq!(info["reason"], "`no-such-program` is not in PATH");
    assert!(info["detail"].as_str().unwrap().contains("/usr/bin"));
    for args in ["servers", "doctor"] {
        let shown = env.mux([args]);
        let all = format!("{}{}", shown.stdout, shown.stderr);
        assert!(all.contains("`no-such-program` is not in PATH"), "{all}");
        assert!(!all.contains("searched"), "{all}");
        assert!(!all.contains("servers logs"), "{all}");
    }
    let doctor = env.mux(["--json", "doctor"]).fails(1, &[]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["detail"].is_string());
    assert!(check.is_some(), "{doctor:#}");
}

#[test]
fn config_failed_servers_are_retried_by_the_next_call() {
    let env = TestEnv::new();
    let program = env.path("late-server");
    env.write_config(&format!("[servers.late]\ncommand = {program:?}\n"));
    mux_snapshot!(env.mux(["call", "late.pid"]), @"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: the server `late` cannot be started: [HOME]/late-server: there is no such file
      hint: install the program, or correct its path in `command` in [servers.late]
    ");
    std::os::unix::fs::symlink(mux_tests::env::binary("mux-fixture-server"), &program).unwrap();
    env.mux(["call", "late.pid"]).ok();
    let info = server(&env, "late");
    assert_eq!(
        (&info["state"], &info["reason"]),
        (&"ready".into(), &serde_json::Value::Null)
    );
}

#[test]
fn config_servers_with_invalid_schemas_offer_their_valid_tools() {
    let env = TestEnv::with_fixtures(&[("fix", &["--bad-schema"])]);
    env.mux(["call", "fix.echo", "text=x"]).ok();
    env.mux(["call", "fix.bad_type", "x=1"]).ok();
    env.mux(["call", "fix.bad_pattern", "x=1"]).ok();
    env.mux(["types"]).ok();
    // Unchecked parts are named, with their tool and position.
    let shown = env.mux(["servers", "fix"]).ok().stdout;
    let doctor = env.mux(["doctor"]).stdout;
    for note in [
        "bad_type: properties.x: there is no type `strnig`; it is ignored",
        "bad_keyword: `properties` cannot be read and is ignored",
        "bad_ref: properties.x: `#/$defs/gone` refers to nothing and is ignored",
        "bad_pattern: the pattern `(` is not supported and is ignored",
        "refers to another document, which is not fetched",
    ] {
        assert!(unwrapped(&shown).contains(note), "no {note:?}: {shown}");
        assert!(unwrapped(&doctor).contains(note), "no {note:?}: {doctor}");
    }
    let tools = env.mux(["tools", "--json"]).ok().json();
    assert!(
        tools["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|t| t["name"] == "__proto__")
    );
    // Tools with names of JavaScript object properties can be called.
    let code = "return await Promise.all(['__proto__', 'constructor', 'then'].map((name) =>\n\
                mux.call(`fix.${name}`, { name })))";
    let answers = env.result(code);
    assert_eq!(answers[2]["name"], "then", "{answers}");
}

/// Text without the line breaks of a narrow terminal.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
