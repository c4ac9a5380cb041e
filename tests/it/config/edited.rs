//! `mux servers add`, `remove`, `enable`, `disable` edit the user's file without changing the rest of it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use mux_tests::{CommandTranscript, TestEnv, env::binary, mux_snapshot};

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
    assert!(!format!("{added:?}").contains("canary"), "{added:#?}");
    mux_snapshot!(added, @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -0,0 +1,3 @@
    +[servers.fix]
    +command = "[BIN]/mux-fixture-server"
    +env = { TOKEN = "${MUX_FIX_TOKEN}" }
    a secret is stored in `env` as MUX_FIX_TOKEN
    fix is added in ~/config.toml
    connected: [COUNT] tools in [DURATION]
    ----- stderr -----
    "#);
    assert_eq!(server(&env, "fix")["starts"], 1);
    let token = env.mux(["call", "fix.env", "name=TOKEN"]).ok().stdout;
    assert_eq!(token.trim(), "s3cret-canary");
    let mode = fs::metadata(env.dirs.env_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    mux_snapshot!(env.mux(["servers", "add", "fix", "--", "true"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: a server named `fix` already exists
      hint: --replace overwrites it
    ");
    env.mux(["servers", "disable", "fix"]).ok();
    assert_eq!(server(&env, "fix")["state"], "disabled");
    mux_snapshot!(env.mux(["call", "fix.pid"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no server `fix`
      hint: no server is configured; see `mux servers`, and `mux status` if there should be one
    ");
    env.mux(["servers", "enable", "fix"]).ok();
    env.mux(["call", "fix.pid"]).ok();

    let broken = env.mux([
        "servers",
        "add",
        "web",
        "--url",
        "https://${NOT_SET_ANYWHERE}/mcp",
    ]);
    mux_snapshot!(broken, @r#"
    success: false
    exit_code: 3
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -2,2 +2,5 @@
     command = "[BIN]/mux-fixture-server"
     env = { TOKEN = "${MUX_FIX_TOKEN}" }
    +
    +[servers.web]
    +url = "https://${NOT_SET_ANYWHERE}/mcp"
    web is added in ~/config.toml
    ----- stderr -----
    error[unavailable]: `web` is added, but it does not start: the variable NOT_SET_ANYWHERE is not set; set it in the `env` file next to config.toml
      hint: correct it; a saved change takes effect immediately, or run `mux reload`
    "#);
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
    mux_snapshot!(failed, @r#"
    success: false
    exit_code: 3
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -0,0 +1,2 @@
    +[servers.gone]
    +command = "no-such-program"
    gone is added in ~/config.toml
    ----- stderr -----
    error[unavailable]: `gone` is added, but it does not start: `no-such-program` is not in PATH
      hint: install it, or write its full path as `command` in [servers.gone]
    "#);
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
    mux_snapshot!(add(&["later", "--no-connect", "--", "no-such-program"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -7,2 +7,5 @@
     [servers.fix]
     command = "[BIN]/mux-fixture-server"
    +
    +[servers.later]
    +command = "no-such-program"
    later is added in ~/config.toml
    muxd has loaded it
    ----- stderr -----
    "#);
}

#[test]
fn config_edits_that_fail_change_nothing() {
    let env = TestEnv::with_config(OURS);
    let mut transcript = CommandTranscript::default();
    for args in [
        &["add", "call", "--", "x"][..],
        &["add", "a.b", "--", "x"],
        &["add", "web"],
        &["add", "web", "npx", "-y", "s3cret"],
        &["add", "web", "--url", "https://h", "--", "x"],
        &["add", "web", "--env", "A", "--", "x"],
        &["add", "web", "--share", "all", "--", "x"],
        &["remove", "frist"],
        &["enable", "none"],
    ] {
        let output = env.mux(["servers"].iter().chain(args));
        transcript.add(format!("mux servers {}", args.join(" ")), &output);
        assert_eq!(text(&env), OURS, "{args:?}");
    }
    mux_snapshot!(transcript, @r#"
    $ mux servers add call -- x
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: "call" is not a valid server name
      hint: `call-server` is valid

    $ mux servers add a.b -- x
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: "a.b" is not a valid server name
      hint: `a-b` is valid

    $ mux servers add web
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: a server needs a command or a URL
      hint: `mux servers add NAME -- COMMAND ARG…`, or `mux servers add NAME --url URL`

    $ mux servers add web npx -y s3cret
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unexpected argument 'npx' found

      tip: `mux servers add NAME -- COMMAND ARG…`, or `mux servers add NAME --url URL`

    Usage: mux servers add [OPTIONS] <NAME> [-- <COMMAND>...]

    For more information, try '--help'.

    $ mux servers add web --url https://h -- x
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the argument '--url <URL>' cannot be used with '[COMMAND]...'

    Usage: mux servers add --url <URL> <NAME> [-- <COMMAND>...]

    For more information, try '--help'.

    $ mux servers add web --env A -- x
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value 'A' for '--env <NAME=VALUE>': it must be NAME=VALUE

    For more information, try '--help'.

    $ mux servers add web --share all -- x
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: --share all is none of user, workspace, client, run

    $ mux servers remove frist
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no [servers.frist] in [HOME]/config.toml
      hint: config.toml has: first, second

    $ mux servers enable none
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no [servers.none] in [HOME]/config.toml
      hint: config.toml has: first, second
    "#);
    env.write_config("[servers.a\n");
    mux_snapshot!(env.mux(["servers", "add", "b", "--", "x"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: [HOME]/config.toml was left alone: line 1, column 11: unclosed table, expected `]`
      hint: fix it and try again
    ");
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

#[test]
fn equal_entry_that_is_added_again_is_only_connected_to() {
    let env = TestEnv::new();
    let fixture = binary("mux-fixture-server");
    let add = ["servers", "add", "fix", "--", fixture.to_str().unwrap()];
    env.mux(add).ok();
    let before = fs::read(env.path("config.toml")).unwrap();
    let again = env.mux(add).ok().stdout;
    assert!(again.contains("fix is already in ~/config.toml"), "{again}");
    assert!(again.contains("connected: "), "{again}");
    let json = env.mux(["--json"].into_iter().chain(add)).ok().json();
    assert_eq!(json["change"], "unchanged", "{json:#}");
    assert_eq!(fs::read(env.path("config.toml")).unwrap(), before);
    env.mux(["servers", "add", "fix", "--", "another"])
        .fails(1, &["--replace"]);
}

#[test]
fn the_last_five_backups_of_the_configuration_stay() {
    let env = TestEnv::new();
    env.write_config(&env.fixture("fix", &[]));
    for number in 0..8 {
        let name = format!("s{number}");
        env.mux(["servers", "add", &name, "--no-connect", "--", "x"])
            .ok();
        env.mux(["servers", "remove", &name]).ok();
    }
    let entries = fs::read_dir(env.home()).unwrap().flatten();
    let backups = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy()
            .starts_with("config.toml.mux-backup-")
    });
    assert_eq!(backups.count(), 5);
}
