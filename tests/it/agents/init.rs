//! `mux init`.

use std::fs;

use mux_tests::{
    TestEnv, TestTerminal,
    env::{binary, output},
    mux_snapshot,
};
use serde_json::{Value, json};

use super::{contents, without_agents, write};

const CURSOR: &str = ".cursor/mcp.json";

/// A home with Cursor, which has the fixture server as `fix`.
fn with_cursor() -> TestEnv {
    let env = without_agents();
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
    mux_snapshot!(env.mux(["init", "--dry-run"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    agents: Cursor, Windsurf
    would import 1 server into ~/config.toml
      fix of Cursor
    would add `mux mcp` to
      Cursor  ~/.cursor/mcp.json
      Windsurf  ~/.codeium/windsurf/mcp_config.json

    next: `mux import --move` removes fix from the agents' files; until then each runs twice
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["init"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    agents: Cursor, Windsurf
    would import 1 server into ~/config.toml
      fix of Cursor
    would add `mux mcp` to
      Cursor  ~/.cursor/mcp.json
      Windsurf  ~/.codeium/windsurf/mcp_config.json
    ----- stderr -----
    error: cannot ask for confirmation here
      hint: `mux init --yes` makes the changes shown, `mux init --dry-run` only shows them
    ");
    let refused = env.mux(["init", "--json"]).fails(2, &[]).json();
    assert_eq!(
        (&refused["ok"], &refused["changes"]),
        (&json!(false), &json!(true))
    );
    assert_eq!((contents(&env), env.daemon()), (before, None));

    mux_snapshot!(env.mux(["init", "--agents", "cursor", "--yes"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    agents: Cursor
    would import 1 server into ~/config.toml
      fix of Cursor
    would add `mux mcp` to
      Cursor  ~/.cursor/mcp.json

    imported 1 server into ~/config.toml
      backup: ~/config.toml.mux-backup-[DATE]
    added `mux mcp` to
      Cursor  ~/.cursor/mcp.json
        backup: ~/.cursor/mcp.json.mux-backup-[DATE]
    ran a program; the server fix answered with [COUNT] tools: fix.add, fix.barrier, fix.blob, …

    SERVER  STATE  TOOLS  NEXT
    fix     ready  29
    1 of 1 server ready

    next: restart Cursor to start `mux mcp` there
    next: `mux tools` lists the tools of your servers, `mux ui` shows muxd in the browser
    next: `mux import --move` removes fix from the agents' files; until then each runs twice
    next: `mux init --undo` undoes all of this
    ----- stderr -----
    ");
    assert_eq!(cursor_servers(&env), ["fix", "mux"]);
    assert!(!env.path(".codeium/windsurf/mcp_config.json").exists());
    assert_eq!(env.mux(["call", "fix.echo", "text=x"]).ok().stdout, "x\n");

    let before = contents(&env);
    mux_snapshot!(env.mux(["init", "--agents", "cursor"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    agents: Cursor
    nothing to do: everything is set up

    SERVER  STATE  TOOLS  NEXT
    fix     ready  29
    1 of 1 server ready

    next: `mux import --move` removes fix from the agents' files; until then each runs twice
    ----- stderr -----
    ");
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
    assert!(next.contains("`mux init --undo`"), "{next}");
    assert_eq!(done["servers"][0]["state"], "ready", "{done:#}");
    assert!(!next.contains("runs twice"), "{next}");
    mux_snapshot!(env.mux(["init", "--move"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    agents: Cursor
    nothing to do: everything is set up

    SERVER  STATE  TOOLS  NEXT
    fix     ready  29
    1 of 1 server ready
    ----- stderr -----
    ");
    env.mux(["import", "--undo"]).ok();
    env.mux(["install", "cursor", "--undo"]).ok();
    assert_eq!(fs::read(env.path(CURSOR)).unwrap(), before);
}

/// Cursor with a server of each kind of need.
fn with_needs() -> TestEnv {
    let env = without_agents();
    env.write_config("[check]\nmode = \"off\"\n");
    let fixture = binary("mux-fixture-server");
    let servers = json!({
        "fix": { "command": fixture },
        "gone": { "command": "no-such-program" },
        "needs": { "command": fixture, "env": { "TOKEN_OF_MINE": "${env:NOT_SET_HERE}" } },
        "unreachable": { "url": "http://127.0.0.1:9/mcp" },
    });
    write(&env, CURSOR, json!({ "mcpServers": servers }).to_string());
    env
}

#[test]
fn init_ends_with_the_needs_of_all_servers_and_undo_restores_everything() {
    let env = with_needs();
    let file = env.path(CURSOR);
    let before = fs::read(&file).unwrap();
    let config = fs::read(env.path("config.toml")).unwrap();
    mux_snapshot!(env.mux(["init", "--yes"]), @"
    success: false
    exit_code: 3
    ----- stdout -----
    agents: Cursor
    would import 4 servers into ~/config.toml
      fix of Cursor
      gone of Cursor
      needs of Cursor
      unreachable of Cursor
    would add `mux mcp` to
      Cursor  ~/.cursor/mcp.json

    imported 4 servers into ~/config.toml
      backup: ~/config.toml.mux-backup-[DATE]
    added `mux mcp` to
      Cursor  ~/.cursor/mcp.json
        backup: ~/.cursor/mcp.json.mux-backup-[DATE]
    ran a program; the server fix answered with [COUNT] tools: fix.add, fix.barrier, fix.blob, …

    SERVER       STATE              TOOLS  NEXT
    gone         program not found  -
    needs        needs a value      -
    unreachable  does not answer    -
    fix          ready              29
    gone: `no-such-program` is not in PATH
      next: install it, or write its full path as `command` in [servers.gone] in [HOME]/config.toml
    needs: the variable NOT_SET_HERE is not set; set it in the `env` file next to config.toml
      next: write NOT_SET_HERE=… into [HOME]/env
    unreachable: http://127.0.0.1:9/mcp cannot be reached: tcp connect error: Connection refused (os error 111); is the server running? check `url`
      next: `mux servers restart unreachable` tries again
    1 of 4 servers ready

    next: restart Cursor to start `mux mcp` there
    next: `mux tools` lists the tools of your servers, `mux ui` shows muxd in the browser
    next: `mux import --move` removes fix, gone, unreachable from the agents' files; until then each runs twice
    next: `mux init --undo` undoes all of this
    ----- stderr -----
    ");
    // Nothing is left to do, and the servers still need the same.
    env.mux(["init"]).fails(3, &["1 of 4 servers ready"]);
    let planned = env.mux(["init", "--undo", "--dry-run"]).ok();
    assert_eq!(cursor_servers(&env).len(), 5, "{planned:#?}");
    mux_snapshot!(env.mux(["init", "--undo"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    took `mux mcp` out of
      Cursor  ~/.cursor/mcp.json
    removed fix, gone, needs, unreachable from config.toml
      backup: ~/config.toml.mux-backup-[DATE]
    ----- stderr -----
    ");
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(fs::read(env.path("config.toml")).unwrap(), config);
    env.mux(["init", "--undo"]).fails(1, &["nothing to undo"]);
}

#[test]
fn init_undo_keeps_servers_that_were_changed_and_puts_moved_ones_back() {
    let env = with_needs();
    let before = fs::read(env.path(CURSOR)).unwrap();
    env.mux(["init", "--yes", "--move"]).fails(3, &[]);
    env.mux(["config", "set", "servers.fix.call_timeout", "5s"])
        .ok();
    let undone = env.mux(["init", "--undo", "--json"]).ok().json();
    assert_eq!(undone["kept"], json!(["fix"]), "{undone:#}");
    assert_eq!(
        undone["removed"],
        json!(["gone", "needs", "unreachable"]),
        "{undone:#}"
    );
    assert_eq!(fs::read(env.path(CURSOR)).unwrap(), before);
    assert_eq!(env.mux(["call", "fix.echo", "text=x"]).ok().stdout, "x\n");
}

#[test]
fn init_at_a_terminal_asks_for_values_that_only_the_user_has() {
    let env = with_needs();
    let mut terminal = TestTerminal::start(&env, &["init"]);
    terminal.wait_for("Go on? [Y/n]");
    terminal.type_line("");
    terminal.wait_for("value of NOT_SET_HERE (not shown)");
    terminal.type_line("s3cret-value");
    let (code, printed, shown) = terminal.end();
    assert_eq!(code, Some(3), "{shown}");
    assert!(printed.contains("2 of 4 servers ready"), "{printed}");
    assert!(!shown.contains("s3cret-value"), "{shown}");
    let value = env
        .mux(["call", "needs.env", "name=TOKEN_OF_MINE"])
        .ok()
        .stdout;
    assert_eq!(value, "s3cret-value\n");
}

#[test]
fn init_names_a_failed_step_with_its_fix_and_takes_the_others() {
    let env = with_cursor();
    let init = || {
        let mut command = env.command("mux");
        // A port on which no process listens.
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
    let env = without_agents();
    mux_snapshot!(env.mux(["init"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: no supported agent was found on this machine, and config.toml has no server
      hint: add a server: mux servers add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
            or name an agent (claude, claude-desktop, cursor, vscode, codex, windsurf, opencode, zed, gemini, copilot, qwen, goose, crush, cline, kiro): mux init --agents NAME
    ");
    mux_snapshot!(env.mux(["init", "--yes"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: no supported agent was found on this machine, and config.toml has no server
      hint: add a server: mux servers add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
            or name an agent (claude, claude-desktop, cursor, vscode, codex, windsurf, opencode, zed, gemini, copilot, qwen, goose, crush, cline, kiro): mux init --agents NAME
    ");
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
