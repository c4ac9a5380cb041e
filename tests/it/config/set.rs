//! `mux config get`, `set`, `unset` and `edit`: the file changes only if the daemon's check finds no new problem.

use std::{fs, os::unix::fs as unix_fs, path::PathBuf};

use mux_tests::{TestEnv, env::Output, mux_snapshot, output_snapshot::bind_filters};
use serde_json::json;

/// The name of a copy that was kept.
const COPY: (&str, &str) = (r"config-edit-\w+", "config-edit-[ID]");

const OURS: &str = "# mine\n[limits]   # wide\nwall = '40s' # enough\n\n# of fix\n[servers.off]\ncommand = 'true'\nenabled = false\n";

fn text(env: &TestEnv) -> String {
    fs::read_to_string(env.dirs.config_file()).unwrap()
}

#[test]
fn values_are_set_and_removed_and_the_rest_of_the_file_stays() {
    let env = TestEnv::with_config(OURS);
    mux_snapshot!(env.mux(["config", "set", "limits.wall", "2m"]), @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -1,5 +1,5 @@
     # mine
     [limits]   # wide
    -wall = '40s' # enough
    +wall = "2m" # enough
     
     # of fix
    limits.wall is set in ~/config.toml
    limits: wall changed
    ----- stderr -----
    "#);
    let changed = OURS.replace("'40s'", "\"2m\"");
    assert_eq!(text(&env), changed);
    let get = |key: &str| env.mux(["config", "get", key]).ok().stdout;
    // The value applies without a reload.
    assert_eq!(get("limits.wall"), "2m\n");
    assert_eq!(get("limits.calls"), "1000\n");
    assert_eq!(get("limits.argument"), "4MiB\n");
    assert_eq!(get("servers.off.call_timeout"), "5m\n");
    mux_snapshot!(env.mux(["config", "get", "servers.off.share"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: servers.off.share is not set
      hint: servers.off.share takes: user, workspace, client, run (default: detected)
    ");

    env.mux(["config", "set", "servers.off.share", "run"]).ok();
    env.mux(["config", "set", "servers.off.env.\"A.B\"", "1"])
        .ok();
    assert!(
        text(&env).ends_with("share = \"run\"\nenv = { \"A.B\" = \"1\" }\n"),
        "{}",
        text(&env)
    );
    let preview = ["config", "unset", "servers.off.env", "--dry-run", "--json"];
    let preview = env.mux(preview).ok().json();
    assert_eq!(
        (&preview["changed"], &preview["dry_run"]),
        (&json!(true), &json!(true))
    );
    env.mux(["config", "unset", "servers.off.env"]).ok();
    env.mux(["config", "unset", "servers.off.share"]).ok();
    assert_eq!(text(&env), changed);
    mux_snapshot!(env.mux(["config", "unset", "limits.calls"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    nothing to change in ~/config.toml
    ----- stderr -----
    ");
}

#[test]
fn unknown_keys_and_values_out_of_range_are_not_written() {
    let env = TestEnv::with_config(OURS);
    mux_snapshot!(
        env.transcript(&[
            &["config", "set", "limits.wal", "2m"],
            &["config", "set", "limits.wall", "9h"],
            &["config", "set", "limits.heap", "8MiB"],
            &["config", "set", "daemon.keyring", "off"],
            &["config", "set", "audit.enabled", "maybe"],
            &["config", "set", "servers.on.share", "run"],
            &["config", "set", "policy", "[]"],
            &["config", "unset", "limits.wal"],
        ]),
        @r#"
    $ mux config set limits.wal 2m
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: there is no key `limits.wal`
      hint: did you mean `limits.wall`?

    $ mux config set limits.wall 9h
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: not written, because the result would be invalid: limits.wall = 9h is not between 1s and 5m; the default is used
      hint: limits.wall takes: duration, 1s to 5m (default: 30s)

    $ mux config set limits.heap 8MiB
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: not written, because the result would be invalid: limits.heap = 8MiB is not between 16MiB and 1GiB; the default is used
      hint: limits.heap takes: size, 16MiB to 1GiB (default: 64MiB)

    $ mux config set daemon.keyring off
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: not written, because the result would be invalid: daemon.keyring = "off" is none of auto, never; until it is, the keyring is not used
      hint: daemon.keyring takes: auto, never (default: auto; never with MUX_HOME set)

    $ mux config set audit.enabled maybe
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: not written, because the result would be invalid: audit: must be a boolean in `enabled`
      hint: audit.enabled takes: true or false (default: true)

    $ mux config set servers.on.share run
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no [servers.on] in config.toml
      hint: servers in config.toml: off
            `mux servers add on …` adds one

    $ mux config set policy []
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: policy is a section and cannot have a value
      hint: `mux policy add` adds a rule

    $ mux config unset limits.wal
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: there is no key `limits.wal`
      hint: did you mean `limits.wall`?
    "#
    );
    assert_eq!(text(&env), OURS);

    // An existing problem does not keep other values from being set.
    let wrong = format!("{OURS}[pins]\non_change = \"never\"\n");
    env.write_config(&wrong);
    env.mux(["config", "set", "limits.calls", "5"]).ok();
    assert!(text(&env).contains("calls = 5"), "{}", text(&env));
    env.mux(["config", "set", "pins.on_change", "warn"]).ok();
    env.mux(["config", "check"]).ok();
    let secret = env.mux(["config", "set", "servers.off.env.API_KEY", "canary-k3y"]);
    assert!(!format!("{secret:?}").contains("canary"), "{secret:?}");
    mux_snapshot!(secret, @r#"
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -8,4 +8,5 @@
     command = 'true'
     enabled = false
    +env = { API_KEY = "***" }
     [pins]
     on_change = "warn"
    servers.off.env.API_KEY is set in ~/config.toml
    nothing changed; no server is configured
    ----- stderr -----
    warning: this looks like a secret: `mux secrets set NAME` stores it, and '${keyring:NAME}' refers to it
    "#);
}

#[test]
fn word_of_an_option_named_secrets_is_shown() {
    let env = TestEnv::with_config(OURS);
    let set = env
        .mux(["config", "set", "servers.off.secrets", "mask"])
        .ok();
    assert!(set.stdout.contains("+secrets = \"mask\""), "{set:?}");
    assert_eq!(set.stderr, "");
}

#[test]
fn report_of_an_edit_names_no_earlier_change() {
    let env = TestEnv::with_config("");
    env.mux(["servers"]).ok();
    for number in 0..3 {
        let name = format!("s{number}");
        env.mux(["servers", "add", "--no-connect", &name, "--", "true"])
            .ok();
        let wall = format!("{}s", 40 + number);
        let set = env.mux(["config", "set", "limits.wall", &wall]).ok().stdout;
        assert!(set.contains("limits: wall changed"), "{set}");
        assert!(!set.contains("already active"), "{set}");
    }
}

#[test]
fn path_that_does_not_exist_now_is_written_with_a_warning() {
    let env = TestEnv::with_config("[servers.fix]\ncommand = \"true\"\n");
    let sandbox = "{ read = [\"/no/such/folder\"] }";
    let set = env
        .mux(["config", "set", "servers.fix.sandbox", sandbox])
        .ok();
    assert!(
        set.stderr.contains("warning: [servers.fix]") && set.stderr.contains("/no/such/folder"),
        "{set:?}"
    );
    assert!(text(&env).contains("/no/such/folder"));
    env.mux(["config", "check"]).fails(1, &["/no/such/folder"]);
}

/// `mux config edit` with a command of the shell as the editor. `$1` is the path of the copy.
fn edit(env: &TestEnv, script: &str) -> Output {
    let mut command = env.command("mux");
    command.args(["config", "edit"]);
    command.env("VISUAL", format!("edit() {{ {script}; }}; edit"));
    mux_tests::env::output(&mut command)
}

/// The copies that were kept.
fn copies(env: &TestEnv) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.dirs.config_file().parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_copy = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("config-edit-")
    };
    paths.filter(is_copy).collect()
}

#[test]
fn edited_text_replaces_the_file_only_without_new_mistakes() {
    let env = TestEnv::with_config(OURS);
    let _filters = bind_filters(&[COPY]);
    // The file is a symbolic link, as in a repository of dotfiles.
    let target = env.path("dotfiles.toml");
    fs::rename(env.dirs.config_file(), &target).unwrap();
    unix_fs::symlink(&target, env.dirs.config_file()).unwrap();

    mux_snapshot!(edit(&env, "true"), @"
    success: true
    exit_code: 0
    ----- stdout -----
    nothing to change in ~/config.toml
    ----- stderr -----
    ");
    mux_snapshot!(edit(&env, "sed -i s/40s/50s/ \"$1\""), @"
    success: true
    exit_code: 0
    ----- stdout -----
    --- ~/config.toml
    +++ ~/config.toml
    @@ -1,5 +1,5 @@
     # mine
     [limits]   # wide
    -wall = '40s' # enough
    +wall = '50s' # enough
     
     # of fix
    the change is in ~/config.toml
    limits: wall changed
    ----- stderr -----
    ");
    assert_eq!(
        fs::read_to_string(&target).unwrap(),
        OURS.replace("40s", "50s")
    );
    assert!(env.dirs.config_file().is_symlink());
    assert_eq!(
        env.mux(["config", "get", "limits.wall"]).ok().stdout,
        "50s\n"
    );
    assert_eq!(copies(&env), Vec::<PathBuf>::new());

    // Without a terminal nobody is asked to edit again.
    let output = edit(&env, "sed -i s/50s/9h/ \"$1\"");
    mux_snapshot!(output, @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    [HOME]/config.toml:3: error: limits.wall = 9h is not between 1s and 5m; the default is used
    error[validation]: config.toml is unchanged, because your edit contains errors
      hint: your edit is saved in [HOME]/config-edit-[ID].toml; `mux config check [HOME]/config-edit-[ID].toml` lists its errors
    ");
    assert_eq!(text(&env), OURS.replace("40s", "50s"));
    let [copy] = &copies(&env)[..] else {
        panic!("{output:?}")
    };
    assert!(output.stderr.contains(copy.to_str().unwrap()), "{output:?}");
    assert_eq!(fs::read_to_string(copy).unwrap(), OURS.replace("40s", "9h"));
    fs::remove_file(copy).unwrap();

    mux_snapshot!(edit(&env, "exit 3"), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[runtime]: the editor failed: it ended with exit status: 3
      hint: set $VISUAL or $EDITOR to an editor that waits, such as `code --wait`
    ");
    assert_eq!(copies(&env), Vec::<PathBuf>::new());
}

#[test]
fn edit_does_not_overwrite_what_another_program_wrote_meanwhile() {
    let env = TestEnv::with_config(OURS);
    let _filters = bind_filters(&[COPY]);
    let file = env.dirs.config_file();
    let script = format!(
        "echo '# theirs' >> {}; echo '# mine' >> \"$1\"",
        file.display()
    );
    mux_snapshot!(edit(&env, &script), @r#"
    success: false
    exit_code: 3
    ----- stdout -----
    ----- stderr -----
    error[unavailable]: "[HOME]/config.toml" was changed by another program in the meantime
      hint: your edit is saved in [HOME]/config-edit-[ID].toml; `mux config check [HOME]/config-edit-[ID].toml` lists its errors
    "#);
    assert_eq!(text(&env), format!("{OURS}# theirs\n"));
    let [copy] = &copies(&env)[..] else {
        panic!("no copy")
    };
    assert_eq!(fs::read_to_string(copy).unwrap(), format!("{OURS}# mine\n"));
}
