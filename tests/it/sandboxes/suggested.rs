//! `mux servers sandbox`: the grants of a sandbox, and the sandbox that an observed session
//! suggests.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::{Kind, SuggestSandboxRequest};
use mux_tests::{
    TestEnv,
    env::{binary, npm, pypi},
};
use serde_json::Value;

use super::{attempt, has_bubblewrap, server};
use crate::ui::page::drive;

/// Observes a server while `used` uses it, and returns the document that `mux` prints.
pub(super) fn suggested(env: &TestEnv, name: &str, options: &[&str], used: impl FnOnce()) -> Value {
    // The log is waited for, and it takes a daemon.
    env.mux(["servers"]).ok();
    let mut observing = env.command("mux");
    observing
        .args([
            "--json",
            "servers",
            "sandbox",
            name,
            "--suggest",
            "--for",
            "1h",
        ])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut observing = observing.spawn().unwrap();
    env.until_logged(&format!("observation of `{name}` begins"));
    used();
    writeln!(observing.stdin.take().unwrap()).unwrap();
    let output = observing.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:#?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn profile_names_what_a_sandbox_contains_and_what_it_denied() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    fs::create_dir(env.path("notes")).unwrap();
    env.write_config(&server(
        "{ read = [\"~/notes\"], network = [\"a.example:443\"], memory = \"64MiB\" }",
    ));
    assert!(attempt(&env, "proxied", "http://other.example/").contains("403"));
    let shown = env.mux(["servers", "sandbox", "box"]).ok().stdout;
    let program = binary("mux-fixture-server").display().to_string();
    for part in [
        "box runs in a sandbox",
        "enforces namespaces, landlock, seccomp, limits",
        "a.example:443",
        "processes and threads: 256",
        "a connection to other.example:80",
        &program,
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let document = env.mux(["--json", "servers", "sandbox", "box"]).ok().json();
    assert_eq!(document["memory"], 64 << 20);
    assert_eq!(document["empty_home"], true);
    env.mux(["servers", "sandbox", "nothing"])
        .fails(1, &["nothing"]);
}

#[test]
fn files_that_errors_name_are_listed_as_denied() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    for folder in ["notes", "private"] {
        fs::create_dir(env.path(folder)).unwrap();
        fs::write(env.path(folder).join("a.txt"), "text").unwrap();
    }
    let notes = env.path("notes");
    env.write_config(&server(&format!("{{ read = [{notes:?}] }}")));
    let at = |name: &str| env.path(name).display().to_string();
    let private = at("private/a.txt");
    let granted = at("notes/a.txt");
    let missing = at("none");
    let message = format!("ENOENT: open '{private}' or {granted} or {missing}");
    let arguments = serde_json::json!({ "message": message }).to_string();
    for _ in 0..2 {
        let failed = env.mux(["call", "box.fail", &arguments]);
        failed.fails(
            1,
            &["`mux servers sandbox box` shows the user what it has denied"],
        );
    }
    // An error is the same for an existing and a missing file.
    let hint_about = |path: &str| {
        let message = format!("ENOENT: open '{path}'");
        let arguments = serde_json::json!({ "message": message }).to_string();
        let failed = env.mux(["call", "box.fail", &arguments]).fails(1, &[]);
        failed.stderr.replace(path, "PATH")
    };
    assert_eq!(hint_about(&missing), hint_about(&at("private")));
    let shown = env.mux(["servers", "sandbox", "box"]).ok().stdout;
    assert!(
        shown.contains(&format!("{private}, which 2 errors name")),
        "{shown}"
    );
    assert!(!shown.contains(&format!("{granted}, which")), "{shown}");
    assert!(!shown.contains(&missing), "{shown}");
    drive("sandbox", &env);
    let log = env.mux(["servers", "logs", "box"]).ok().stdout;
    let logged = format!("an error names {private}, which it does not contain");
    assert_eq!(log.matches(&logged).count(), 1, "{log}");
}

#[test]
fn error_that_names_a_denied_path_in_any_words_mentions_the_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    fs::create_dir(env.path("private")).unwrap();
    fs::write(env.path("private/a.txt"), "text").unwrap();
    let database = env.path("private/new.db");
    let script = "echo unable to open database file >&2; exit 1";
    env.write_config(&format!(
        "{}[servers.base]\ncommand = \"/bin/sh\"\nargs = [\"-c\", {script:?}, \"sh\", \"--db={}\"]\nsandbox = true\n",
        server("{}"),
        database.display()
    ));
    let fails = |message: String| {
        let arguments = serde_json::json!({ "message": message }).to_string();
        env.mux(["call", "box.fail", &arguments])
    };
    let hint = "the server runs in a sandbox, which may be why";
    let private = env.path("private").display().to_string();
    fails(format!("Directory does not exist: {private}")).fails(1, &[hint]);
    let other = fails("the argument is not a directory".into()).fails(1, &[]);
    assert!(!other.stderr.contains(hint), "{other:?}");
    let named = format!(
        "it does not contain {}, which `args` names",
        database.display()
    );
    env.mux(["call", "base.x"]).fails(3, &[hint, &named]);
}

#[test]
fn suggestion_that_would_be_refused_says_so() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    env.write_config(&server("{}"));
    // The daemon finds no bubblewrap, which a list of hosts needs.
    let path = env.path("bin");
    fs::create_dir(&path).unwrap();
    let mut start = env.command("mux");
    start.env("PATH", &path).args(["servers"]);
    assert!(start.status().unwrap().success());
    let document = suggested(&env, "box", &[], || {
        attempt(&env, "proxied", "http://host.invalid/");
    });
    assert_eq!(
        document["sandbox"]["network"],
        serde_json::json!(["host.invalid:80"])
    );
    let remarks = document["remarks"].to_string();
    assert!(remarks.contains("does not start"), "{document}");
    assert!(remarks.contains("install bubblewrap"), "{document}");
}

#[test]
fn suggestion_names_folders_and_hosts_and_leaves_secrets_out() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    for folder in ["notes", "out", ".ssh"] {
        fs::create_dir_all(env.path(folder)).unwrap();
    }
    fs::write(env.path("notes/a.txt"), "text").unwrap();
    fs::write(env.path(".ssh/id"), "secret").unwrap();
    // The server has a sandbox, and is observed without it.
    env.write_config(&server("{ memory = \"64MiB\" }"));
    let at = |name: &str| env.path(name).display().to_string();
    assert!(attempt(&env, "read", &at("notes/a.txt")).starts_with("refused"));
    let document = suggested(&env, "box", &[], || {
        let read = attempt(&env, "read", &at("notes/a.txt"));
        assert_eq!(read, "got through: 4 bytes");
        attempt(&env, "write", &at("out/b.txt"));
        attempt(&env, "read", &at(".ssh/id"));
        attempt(&env, "proxied", "http://host.invalid/");
    });
    let entry = &document["sandbox"];
    assert_eq!(entry["read"], serde_json::json!(["~/notes"]), "{document}");
    assert_eq!(entry["write"], serde_json::json!(["~/out"]), "{document}");
    assert_eq!(
        entry["network"],
        serde_json::json!(["host.invalid:80"]),
        "{document}"
    );
    assert_eq!(entry["memory"], "64MiB");
    assert!(
        document["remarks"].to_string().contains(".ssh"),
        "{document}"
    );
    // The server is in its sandbox again.
    assert!(attempt(&env, "read", &at("notes/a.txt")).starts_with("refused"));
    // The log has all lines when the daemon has ended.
    env.stop();
    let audit = env.mux(["--json", "audit"]).ok().stdout;
    assert!(audit.contains("server_observed"), "{audit}");
}

#[tokio::test]
async fn client_for_agents_cannot_take_a_server_out_of_its_sandbox() {
    let env = TestEnv::new();
    env.write_config(&server("true"));
    let identity = ClientIdentity::new("some-agent", "0");
    let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity);
    let session = session.await.unwrap();
    let request = SuggestSandboxRequest {
        server: "box".into(),
        observe_ms: 60_000,
    };
    let suggested = session.client.suggest_sandbox(within_seconds(60), request);
    let error = suggested.await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Denied);
    assert!(error.hint.unwrap().contains("--suggest"));
}

#[test]
fn observation_ends_with_the_command() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("a.txt"), "text").unwrap();
    env.write_config(&server("{}"));
    env.mux(["servers"]).ok();
    let mut observing = env.command("mux");
    observing
        .args(["servers", "sandbox", "box", "--suggest", "--for", "1h"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut observing = observing.spawn().unwrap();
    let mut said = BufReader::new(observing.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    env.until_logged("observation of `box` begins");
    observing.kill().unwrap();
    observing.wait().unwrap();
    env.until_logged("observation of `box` ends");
    let met = attempt(&env, "read", &env.path("a.txt").display().to_string());
    assert!(met.starts_with("refused"), "{met}");
}

#[test]
fn real_servers_work_in_the_sandbox_that_is_suggested() {
    if !has_bubblewrap() {
        return;
    }
    let env = TestEnv::new();
    for folder in ["files", "graph", "repo"] {
        fs::create_dir(env.path(folder)).unwrap();
    }
    fs::write(env.path("files/a.txt"), "granted").unwrap();
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(env.path("repo"))
        .status();
    assert!(git.unwrap().success());
    let at = |name: &str| env.path(name).to_str().unwrap().to_owned();
    let entry = mux_tests::env::server;
    let files = entry("files", &npm("mcp-server-filesystem"), &[&at("files")]);
    let memory = entry("memory", &npm("mcp-server-memory"), &[]);
    let git = entry("git", &pypi("mcp-server-git"), &[]);
    let plain = [
        entry("everything", &npm("mcp-server-everything"), &[]),
        entry("thinking", &npm("mcp-server-sequential-thinking"), &[]),
        entry("time", &pypi("mcp-server-time"), &[]),
    ]
    .concat();
    env.write_config(&format!(
        "[sandbox]\nmode = \"enforce\"\n{files}roots = \"none\"\n\
         {memory}env = {{ MEMORY_FILE_PATH = {:?} }}\n{git}{plain}",
        at("graph/memory.jsonl")
    ));
    let entities = r#"{"entities":[{"name":"a","entityType":"b","observations":["c"]}]}"#;
    let thought =
        r#"{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}"#;
    let calls = [
        ("everything", "everything.echo", "message=a".to_owned()),
        (
            "thinking",
            "thinking.sequentialthinking",
            thought.to_owned(),
        ),
        (
            "time",
            "time.get_current_time",
            "timezone=Europe/Berlin".to_owned(),
        ),
        (
            "files",
            "files.read_text_file",
            format!("path={}", at("files/a.txt")),
        ),
        ("memory", "memory.create_entities", entities.to_owned()),
        ("git", "git.git_status", format!("repo_path={}", at("repo"))),
    ];
    for (name, tool, arguments) in &calls {
        suggested(&env, name, &["--write"], || {
            env.mux(["call", tool, arguments]).ok();
        });
        let shown = env.mux(["--json", "servers", "sandbox", name]).ok().json();
        assert_eq!(shown["sandbox"]["state"], "on", "{shown}");
        assert_eq!(shown["sandbox"]["network"], "none", "{shown}");
        env.mux(["call", tool, arguments]).ok();
    }
    // The written file is there, and not in the empty home.
    assert!(env.path("graph/memory.jsonl").exists());
}
