//! `mux servers add`, `remove`, `enable`, `disable` edit the user's file without changing the rest of it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::{TestEnv, env::binary};

use super::{names, server};

/// A file with formatting and comments that an edit could lose.
const OURS: &str = "# my servers\n\n[limits]   # wide\nwall = '40s'\n\n\
                    # keep this one\n[servers.first]\ncommand = \"true\" # nothing\n\
                    args = [\n  \"a\", # one\n]\n\n[servers.second]\ncommand = 'true'\nenv = {B=\"2\",A='1'}\n";

fn text(env: &TestEnv) -> String {
    fs::read_to_string(env.dirs.config_file()).unwrap()
}

#[test]
fn config_edits_keep_everything_else_unchanged() {
    let env = TestEnv::with_config(OURS);
    fs::set_permissions(env.dirs.config_file(), fs::Permissions::from_mode(0o600)).unwrap();
    env.mux(["servers", "disable", "second"]).ok();
    assert_eq!(text(&env), format!("{OURS}enabled = false\n"));
    env.mux(["servers", "disable", "second"]).ok();
    env.mux(["servers", "enable", "second"]).ok();
    assert_eq!(text(&env), OURS);
    env.mux([
        "servers",
        "add",
        "third",
        "--no-connect",
        "--share",
        "user",
        "--",
        "true",
        "-v",
        "a b",
    ])
    .ok();
    let third = "[servers.third]\ncommand = \"true\"\nargs = [\"-v\", \"a b\"]\nshare = \"user\"\n";
    assert!(
        text(&env).starts_with(OURS) && text(&env).ends_with(third),
        "{}",
        text(&env)
    );
    env.mux(["servers", "remove", "third"]).ok();
    assert_eq!(text(&env), OURS);
    env.mux(["servers", "remove", "first"]).ok();
    assert!(text(&env).starts_with("# my servers\n\n[limits]   # wide\nwall = '40s'\n"));
    assert!(text(&env).ends_with("[servers.second]\ncommand = 'true'\nenv = {B=\"2\",A='1'}\n"));
    let mode = fs::metadata(env.dirs.config_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(env.daemon(), None, "no daemon is started for it");
}

#[test]
fn config_edits_are_applied_by_the_daemon_and_problems_reported() {
    let env = TestEnv::new();
    assert_eq!(names(&env), Vec::<String>::new());
    let fixture = binary("mux-fixture-server");
    let fixture = fixture.to_str().unwrap();
    let added = env.mux([
        "servers",
        "add",
        "fix",
        "--env",
        "TOKEN=s3cret-canary",
        "--",
        fixture,
    ]);
    let added = added.ok();
    assert!(!format!("{added:?}").contains("canary"), "{added:#?}");
    assert!(
        added
            .stdout
            .contains("a secret stored in `env` as MUX_FIX_TOKEN"),
        "{added:#?}"
    );
    assert!(added.stdout.contains("connected: "), "{added:#?}");
    assert!(added.stdout.contains(" tools in "), "{added:#?}");
    assert_eq!(server(&env, "fix")["starts"], 1);
    let token = env.mux(["call", "fix.env", "name=TOKEN"]).ok().stdout;
    assert_eq!(token.trim(), "s3cret-canary");
    let mode = fs::metadata(env.dirs.env_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    env.mux(["servers", "add", "fix", "--", "true"])
        .fails(1, &["there is a server `fix` already", "--replace"]);
    env.mux(["servers", "disable", "fix"]).ok();
    assert_eq!(server(&env, "fix")["state"], "disabled");
    env.mux(["call", "fix.pid"]).fails(1, &["no server `fix`"]);
    env.mux(["servers", "enable", "fix"]).ok();
    env.mux(["call", "fix.pid"]).ok();

    let broken = env.mux([
        "servers",
        "add",
        "web",
        "--url",
        "https://${NOT_SET_ANYWHERE}/mcp",
    ]);
    broken.fails(
        3,
        &[
            "`web` is added, but it does not start: the variable NOT_SET_ANYWHERE is not set",
            "`env` file",
        ],
    );
    let doctor = env
        .mux(["doctor"])
        .fails(1, &["write NOT_SET_ANYWHERE=… into "]);
    assert!(
        !doctor.stdout.contains("change [servers.web]"),
        "{doctor:?}"
    );
    let before = text(&env);
    let dry = env
        .mux(["servers", "remove", "web", "--dry-run", "--json"])
        .ok()
        .json();
    assert!(
        dry["diff"].as_str().unwrap().contains("-[servers.web]"),
        "{dry:#}"
    );
    assert_eq!(text(&env), before);
    let gone = env.mux(["servers", "remove", "web", "--json"]).ok().json();
    let backup = gone["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), before);
    assert_eq!(names(&env), ["fix"]);
}

#[test]
fn added_server_that_does_not_start_stays_and_says_why() {
    let env = TestEnv::new();
    let add = |args: &[&str]| env.mux(["servers", "add"].iter().chain(args));
    let failed = add(&["gone", "--", "no-such-program"]);
    let failed = failed.fails(
        3,
        &[
            "gone is added in ",
            "`gone` is added, but it does not start: `no-such-program` is not in PATH",
        ],
    );
    assert_eq!(failed.stderr.matches("not in PATH").count(), 1);
    assert_eq!(names(&env), ["gone"]);
    let document = add(&["far", "--url", "http://127.0.0.1:9/mcp", "--json"]);
    let document = document.fails(3, &[]).json();
    assert_eq!(
        (&document["ok"], &document["changed"]),
        (&false.into(), &true.into())
    );
    assert_eq!(document["error"]["kind"], "unavailable");
    let fixture = binary("mux-fixture-server");
    let fixture = fixture.to_str().unwrap();
    let document = add(&["fix", "--json", "--", fixture]).ok().json();
    assert_eq!(document["connected"]["state"], "ready", "{document:#}");
    assert!(document["connected"]["tools"].as_u64() > Some(20));
    let unconnected = add(&["later", "--no-connect", "--", "no-such-program"]).ok();
    assert!(!unconnected.stdout.contains("connected"), "{unconnected:?}");
}

#[test]
fn config_edits_that_fail_change_nothing() {
    let env = TestEnv::with_config(OURS);
    for (args, code, parts) in [
        (
            &["add", "call", "--", "x"][..],
            1,
            &["cannot be called", "call-server"][..],
        ),
        (&["add", "a.b", "--", "x"], 1, &["`a-b` is valid"]),
        (
            &["add", "web"],
            2,
            &[
                "needs a command or a URL",
                "`mux servers add NAME -- COMMAND ARG…`",
                "`mux servers add NAME --url URL`",
            ],
        ),
        (
            &["add", "web", "npx", "-y", "s3cret"],
            2,
            &[
                "unexpected argument 'npx'",
                "`mux servers add NAME -- COMMAND ARG…`",
                "`mux servers add NAME --url URL`",
            ],
        ),
        (
            &["add", "web", "--url", "https://h", "--", "x"],
            2,
            &["--url"],
        ),
        (&["add", "web", "--env", "A", "--", "x"], 2, &["NAME=VALUE"]),
        (
            &["add", "web", "--share", "all", "--", "x"],
            1,
            &["user, workspace"],
        ),
        (
            &["remove", "frist"],
            1,
            &["no [servers.frist]", "first, second"],
        ),
        (&["enable", "none"], 1, &["no [servers.none]"]),
    ] {
        let all = ["servers"].iter().chain(args);
        env.mux(all).fails(code, parts);
        assert_eq!(text(&env), OURS, "{args:?}");
    }
    env.write_config("[servers.a\n");
    env.mux(["servers", "add", "b", "--", "x"])
        .fails(1, &["was left alone", "line 1"]);
    assert_eq!(text(&env), "[servers.a\n");
}

#[test]
fn config_edits_follow_a_symlink() {
    let env = TestEnv::new();
    let target = env.path("dotfiles.toml");
    fs::write(&target, OURS).unwrap();
    std::os::unix::fs::symlink("dotfiles.toml", env.dirs.config_file()).unwrap();
    env.mux(["servers", "disable", "first"]).ok();
    let linked = fs::symlink_metadata(env.dirs.config_file()).unwrap();
    assert!(linked.is_symlink());
    assert!(
        fs::read_to_string(&target)
            .unwrap()
            .contains("enabled = false")
    );
}
