//! `mux install`.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use mux_tests::{TestEnv, env::binary, env::output, mux_snapshot};
use serde_json::{Value, json};

use super::{FILES, contents, data, with_all, without_agents, write};

#[test]
fn agents_install_adds_entry_to_every_agent_found() {
    let env = with_all();
    let done = env.mux(["install", "--json"]).ok().json();
    assert_eq!(done["ok"], true);
    let edits = done["agents"].as_array().unwrap();
    assert_eq!(edits.len(), FILES.len());
    for ((agent, name, place), edit) in FILES.iter().zip(edits) {
        let path = env.path(place);
        assert_eq!(edit["agent"], *agent);
        assert_eq!(edit["file"], path.to_str().unwrap());
        assert_eq!(
            (&edit["status"], &edit["found"]),
            (&json!("added"), &json!(true))
        );
        let backup = edit["backup"].as_str().unwrap();
        assert!(backup.contains(".mux-backup-"), "{backup}");
        assert_eq!(fs::read(backup).unwrap(), data(name), "{agent}");
        // At most one line is replaced: it gets a comma.
        let diff = edit["diff"].as_str().unwrap();
        let of = |sign: char| {
            diff.lines()
                .skip(2)
                .filter(move |line| line.starts_with(sign))
        };
        assert!(of('-').count() <= 1 && of('+').count() >= 1, "{diff}");
        assert!(
            diff.contains("mcp") && !diff.contains("literal-value"),
            "{diff}"
        );
    }
    let before = contents(&env);
    let again = env.mux(["install"]).ok();
    assert_eq!(
        again.stdout.matches("nothing to change").count(),
        FILES.len()
    );
    assert_eq!(contents(&env), before, "and no more backups");
    let list = env.mux(["install", "--list", "--json"]).ok().json();
    for known in list["agents"].as_array().unwrap() {
        assert_eq!(known["names"], json!(["mux"]), "{known}");
        assert_eq!(known["installed"], true);
    }
    assert_eq!(env.daemon(), None);
}

#[test]
fn agents_install_entry_names_this_mux_and_its_home() {
    let env = without_agents();
    let mux = binary("mux");
    let home = env.home().to_str().unwrap();
    env.mux([
        "install",
        "cursor",
        "codex",
        "opencode",
        "--agent-name",
        "small",
    ])
    .ok();
    let cursor: Value = read(&env, ".cursor/mcp.json");
    let args = json!(["mcp", "--agent", "small"]);
    assert_eq!(
        cursor["mcpServers"]["mux"],
        json!({ "command": mux, "args": args, "env": { "MUX_HOME": home } })
    );
    let opencode = read(&env, ".config/opencode/opencode.json");
    assert_eq!(
        opencode["mcp"]["mux"],
        json!({
            "type": "local", "command": [mux, "mcp", "--agent", "small"], "enabled": true,
            "environment": { "MUX_HOME": home },
        })
    );
    let codex = fs::read_to_string(env.path(".codex/config.toml")).unwrap();
    assert!(
        codex.starts_with("[mcp_servers.mux]\ncommand = \""),
        "{codex}"
    );
    let mode = fs::metadata(env.path(".cursor/mcp.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "what it makes is for its owner");

    // Without MUX_HOME the entry sets none either.
    let mut elsewhere = env.command("mux");
    elsewhere
        .env_remove("MUX_HOME")
        .args(["install", "cursor", "--command", "mux"]);
    output(&mut elsewhere).ok();
    assert_eq!(
        read(&env, ".cursor/mcp.json")["mcpServers"]["mux"],
        json!({ "command": "mux", "args": ["mcp"] })
    );
}

#[test]
fn agents_install_writes_bare_command_if_mux_is_on_path() {
    let env = without_agents();
    let folder = env.path("bin");
    fs::create_dir(&folder).unwrap();
    symlink(binary("mux"), folder.join("mux")).unwrap();
    let mut install = env.command("mux");
    install.env("PATH", format!("/usr/bin:{}", folder.display()));
    output(install.args(["install", "claude", "claude-desktop"])).ok();
    let command = |place, key: &str| read(&env, place)["mcpServers"]["mux"][key].clone();
    assert_eq!(command(".claude.json", "command"), "mux");
    assert_eq!(command(".claude.json", "type"), "stdio");
    // A desktop program has a different PATH.
    let desktop = command(".config/Claude/claude_desktop_config.json", "command");
    assert_eq!(desktop, folder.join("mux").to_str().unwrap());
}

#[test]
fn agents_install_dry_run_changes_nothing() {
    let env = with_all();
    let before = contents(&env);
    let shown = env.mux(["install", "--dry-run"]);
    mux_snapshot!("install_dry_run", shown);
    for secret in ["ghp_0123", "hunter2", "literal-value", "pässword", "abc123"] {
        assert!(!shown.stdout.contains(secret), "{}", shown.stdout);
    }
    assert_eq!(contents(&env), before);
}

#[test]
fn agents_install_keeps_file_modes_and_symlinks() {
    let env = without_agents();
    let real = write(&env, "dotfiles/cursor.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(env.path(".cursor")).unwrap();
    symlink("../dotfiles/cursor.json", env.path(".cursor/mcp.json")).unwrap();
    env.mux(["install", "cursor"]).ok();
    assert!(env.path(".cursor/mcp.json").is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(fs::read_to_string(&real).unwrap().contains("\"mux\""));
    assert_eq!(fs::read_dir(env.path("dotfiles")).unwrap().count(), 1);
    let kept = fs::read_dir(env.path(".cursor")).unwrap().flatten();
    let kept: Vec<_> = kept.filter(|entry| !entry.path().is_symlink()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        kept[0].metadata().unwrap().permissions().mode() & 0o777,
        0o640
    );

    fs::set_permissions(&real, fs::Permissions::from_mode(0o440)).unwrap();
    let before = contents(&env);
    mux_snapshot!(env.mux(["install", "cursor", "--undo"]), @r#"
    success: false
    exit_code: 3
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
    ----- stderr -----
    error: "[HOME]/.cursor/../dotfiles/cursor.json" is write-protected
    "#);
    assert_eq!(contents(&env), before);
}

#[test]
fn agents_install_leaves_unreadable_files_unchanged() {
    let env = without_agents();
    write(
        &env,
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n",
    );
    write(&env, ".codex/config.toml", "a = [\n[b]\n");
    write(
        &env,
        ".config/zed/settings.json",
        "{\"context_servers\": []}",
    );
    write(&env, ".codeium/windsurf/mcp_config.json", "{}");
    write(&env, ".config/goose/config.yaml", "extensions:\n  a: [1\n");
    let before = contents(&env);
    let done = env
        .mux(["install", "--json", "--command", "mux"])
        .fails(1, &[])
        .json();
    let edits = done["agents"].as_array().unwrap();
    let of = |agent: &str| edits.iter().find(|edit| edit["agent"] == agent).unwrap();
    assert_eq!(done["ok"], false);
    let cursor = &of("cursor")["error"];
    assert_eq!(
        (&cursor["kind"], &cursor["line"]),
        (&json!("validation"), &json!(3))
    );
    let hint = cursor["hint"].as_str().unwrap();
    assert!(
        hint.contains("{\"mcpServers\":{\"mux\":{\"command\":\"mux\""),
        "{hint}"
    );
    let codex = &of("codex")["error"];
    assert!(codex["line"].is_number(), "{codex}");
    assert!(
        codex["hint"]
            .as_str()
            .unwrap()
            .contains("[mcp_servers.mux]"),
        "{codex}"
    );
    let goose = &of("goose")["error"];
    assert_eq!(goose["line"], 2, "{goose}");
    assert!(
        goose["hint"]
            .as_str()
            .unwrap()
            .contains("\n  mux:\n    enabled: true\n"),
        "{goose}"
    );
    let zed = of("zed")["error"]["message"].as_str().unwrap();
    assert!(zed.contains("`context_servers`"), "{zed}");
    assert_eq!(of("windsurf")["status"], "added");
    let after = contents(&env);
    let same = before.iter().filter(|file| after.contains(file)).count();
    assert_eq!(same, before.len() - 1);
    mux_snapshot!(env.mux(["install", "cursor"]), @r#"
    success: false
    exit_code: 1
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
    ----- stderr -----
    error: [HOME]/.cursor/mcp.json was left alone: line 3, column 12: Expected comma
      fix the file and try again, or add this by hand:
      {"mcpServers":{"mux":{"command":"[BIN]/mux","args":["mcp"],"env":{"MUX_HOME":"[HOME]"}}}}
    "#);
    mux_snapshot!(env.mux(["install", "--list"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    claude         not found  ~/.claude.json
    claude-desktop not found  ~/.config/Claude/claude_desktop_config.json
    cursor         cannot be read: line 3, column 12: Expected comma  ~/.cursor/mcp.json
    vscode         not found  ~/.config/Code/User/mcp.json
    codex          cannot be read: line 2, column 4: unclosed array, expected `]`  ~/.codex/config.toml
    windsurf       has mux as `mux`  ~/.codeium/windsurf/mcp_config.json
    opencode       not found  ~/.config/opencode/opencode.json
    zed            without mux  ~/.config/zed/settings.json
    gemini         not found  ~/.gemini/settings.json
    copilot        not found  ~/.copilot/mcp-config.json
    qwen           not found  ~/.qwen/settings.json
    goose          cannot be read: line 2, column 6: unclosed bracket '['  ~/.config/goose/config.yaml
    crush          not found  ~/.config/crush/crush.json
    cline          not found  ~/.cline/data/settings/cline_mcp_settings.json
    kiro           not found  ~/.kiro/settings/mcp.json
    ----- stderr -----
    ");
}

#[test]
fn agent_without_files_is_found_by_its_program() {
    let env = without_agents();
    for program in ["claude", "goose", "kiro-cli"] {
        write(&env, &format!("bin/{program}"), "");
    }
    let done = env.mux(["install", "--json"]).ok().json();
    let edits = done["agents"].as_array().unwrap();
    let found: Vec<&str> = edits
        .iter()
        .map(|edit| edit["agent"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["claude", "goose", "kiro"]);
    assert!(edits.iter().all(|edit| edit["found"] == true), "{done:#}");
    let mux = binary("mux");
    let home = env.home().display();
    assert_eq!(
        fs::read_to_string(env.path(".config/goose/config.yaml")).unwrap(),
        format!(
            "extensions:\n  mux:\n    enabled: true\n    type: stdio\n    name: mux\n    cmd: {}\n    args:\n      - mcp\n    \
             timeout: 300\n    envs:\n      MUX_HOME: {home}\n",
            mux.display()
        )
    );
    let doctor = env.mux(["doctor", "--json"]).json();
    assert!(doctor.to_string().contains("Kiro has mux"), "{doctor:#}");
    env.mux(["install", "--undo"]).ok();
    assert!(!env.path(".config/goose/config.yaml").exists());
}

#[test]
fn agents_install_does_not_replace_another_server() {
    let env = without_agents();
    let text = "{\"mcpServers\":{\"mux\":{\"url\":\"https://mux.com/mcp\"}}}";
    let path = write(&env, ".cursor/mcp.json", text);
    mux_snapshot!(env.mux(["install", "cursor"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
    ----- stderr -----
    error: [HOME]/.cursor/mcp.json was left alone: its entry `mux` is another server
      choose another name: `mux install cursor --name NAME`
    ");
    mux_snapshot!(env.mux(["install", "cursor", "--undo"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    Cursor  ~/.cursor/mcp.json
    ----- stderr -----
    error: [HOME]/.cursor/mcp.json was left alone: its entry `mux` is another server
      choose another name: `mux install cursor --name NAME`
    ");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    env.mux(["install", "cursor", "--name", "muxd"]).ok();
    let list = env.mux(["install", "--list", "--json"]).ok().json();
    assert_eq!(list["agents"][2]["names"], json!(["muxd"]));
    env.mux(["install", "cursor", "--name", "muxd", "--undo"])
        .ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn agents_install_project_writes_shared_project_file() {
    let env = without_agents();
    env.mux(["install", "--project", "--command", "mux"]).ok();
    env.mux(["install", "vscode", "--project", "--command", "mux"])
        .ok();
    // The project's file is shared with other users, who have other homes.
    assert_eq!(
        read(&env, ".mcp.json"),
        json!({ "mcpServers": { "mux": { "type": "stdio", "command": "mux", "args": ["mcp"] } } })
    );
    assert_eq!(
        read(&env, ".vscode/mcp.json")["servers"]["mux"]["type"],
        "stdio"
    );
    assert!(!env.path(".claude.json").exists());
    mux_snapshot!(env.mux(["install", "codex", "--project"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: Codex has no project file that mux supports
      hint: --project works with claude, cursor, vscode, gemini, copilot, qwen, crush, kiro
    ");
    env.mux(["install", "--project", "--undo"]).ok();
    assert!(!env.path(".mcp.json").exists());
}

#[test]
fn link_of_a_repository_does_not_lead_project_edits_to_the_users_own_file() {
    let env = without_agents();
    let own = env.path(".claude.json");
    fs::write(&own, "{\"token\": \"mine\"}").unwrap();
    fs::create_dir(env.path(".cursor")).unwrap();
    let repository = env.path("clone");
    fs::create_dir_all(repository.join("shared")).unwrap();
    symlink("../.claude.json", repository.join(".mcp.json")).unwrap();
    symlink("../.cursor", repository.join(".cursor")).unwrap();
    symlink("../new", repository.join("crush.json")).unwrap();
    symlink("shared", repository.join(".vscode")).unwrap();
    let install = |agent: &str| {
        let mut command = env.command("mux");
        command.current_dir(&repository);
        output(command.args(["install", agent, "--project", "--command", "mux"]))
    };
    for agent in ["claude", "cursor", "crush"] {
        let text = install(agent).fails(1, &["remove the link"]).stderr.clone();
        assert!(
            text.contains("outside this project") || agent == "crush",
            "{text}"
        );
    }
    assert_eq!(fs::read_to_string(&own).unwrap(), "{\"token\": \"mine\"}");
    assert!(!env.path("new").exists() && !env.path(".cursor/mcp.json").exists());
    // A link within the project is the project's own decision.
    install("vscode").ok();
    assert!(repository.join("shared/mcp.json").exists());
    let names = fs::read_dir(&repository)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        names
            .into_iter()
            .all(|name| !name.to_str().unwrap().contains("backup"))
    );
}

#[test]
fn agents_install_lists_known_agents_if_none_is_found() {
    let env = without_agents();
    mux_snapshot!(env.mux(["install"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: no supported agent was found on this machine
      hint: name one: mux install claude, claude-desktop, cursor, vscode, codex, windsurf, opencode, zed, gemini, copilot, qwen, goose, crush, cline, kiro
    ");
    mux_snapshot!(env.mux(["install", "emacs"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value 'emacs' for '[AGENT]...'
      [possible values: claude, claude-desktop, cursor, vscode, codex, windsurf, opencode, zed, gemini, copilot, qwen, goose, crush, cline, kiro]

    For more information, try '--help'.
    ");
    mux_snapshot!(env.mux(["install", "cursor", "--name", "a b"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value 'a b' for '--name <NAME>': a name begins with a letter and contains only letters, digits, - and _

    For more information, try '--help'.
    ");
    mux_snapshot!(env.transcript(&[&["install", "--list"], &["install", "zed"]]), @r#"
    $ mux install --list
    success: true
    exit_code: 0
    ----- stdout -----
    claude         not found  ~/.claude.json
    claude-desktop not found  ~/.config/Claude/claude_desktop_config.json
    cursor         not found  ~/.cursor/mcp.json
    vscode         not found  ~/.config/Code/User/mcp.json
    codex          not found  ~/.codex/config.toml
    windsurf       not found  ~/.codeium/windsurf/mcp_config.json
    opencode       not found  ~/.config/opencode/opencode.json
    zed            not found  ~/.config/zed/settings.json
    gemini         not found  ~/.gemini/settings.json
    copilot        not found  ~/.copilot/mcp-config.json
    qwen           not found  ~/.qwen/settings.json
    goose          not found  ~/.config/goose/config.yaml
    crush          not found  ~/.config/crush/crush.json
    cline          not found  ~/.cline/data/settings/cline_mcp_settings.json
    kiro           not found  ~/.kiro/settings/mcp.json
    ----- stderr -----

    $ mux install zed
    success: true
    exit_code: 0
    ----- stdout -----
    Zed  ~/.config/zed/settings.json
    --- ~/.config/zed/settings.json
    +++ ~/.config/zed/settings.json
    @@ -0,0 +1,11 @@
    +{
    +  "context_servers": {
    +    "mux": {
    +      "command": "[BIN]/mux",
    +      "args": ["mcp"],
    +      "env": {
    +        "MUX_HOME": "[HOME]"
    +      }
    +    }
    +  }
    +}
    Zed does not seem to be installed
    `mux` added
    ----- stderr -----
    "#);
}

fn read(env: &TestEnv, place: &str) -> Value {
    serde_json::from_slice(&fs::read(env.path(place)).unwrap()).unwrap()
}
