//! Mistakes in the configuration file as a whole, and in its entries.

use std::{fmt::Write as _, fs};

use mux_tests::{CommandTranscript, TestEnv, mux_snapshot};

use super::{command, problems, server};

#[test]
fn config_missing_or_empty_is_valid_with_a_hint() {
    let mut transcript = CommandTranscript::default();
    for text in [None, Some(""), Some("# nothing yet\n")] {
        let env = TestEnv::new();
        if let Some(text) = text {
            env.write_config(text);
        }
        transcript.add(format!("mux servers, of {text:?}"), &env.mux(["servers"]));
        assert_eq!(env.result("return Object.keys(mux).length"), 0);
        transcript.add("mux call files.read", &env.mux(["call", "files.read"]));
        assert_eq!(problems(&env).len(), 0);
    }
    mux_snapshot!(transcript, @r##"
    $ mux servers, of None
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no server is configured; add one to ~/config.toml:

    [servers.files]
    command = "mcp-server-filesystem"
    args = ["/home/me/notes"]

    then run `mux reload`

    $ mux call files.read
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `files`
      hint: no server is configured; see `mux servers`, and `mux status` if there should be one

    $ mux servers, of Some("")
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no server is configured; add one to ~/config.toml:

    [servers.files]
    command = "mcp-server-filesystem"
    args = ["/home/me/notes"]

    then run `mux reload`

    $ mux call files.read
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `files`
      hint: no server is configured; see `mux servers`, and `mux status` if there should be one

    $ mux servers, of Some("# nothing yet\n")
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    no server is configured; add one to ~/config.toml:

    [servers.files]
    command = "mcp-server-filesystem"
    args = ["/home/me/notes"]

    then run `mux reload`

    $ mux call files.read
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `files`
      hint: no server is configured; see `mux servers`, and `mux status` if there should be one
    "##);
}

#[test]
fn config_that_cannot_be_parsed_is_reported_by_a_running_daemon() {
    let good = command();
    let mut transcript = CommandTranscript::default();
    for text in [
        b"[servers.a\n".to_vec(),
        format!("[servers.a]\n{good}[servers.a]\n{good}").into(),
        b"servers = 3\n".to_vec(),
        b"[policy]\nmatch = \"a.b\"\n".to_vec(),
        b"[limits]\nwal = 3\n".to_vec(),
        b"a = \"\xff\xfe\"\n".to_vec(),
    ] {
        let env = TestEnv::new();
        fs::write(env.dirs.config_file(), &text).unwrap();
        transcript.add("mux servers", &env.mux(["servers"]));
        let status = env.mux(["status"]).ok();
        transcript.add("mux reload", &env.mux(["reload"]));
        let problem = problems(&env).remove(0);
        let first_line = problem.lines().next().unwrap();
        assert!(status.stderr.contains(first_line), "{status:#?}");
        // Programs without servers work, and everything does once the file is valid.
        env.run("return 1").ok();
        env.write_config(&env.fixture("fix", &[]));
        env.mux(["reload"]).ok();
        env.mux(["call", "fix.pid"]).ok();
        assert_eq!(problems(&env).len(), 0);
    }
    mux_snapshot!("unparsable", transcript);
}

#[test]
fn config_that_is_a_directory_is_reported() {
    let env = TestEnv::new();
    fs::create_dir(env.dirs.config_file()).unwrap();
    mux_snapshot!(problems(&env).join("\n"), @"cannot read [HOME]/config.toml: Is a directory (os error 21)");
}

/// Invalid entries.
const ENTRIES: &[&str] = &[
    "[servers.a]\ncomand = \"x\"",
    "[servers.a]\nzzz = 1",
    "[servers.a]\ncommand = \"x\"\ntools = { exlude = [] }",
    "[servers.a]",
    "[servers.a]\ncommand = \"\"",
    "[servers.a]\ncommand = 3",
    "[servers.a]\ncommand = \"x\"\nargs = \"y\"",
    "[servers.a]\ncommand = \"x\"\nenv = { A = 1 }",
    "[servers]\na = \"x\"",
    "[servers.a]\nurl = \"ftp://example.com\"",
    "[servers.a]\nurl = \"https://example.com\"\nargs = [\"x\"]",
    "[servers.a]\nurl = \"https://example.com\"\noauth = { client_id = \"a\", client_secret = \"b\", auth = \"private_key_jwt\" }",
    "[servers.a]\nurl = \"https://example.com\"\noauth = { client_id = \"a\", auth = \"post\" }",
    "[servers.a]\nurl = \"https://example.com\"\noauth = { share = \"two\" }",
    "[servers.a]\ncommand = \"x\"\nshare = \"all\"",
    "[servers.a]\ncommand = \"${NOT_SET_ANYWHERE}\"",
    "[servers.a]\ncommand = \"x\"\ncall_timeout = \"soon\"",
    "[servers.\"a.b\"]\ncommand = \"x\"",
    "[servers.\"1a\"]\ncommand = \"x\"",
    "[servers.\"\"]\ncommand = \"x\"",
    "[servers.a-b]\ncommand = \"x\"\n[servers.a_b]\ncommand = \"x\"",
];

const RESERVED: [&str; 12] = [
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
    let reserved = RESERVED.map(|name| format!("[servers.{name}]\ncommand = \"x\""));
    let mut output = String::new();
    for entry in ENTRIES
        .iter()
        .copied()
        .chain(reserved.iter().map(String::as_str))
    {
        env.write_config(&format!("{entry}{good}"));
        env.mux(["reload"]).ok();
        _ = write!(
            output,
            "{entry}\n- problems: {}\n",
            problems(&env).join("\n")
        );
        // The server's entry and the error of a call have the same reason.
        let servers = env.mux(["servers", "--json"]).ok().json();
        let broken = servers
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["state"] == "broken");
        let broken = broken.unwrap_or_else(|| panic!("{entry}: {servers:#}"));
        _ = writeln!(output, "- servers: {}", broken["reason"].as_str().unwrap());
        let name = broken["name"].as_str().unwrap();
        if !name.is_empty() && !name.contains('.') {
            let called = env.mux(["call", &format!("{name}.echo")]).fails(3, &[]);
            _ = write!(output, "- call: {}", called.stderr);
        }
        env.mux(["call", "good.pid"]).ok();
        output.push('\n');
    }
    mux_snapshot!("entries", output);
    assert_eq!(server(&env, "good")["starts"], 1, "it was never touched");
}

#[test]
fn config_unknown_keys_are_reported() {
    let env = TestEnv::with_config("[server.a]\ncommand = \"x\"\n[lmits]\n[agents.a]\nlimit = 1\n");
    mux_snapshot!(problems(&env).join("\n"), @"
    unknown key `server` (did you mean `servers`?) is ignored
    unknown key `lmits` (did you mean `limits`?) is ignored
    [agents.a] unknown key `limit` (did you mean `limits`?) is ignored
    ");
}
