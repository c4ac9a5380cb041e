//! Mistakes that new users make: each answer names the fix.

use std::fs;

use mux_tests::{CommandTranscript, TestEnv, mux_snapshot};

/// Commands that do not exist, or are not written like this.
const COMMANDS: &[&[&str]] = &[
    &["cal"],
    &["list"],
    &["start"],
    &["server"],
    &["tool"],
    &["runs", "3"],
    &["servers", "fix", "--nope"],
    &["servers", "fxi"],
    &["servers", "add", "x", "npx", "-y", "foo"],
    &["servers", "add", "adhoc", "https://example.com"],
    &["servers", "add", "x", "--url", "example.com/mcp"],
    &["servers", "add", "x", "--url", "stdio://example"],
    &["servers", "add", "my server", "--", "x"],
    &["servers", "add", "call", "--", "x"],
    &["call", "--stdio", "'", "x"],
    &["call", "--url", "localhost:3000", "x"],
    &["audit", "--server", "fix"],
    &["runs", "show", "nope"],
    &["approve", "A9"],
];

/// Calls and programs that are wrong.
const CALLS: &[&[&str]] = &[
    &["call", "fix"],
    &["call", "fix.ech", "text=x"],
    &["call", "fix.echo", "txt=x"],
    &["call", "fix.echo"],
    &["call", "fix.echo", "--text", "x"],
    &["call", "fix.add", "a=one", "b=2"],
    &["run", "-e", "return mux.fix-cursor.x()"],
    &["run", "-e", "return mux.input.dir"],
    &[
        "run",
        "-e",
        "const r = await mux.fix.echo({ text: 'a' }); return r.content[0].text",
    ],
    &["run", "-e", "import fs from 'fs'"],
    &["run", "-e", "return require('fs')"],
    &["run", "-e", "return process.env"],
    &["run", "-e", "return await fetch('https://example.com')"],
    &["run", "-e", "await new Promise(() => {})"],
    &["run", "--timeout", "1s", "-e", "while (true) {}"],
    &["run", "-e", "const a = []; a.push(a); return a"],
    &["run", "-e", "return () => { return mux.fix.nope }"],
    &["resources", "nope"],
    &["prompts", "fix", "nope"],
];

/// Edits of the configuration that are wrong.
const EDITS: &[&[&str]] = &[
    &["config", "set", "limits.wall", "banana"],
    &["config", "set", "limits.wal", "10s"],
    &["config", "set", "servers.nothere.enabled", "false"],
    &["config", "set", "sources.nothere.enabled", "false"],
    &["config", "edit"],
    &["servers", "remove", "nope"],
    &["servers", "enable", "nope"],
    &["servers", "add", "fix", "--", "another"],
    &["servers", "add", "gone", "--", "/no/such/program"],
    &["servers", "login", "fix"],
    &["secrets", "remove", "NOPE"],
    &["init", "--undo"],
];

/// Without a type checker, whose messages come from elsewhere.
fn home() -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!(
        "[check]\nmode = \"off\"\n{}",
        env.fixture("fix", &[])
    ));
    env
}

#[test]
fn mistakes_in_commands_are_answered_with_the_fix() {
    mux_snapshot!("mistakes_commands", home().transcript(COMMANDS));
}

#[test]
fn mistakes_in_calls_and_programs_are_answered_with_the_fix() {
    mux_snapshot!("mistakes_calls", home().transcript(CALLS));
}

#[test]
fn mistakes_in_edits_are_answered_with_the_fix() {
    let env = home();
    let before = fs::read_to_string(env.path("config.toml")).unwrap();
    let mut transcript = CommandTranscript::default();
    for args in EDITS {
        transcript.add(format!("mux {}", args.join(" ")), &env.mux(*args));
    }
    mux_snapshot!("mistakes_edits", transcript);
    // Only a server whose program is missing was added: it may be installed later.
    let after = fs::read_to_string(env.path("config.toml")).unwrap();
    let added = after.strip_prefix(&before).unwrap();
    assert_eq!(added.matches("[servers.").count(), 1, "{added}");
}

#[test]
fn mistakes_in_config_toml_are_answered_with_their_position() {
    let env = home();
    let good = fs::read_to_string(env.path("config.toml")).unwrap();
    let mut transcript = CommandTranscript::default();
    for (what, text) in [
        ("an unknown key", "[servers.a]\ncomand = \"x\"\n"),
        ("no TOML", "[servers.a\ncommand = \"x\"\n"),
        (
            "an unset variable",
            "[servers.a]\ncommand = \"x\"\nenv = { T = \"${NOT_SET_HERE}\" }\n",
        ),
    ] {
        env.write_config(&format!("{good}{text}"));
        transcript.add(
            format!("mux config check # {what}"),
            &env.mux(["config", "check"]),
        );
        // The other servers go on.
        let output = env.mux(["call", "fix.echo", "text=x"]);
        transcript.add("mux call fix.echo text=x", &output);
    }
    mux_snapshot!("mistakes_config", transcript);
}
