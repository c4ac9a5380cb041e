//! `mux init`.

use std::fs;

use mux_tests::{
    TestEnv, TestTerminal,
    env::{binary, output},
};
use serde_json::{Value, json};

use super::{contents, write};

const CURSOR: &str = ".cursor/mcp.json";

/// A home with Cursor, which has the fixture server as `fix`.
fn with_cursor() -> TestEnv {
    let env = TestEnv::new();
    let entry = json!({ "command": binary("mux-fixture-server") });
    write(
        &env,
        CURSOR,
        json!({ "mcpServers": { "fix": entry } }).to_string(),
    );
    env
}

/// The same, without a type checker to install.
fn unchecked() -> TestEnv {
    let env = with_cursor();
    env.write_config("[check]\nmode = \"off\"\n");
    env
}

fn cursor_servers(env: &TestEnv) -> Vec<String> {
    let file: Value = serde_json::from_slice(&fs::read(env.path(CURSOR)).unwrap()).unwrap();
    file["mcpServers"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[test]
fn init_sets_up_an_agent_and_runs_a_program() {
    let env = unchecked();
    fs::create_dir_all(env.path(".codeium/windsurf")).unwrap();
    let before = contents(&env);
    let plan = [
        "agents: Cursor, Windsurf",
        "would import 1 server into",
        "fix of Cursor",
        ".cursor/mcp.json",
        ".codeium/windsurf/mcp_config.json",
        "`mux import --move` takes fix out",
    ];
    env.mux(["init", "--dry-run"]).fails(0, &plan);
    env.mux(["init"]).fails(
        2,
        &[
            "would import 1 server into",
            "cannot ask",
            "`mux init --yes`",
        ],
    );
    let refused = env.mux(["init", "--json"]).fails(2, &[]).json();
    assert_eq!(
        (&refused["ok"], &refused["changes"]),
        (&json!(false), &json!(true))
    );
    assert_eq!((contents(&env), env.daemon()), (before, None));

    let done = env.mux(["init", "--agents", "cursor", "--yes"]).ok().stdout;
    for part in [
        "imported 1 server into",
        "added `mux mcp` to",
        ".mux-backup-",
        "ran a program; the server fix answered with",
        "next: restart Cursor,",
        "next: `mux import --move` takes fix out",
        "to undo: `mux install cursor --undo`; `mux servers remove NAME`",
    ] {
        assert!(done.contains(part), "{part}: {done}");
    }
    assert_eq!(cursor_servers(&env), ["fix", "mux"]);
    assert!(!env.path(".codeium/windsurf/mcp_config.json").exists());
    assert_eq!(env.mux(["call", "fix.echo", "text=x"]).ok().stdout, "x\n");

    let before = contents(&env);
    let again = env.mux(["init", "--agents", "cursor"]).ok().stdout;
    assert!(again.contains("nothing to do"), "{again}");
    assert!(
        again.contains("`mux import --move` takes fix out"),
        "{again}"
    );
    let again = env
        .mux(["init", "--agents", "cursor", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&again["ok"], &again["changes"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(contents(&env), before);
}

#[test]
fn init_moves_servers_if_asked_and_each_step_can_be_undone() {
    let env = unchecked();
    let before = fs::read(env.path(CURSOR)).unwrap();
    let done = env.mux(["init", "--move", "--yes", "--json"]).ok().json();
    assert_eq!(done["import"]["servers"][0]["moved"], true, "{done:#}");
    assert_eq!(done["install"][0]["status"], "added");
    assert_eq!(done["program"]["result"]["server"], "fix");
    assert_eq!(cursor_servers(&env), ["mux"]);
    let next = done["next"].to_string();
    assert!(next.contains("`mux import --undo`"), "{next}");
    assert!(!next.contains("runs twice"), "{next}");
    let again = env.mux(["init", "--move"]).ok().stdout;
    assert!(again.contains("nothing to do"), "{again}");
    env.mux(["import", "--undo"]).ok();
    env.mux(["install", "cursor", "--undo"]).ok();
    assert_eq!(fs::read(env.path(CURSOR)).unwrap(), before);
}

#[test]
fn init_names_a_failed_step_with_its_fix_and_takes_the_others() {
    let env = with_cursor();
    let init = || {
        let mut command = env.command("mux");
        // A port on which nothing listens.
        command.env("npm_config_registry", "http://127.0.0.1:9");
        output(command.args(["init", "--yes", "--json"]))
    };
    let done = init().fails(3, &[]).json();
    assert_eq!(done["ok"], false);
    let hint = done["compiler"]["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("--registry URL"), "{hint}");
    assert_eq!(done["program"]["result"]["server"], "fix", "{done:#}");
    assert_eq!(cursor_servers(&env), ["fix", "mux"]);

    let zed = write(&env, ".config/zed/settings.json", "{ nonsense");
    write(&env, ".codeium/windsurf/mcp_config.json", "{}");
    let done = init().fails(1, &[]).json();
    let edits = done["install"].as_array().unwrap();
    let of = |agent: &str| edits.iter().find(|edit| edit["agent"] == agent).unwrap();
    assert_eq!(of("windsurf")["status"], "added");
    assert_eq!(of("zed")["status"], "failed");
    assert!(
        of("zed")["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("by hand")
    );
    assert_eq!(fs::read_to_string(zed).unwrap(), "{ nonsense");
}

#[test]
fn init_without_agents_and_servers_names_how_to_add_one() {
    let env = TestEnv::new();
    let hint = "mux servers add files -- npx";
    env.mux(["init"])
        .fails(1, &["no agent", hint, "mux init --agents NAME"]);
    env.mux(["init", "--yes"]).fails(1, &["no agent", hint]);
    assert_eq!(contents(&env), []);
}

#[test]
fn init_at_a_terminal_asks_once_before_it_writes() {
    let env = unchecked();
    let before = contents(&env);
    let answer = |line: &str| {
        let mut terminal = TestTerminal::start(&env, &["init"]);
        terminal.wait_for("Go on? [Y/n]");
        terminal.type_line(line);
        let (code, _, shown) = terminal.end();
        assert!(!shown.contains("Go on?"), "{shown}");
        (code, shown)
    };
    let (code, shown) = answer("n");
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("nothing was changed"), "{shown}");
    assert_eq!((contents(&env), env.daemon()), (before, None));
    let (code, shown) = answer("");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(cursor_servers(&env), ["fix", "mux"]);
}
