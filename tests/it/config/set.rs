//! `mux config get`, `set`, `unset` and `edit`: the file changes only if the daemon's check finds no new mistake.

use std::{fs, os::unix::fs as unix_fs, path::PathBuf};

use mux_tests::{TestEnv, env::Output};
use serde_json::json;

const OURS: &str = "# mine\n[limits]   # wide\nwall = '40s' # enough\n\n# of fix\n[servers.off]\ncommand = 'true'\nenabled = false\n";

fn text(env: &TestEnv) -> String {
    fs::read_to_string(env.dirs.config_file()).unwrap()
}

#[test]
fn values_are_set_and_removed_and_the_rest_of_the_file_stays() {
    let env = TestEnv::with_config(OURS);
    let told = env.mux(["config", "set", "limits.wall", "2m"]).ok();
    assert!(told.stdout.contains("limits.wall is set in"), "{told:?}");
    let changed = OURS.replace("'40s'", "\"2m\"");
    assert_eq!(text(&env), changed);
    let get = |key: &str| env.mux(["config", "get", key]).ok().stdout;
    // It is in force without a reload.
    assert_eq!(get("limits.wall"), "2m\n");
    assert_eq!(get("limits.calls"), "1000\n");
    assert_eq!(get("limits.argument"), "4MiB\n");
    assert_eq!(get("servers.off.call_timeout"), "5m\n");
    env.mux(["config", "get", "servers.off.share"])
        .fails(1, &["servers.off.share is not set", "default: detected"]);

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
    let told = env.mux(["config", "unset", "limits.calls"]).ok();
    assert!(told.stdout.contains("nothing to change"), "{told:?}");
}

#[test]
fn unknown_keys_and_values_out_of_range_are_not_written() {
    let env = TestEnv::with_config(OURS);
    for (key, value, parts) in [
        (
            "limits.wal",
            "2m",
            [
                "there is no key `limits.wal`",
                "did you mean `limits.wall`?",
            ],
        ),
        (
            "limits.wall",
            "9h",
            [
                "limits.wall = 9h is not between 1s and 5m",
                "1s to 5m (default: 30s)",
            ],
        ),
        (
            "limits.heap",
            "8MiB",
            [
                "8MiB is not between 16MiB and 1GiB",
                "16MiB to 1GiB (default: 64MiB)",
            ],
        ),
        (
            "daemon.keyring",
            "off",
            ["is not auto or never", "daemon.keyring takes: auto, never"],
        ),
        (
            "audit.enabled",
            "maybe",
            ["must be a boolean", "true or false"],
        ),
        (
            "servers.on.share",
            "run",
            ["`command` is missing", "user, workspace, client, run"],
        ),
        ("policy", "[]", ["policy is a section", "mux policy add"]),
    ] {
        env.mux(["config", "set", key, value]).fails(1, &parts);
    }
    env.mux(["config", "unset", "limits.wal"])
        .fails(1, &["did you mean `limits.wall`?"]);
    assert_eq!(text(&env), OURS);

    // A mistake that is there already keeps no other value from being set.
    let wrong = format!("{OURS}[pins]\non_change = \"never\"\n");
    env.write_config(&wrong);
    env.mux(["config", "set", "limits.calls", "5"]).ok();
    assert!(text(&env).contains("calls = 5"), "{}", text(&env));
    env.mux(["config", "set", "pins.on_change", "warn"]).ok();
    env.mux(["config", "check"]).ok();
    let secret = env
        .mux(["config", "set", "servers.off.env.API_KEY", "canary-k3y"])
        .ok();
    assert!(secret.stderr.contains("mux secrets set"), "{secret:?}");
    assert!(!format!("{secret:?}").contains("canary"), "{secret:?}");
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
    // The file is a symbolic link, as in a repository of dotfiles.
    let target = env.path("dotfiles.toml");
    fs::rename(env.dirs.config_file(), &target).unwrap();
    unix_fs::symlink(&target, env.dirs.config_file()).unwrap();

    let told = edit(&env, "true").ok();
    assert!(told.stdout.contains("nothing to change"), "{told:?}");
    let told = edit(&env, "sed -i s/40s/50s/ \"$1\"").ok();
    assert!(told.stdout.contains("+wall = '50s'"), "{told:?}");
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
    let told = edit(&env, "sed -i s/50s/9h/ \"$1\"");
    let told = told.fails(
        1,
        &[
            "config.toml:3: error: limits.wall = 9h is not between",
            "your text is in",
        ],
    );
    assert_eq!(text(&env), OURS.replace("40s", "50s"));
    let [copy] = &copies(&env)[..] else {
        panic!("{told:?}")
    };
    assert!(told.stderr.contains(copy.to_str().unwrap()), "{told:?}");
    assert_eq!(fs::read_to_string(copy).unwrap(), OURS.replace("40s", "9h"));
    fs::remove_file(copy).unwrap();

    edit(&env, "exit 3").fails(1, &["the editor failed", "$EDITOR"]);
    assert_eq!(copies(&env), Vec::<PathBuf>::new());
}

#[test]
fn edit_does_not_overwrite_what_another_program_wrote_meanwhile() {
    let env = TestEnv::with_config(OURS);
    let file = env.dirs.config_file();
    let script = format!(
        "echo '# theirs' >> {}; echo '# mine' >> \"$1\"",
        file.display()
    );
    edit(&env, &script).fails(3, &["was changed by another program", "your text is in"]);
    assert_eq!(text(&env), format!("{OURS}# theirs\n"));
    let [copy] = &copies(&env)[..] else {
        panic!("no copy")
    };
    assert_eq!(fs::read_to_string(copy).unwrap(), format!("{OURS}# mine\n"));
}
