//! Mistakes in the configuration file as a whole, and in its entries.

use std::fs;

use mux_tests::TestEnv;

use super::{command, problems, server};

#[test]
fn config_missing_or_empty_is_valid_with_a_hint() {
    for text in [None, Some(""), Some("# nothing yet\n")] {
        let env = TestEnv::new();
        if let Some(text) = text {
            env.write_config(text);
        }
        let output = env.mux(["servers"]).ok();
        let config = env.dirs.config_file();
        for part in [
            "no server is configured",
            config.to_str().unwrap(),
            "[servers.",
        ] {
            assert!(output.stderr.contains(part), "{part:?} in {output:#?}");
        }
        assert_eq!(env.result("return Object.keys(mux).length"), 0);
        env.mux(["call", "files.read"]).fails(
            1,
            &[
                "no server `files`",
                "no server is configured; see `mux servers`",
            ],
        );
        assert_eq!(problems(&env).len(), 0);
    }
}

#[test]
fn config_that_cannot_be_parsed_is_reported_by_a_running_daemon() {
    let good = command();
    for (text, parts) in [
        (b"[servers.a\n".to_vec(), &["not valid TOML", "line 1"][..]),
        (
            format!("[servers.a]\n{good}[servers.a]\n{good}").into(),
            &["line 3", "duplicate key"],
        ),
        (b"servers = 3\n".to_vec(), &["`servers` must be tables"]),
        (
            b"[policy]\nmatch = \"a.b\"\n".to_vec(),
            &["`policy` must be rules: [[policy]]"],
        ),
        (
            b"[limits]\nwal = 3\n".to_vec(),
            &["limits", "`wal`", "`wall`"],
        ),
        (b"a = \"\xff\xfe\"\n".to_vec(), &["cannot read", "UTF-8"]),
    ] {
        let env = TestEnv::new();
        fs::write(env.dirs.config_file(), &text).unwrap();
        let shown = env.mux(["servers"]).ok();
        let told = env.mux(["status"]).ok();
        for part in parts {
            assert!(shown.stderr.contains(part), "{part:?} in {shown:#?}");
            assert!(told.stderr.contains(part), "{part:?} in {told:#?}");
        }
        assert!(
            !shown.stderr.contains("no server is configured"),
            "{shown:#?}"
        );
        // Programs without servers work, and everything does once the file is valid.
        env.run("return 1").ok();
        env.mux(["reload"]).fails(1, parts);
        env.write_config(&env.fixture("fix", &[]));
        env.mux(["reload"]).ok();
        env.mux(["call", "fix.pid"]).ok();
        assert_eq!(problems(&env).len(), 0);
    }
}

#[test]
fn config_that_is_a_directory_is_reported() {
    let env = TestEnv::new();
    fs::create_dir(env.dirs.config_file()).unwrap();
    assert!(
        problems(&env)[0].contains("cannot read"),
        "{:?}",
        problems(&env)
    );
}

/// Invalid entries, each with a part of the reason.
const ENTRIES: &[(&str, &str)] = &[
    (
        "[servers.a]\ncomand = \"x\"",
        "unknown key `comand` (did you mean `command`?)",
    ),
    ("[servers.a]\nzzz = 1", "unknown key `zzz` (known: command,"),
    (
        "[servers.a]\ncommand = \"x\"\ntools = { exlude = [] }",
        "did you mean `tools.exclude`",
    ),
    ("[servers.a]", "`command` is missing"),
    ("[servers.a]\ncommand = \"\"", "empty"),
    ("[servers.a]\ncommand = 3", "in `command`"),
    ("[servers.a]\ncommand = \"x\"\nargs = \"y\"", "in `args`"),
    (
        "[servers.a]\ncommand = \"x\"\nenv = { A = 1 }",
        "in `env.A`",
    ),
    ("[servers]\na = \"x\"", "must be a table"),
    (
        "[servers.a]\nurl = \"ftp://example.com\"",
        "http:// or https://",
    ),
    (
        "[servers.a]\nurl = \"https://example.com\"\nargs = [\"x\"]",
        "`args` requires `command`",
    ),
    (
        "[servers.a]\ncommand = \"x\"\nshare = \"all\"",
        "none of user, workspace, client, run",
    ),
    (
        "[servers.a]\ncommand = \"${NOT_SET_ANYWHERE}\"",
        "variable NOT_SET_ANYWHERE is not set",
    ),
    (
        "[servers.a]\ncommand = \"x\"\ncall_timeout = \"soon\"",
        "not a duration",
    ),
    (
        "[servers.\"a.b\"]\ncommand = \"x\"",
        "must match [A-Za-z][A-Za-z0-9_-]*",
    ),
    ("[servers.\"1a\"]\ncommand = \"x\"", "must match"),
    ("[servers.\"\"]\ncommand = \"x\"", "must match"),
    (
        "[servers.a-b]\ncommand = \"x\"\n[servers.a_b]\ncommand = \"x\"",
        "would both be `mux.a_b`",
    ),
];

const RESERVED: &[&str] = &[
    "call",
    "search",
    "describe",
    "catalog",
    "discover",
    "resources",
    "prompts",
    "input",
    "emit",
    "read",
    "then",
    "constructor",
];

#[test]
fn config_mistake_in_an_entry_breaks_only_that_entry() {
    let env = TestEnv::new();
    let good = format!("\n[servers.good]\n{}", command());
    let reserved: Vec<(String, String)> = RESERVED
        .iter()
        .map(|name| {
            (
                format!("[servers.{name}]\ncommand = \"x\""),
                format!("`{name}` is reserved"),
            )
        })
        .collect();
    let all = ENTRIES.iter().copied().chain(
        reserved
            .iter()
            .map(|(entry, part)| (entry.as_str(), part.as_str())),
    );
    for (entry, part) in all {
        env.write_config(&format!("{entry}{good}"));
        env.mux(["reload"]).ok();
        let found = problems(&env);
        assert!(
            found.iter().any(|p| p.contains(part)),
            "{entry}: {part:?} in {found:?}"
        );
        // The server's entry and the error of a call have the same reason.
        let servers = env.mux(["servers", "--json"]).ok().json();
        let broken = servers
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["state"] == "broken");
        let broken = broken.unwrap_or_else(|| panic!("{entry}: {servers:#}"));
        assert!(
            broken["reason"].as_str().unwrap().contains(part),
            "{entry}: {broken:#}"
        );
        let name = broken["name"].as_str().unwrap();
        if !name.is_empty() && !name.contains('.') {
            env.mux(["call", &format!("{name}.echo")])
                .fails(3, &["error[unavailable]", part, "run `mux reload`"]);
        }
        env.mux(["call", "good.pid"]).ok();
    }
    assert_eq!(server(&env, "good")["starts"], 1, "it was never touched");
}

#[test]
fn config_unknown_keys_are_reported() {
    let env = TestEnv::with_config("[server.a]\ncommand = \"x\"\n[lmits]\n[agents.a]\nlimit = 1\n");
    let found = problems(&env);
    for part in [
        "unknown key `server` (did you mean `servers`?) is ignored",
        "[agents.a] unknown key `limit` (did you mean `limits`?) is ignored",
        "unknown key `lmits` (did you mean `limits`?) is ignored",
    ] {
        assert!(found.iter().any(|p| p == part), "{part:?} in {found:?}");
    }
}
