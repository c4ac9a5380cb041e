//! Secrets in agents' files reach only the imported servers.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use mux_tests::{TestEnv, env::binary, mux_snapshot};
use serde_json::json;

use super::write;

const SECRET: &str = "s3cret $5 $$ \"quoted\" #1";

#[test]
fn agents_import_passes_secrets_only_to_the_server() {
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
    let report = env.mux(["import"]);
    mux_snapshot!(report, @"
    success: true
    exit_code: 0
    ----- stdout -----
    Claude Code  ~/.claude.json
      my fixture added as my_fixture
        a secret stored in `env` as MUX_MY_FIXTURE_API_TOKEN
        a secret stored in `env` as MUX_MY_FIXTURE_ARG_4
      mux skipped
        it is mux itself
    1 server written to ~/config.toml
    backup: ~/config.toml.mux-backup-[DATE]
    muxd has loaded it
    ----- stderr -----
    ");
    let again = env.mux(["import", "--json"]).ok();
    let statuses = again.json()["servers"].clone();
    assert_eq!(
        (&statuses[0]["status"], &statuses[1]["status"]),
        (&json!("same"), &json!("skipped"))
    );

    // The running daemon serves the server with its variables.
    let call = |name: &str| {
        let output = env.mux(["call", "my_fixture.env", &format!("name={name}")]);
        output.stdout.trim_end().to_owned()
    };
    assert_eq!(call("API_TOKEN"), SECRET);
    assert_eq!(call("PLAIN"), "costs $5");
    assert_eq!(call("HOME_TOO"), env.home().to_str().unwrap());

    let status = env.mux(["status", "--json"]).ok();
    let servers = env.mux(["servers", "--json"]).ok();
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(servers.stdout.contains("my_fixture"), "{servers:#?}");
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

/// `length` letters and digits, mixed as in a key.
fn filler(length: usize) -> String {
    "k9Qz3VxB7mTr1HjW5nYc"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

/// Every file below a folder, except those in `but`.
fn files(folder: &Path, but: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path(), but));
        } else if kind.is_file() && !but.contains(&entry.path()) {
            found.push(entry.path());
        }
    }
    found
}

/// Import, status, errors, logs and recordings share one table of secret patterns, so all must mask the same
/// strings. The tokens are assembled at run time, because secret scanners would report this file otherwise.
#[test]
fn secrets_of_all_kinds_are_masked_in_all_output_and_files() {
    let env = TestEnv::new();
    let token = |prefix: &str, length| format!("{prefix}{}", filler(length));
    let option = token("ghp_", 36);
    let given = token("glpat-", 20);
    let alone = token("sk-ant-api03-", 95);
    let variable = token("xoxb-", 52);
    let plain_name = token("figd_", 40);
    let header = token("hf_", 34);
    let in_path = format!("aZ81k{}", filler(20));
    let stranger = token("npm_", 36);
    let secrets = [
        option.as_str(),
        &given,
        &alone,
        &variable,
        &plain_name,
        &header,
        &in_path,
        "db-p4ssw0rd",
        "url-p4ssw0rd",
        "query-s3cret",
        "env-p4ssw0rd",
        "added-s3cret",
        "typed-s3cret",
    ];
    // The server prints its arguments and environment, and a token that is not configured anywhere.
    let script = format!("env >&2; echo \"$* {stranger}\" >&2; exit 3\n");
    let script = write(&env, "says.sh", script);
    let says = json!({
        "command": "/bin/sh",
        "args": [
             script, "--token", option, format!("--api-key={given}"), alone,
            "postgres://app:db-p4ssw0rd@db.test/main", "--max-tokens", "4096",
        ],
        "env": { "SLACK": variable, "MODE": plain_name, "DB_PASSWORD": "env-p4ssw0rd", "MAX_TOKENS": "4096" },
    });
    let far = json!({
        "type": "http",
        "url": format!("http://me:url-p4ssw0rd@127.0.0.1:1/s/{in_path}/mcp?api_key=query-s3cret"),
        "headers": { "Authorization": format!("Bearer {header}") },
    });
    let fix =
        json!({ "command": binary("mux-fixture-server"), "env": { "API_TOKEN": "typed-s3cret" } });
    let file = json!({ "mcpServers": { "says": says, "far": far, "fix": fix } });
    let theirs = write(&env, ".claude.json", file.to_string());
    let recording = env.path("run.muxrec");
    let added = binary("mux-fixture-server");
    let program = format!(
        "const token = await mux.fix.env({{ name: 'API_TOKEN' }});\n\
         await mux.fix.echo({{ text: 'refused: ' + ['npm', '_{}'].join('') }});\n\
         return token.length",
        filler(36)
    );

    let record = recording.to_str().unwrap();
    let edits: [&[&str]; 4] = [
        &["import", "--dry-run"],
        &["import"],
        &["import", "--json"],
        &[
            "servers",
            "add",
            "mine",
            "--",
            added.to_str().unwrap(),
            "--name",
            "mine",
            "--secret=added-s3cret",
        ],
    ];
    let commands: [&[&str]; 15] = [
        &["status"],
        &["servers"],
        &["call", "says.anything"],
        &["call", "far.anything"],
        &["run", "-e", "return await mux.says.anything()"],
        &["run", "-e", "return await mux.far.anything()"],
        &["run", "-e", &program, "--record", record],
        &["servers", "restart", "says"],
        &["tools"],
        &["doctor"],
        &["reload"],
        &["runs"],
        &["logs", "--daemon"],
        &["secrets"],
        &["audit", "-n", "100"],
    ];
    let mut said = Vec::new();
    for command in edits {
        said.push((command, env.mux(command)));
    }
    for command in commands {
        said.push((command, env.mux(command)));
        if !command.contains(&"--record") {
            said.push((command, env.mux([&["--json"], command].concat())));
        }
    }
    for (command, output) in &said {
        assert_ne!(
            output.code, 2,
            "a command that does not exist: {command:?} {output:?}"
        );
        let text = format!("{output:?}");
        for secret in secrets.iter().chain([&stranger.as_str()]) {
            assert!(!text.contains(secret), "{command:?} shows {secret}: {text}");
        }
    }
    // Plain values are shown, and secrets are masked.
    let all: String = said
        .iter()
        .map(|(_, output)| format!("{output:?}"))
        .collect();
    assert!(all.contains("--max-tokens 4096"), "{all}");
    assert!(
        all.contains("--token ***") && all.contains("MAX_TOKENS=4096"),
        "{all}"
    );
    let config = fs::read_to_string(env.dirs.config_file()).unwrap();
    assert!(
        config.contains("\"4096\"") && config.contains("${MUX_SAYS_"),
        "{config}"
    );
    let recorded = fs::read_to_string(&recording).unwrap();
    assert!(recorded.contains("refused: ***"), "{recorded}");

    env.stop();
    let may_hold = [
        theirs,
        env.path("says.sh"),
        env.dirs.env_file(),
        env.dirs.server_log("says"),
    ];
    let kept = files(env.home(), &may_hold);
    assert!(kept.contains(&recording) && kept.len() > 5, "{kept:?}");
    for file in kept {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        for secret in secrets.iter().chain([&stranger.as_str()]) {
            assert!(!text.contains(secret), "{} holds {secret}", file.display());
        }
    }
}
