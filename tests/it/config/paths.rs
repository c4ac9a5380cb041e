//! Paths and programs of entries, as a shell would take them.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use mux_tests::{TestEnv, env::binary};

use super::problems;

#[test]
fn leading_tilde_is_the_home_directory_in_every_path() {
    let env = TestEnv::new();
    for folder in ["bin", "work", "data"] {
        fs::create_dir_all(env.path(folder)).unwrap();
    }
    symlink(binary("mux-fixture-server"), env.path("bin/fix")).unwrap();
    env.write_config(
        "[servers.fix]\ncommand = \"~/bin/fix\"\nargs = [\"--pid-file\", \"~/data/pids\"]\ncwd = \"~/work\"\n\
         env = { DATA = \"~/data\", LIST_PATH = \"/x:~/data\", NOTE = \"see ~/data\" }\n",
    );
    assert_eq!(problems(&env), Vec::<String>::new());
    let home = env.home().to_str().unwrap();
    let value = |name: &str| {
        let printed = env.mux(["call", "fix.env", &format!("name={name}")]).ok();
        printed.stdout.trim().to_owned()
    };
    assert_eq!(value("DATA"), format!("{home}/data"));
    assert_eq!(value("LIST_PATH"), format!("/x:{home}/data"));
    assert_eq!(value("NOTE"), "see ~/data");
    let cwd = env.mux(["call", "fix.cwd"]).ok().stdout;
    assert_eq!(cwd.trim(), format!("{home}/work"));
    assert!(env.path("data/pids").exists());
}

#[test]
fn home_of_another_user_is_named_as_the_mistake() {
    for (entry, key) in [
        ("command = \"~root/bin/fix\"\n", "command"),
        ("command = \"fix\"\ncwd = \"~root\"\n", "cwd"),
        ("command = \"fix\"\nroots = [\"~root/x\"]\n", "roots"),
        (
            "url = \"http://127.0.0.1:1/mcp\"\nsocket = \"~root/s\"\n",
            "socket",
        ),
    ] {
        let env = TestEnv::with_config(&format!("[servers.fix]\n{entry}"));
        let expected = format!("[servers.fix]: {key}: \"~root");
        env.mux(["config", "check"])
            .fails(1, &[&expected, "must be ~/ and a path"]);
    }
}

#[test]
fn command_line_in_command_is_split_in_the_error() {
    let env = TestEnv::with_config("[servers.fix]\ncommand = \"npx -y some-server\"\n");
    let corrected = "write command = \"npx\", args = [\"-y\", \"some-server\"]";
    env.mux(["config", "check"]).fails(1, &[corrected]);
    env.mux(["call", "fix.echo"]).fails(3, &[corrected]);
    let set = ["config", "set", "servers.fix.command", "/opt/server --all"];
    // A path may have spaces: only the start says more.
    env.mux(set).ok();
    env.mux(["call", "fix.echo"])
        .fails(3, &["args = [\"--all\"]"]);
    let set = ["config", "set", "servers.fix.command", "uvx other"];
    env.mux(set).fails(1, &["args = [\"other\"]"]);
}

#[test]
fn program_that_only_the_client_finds_is_named_with_its_path() {
    let env = TestEnv::with_config("[servers.fix]\ncommand = \"only-here\"\n");
    let folder = env.path("tools");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("only-here");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // The daemon starts without it.
    env.mux(["servers"]).ok();
    let mux = |args: &[&str]| {
        let mut command = env.command("mux");
        let path = format!("{}:/usr/bin:/bin", folder.display());
        mux_tests::env::output(command.args(args).env("PATH", path))
    };
    let found = format!("this shell finds {program:?}: write that as `command` in [servers.fix]");
    mux(&["call", "fix.echo"]).fails(3, &["muxd searched /", &found]);
    let failed = mux(&["--json", "call", "fix.echo"]).fails(3, &[]).json();
    let hint = failed["error"]["hint"].as_str().unwrap();
    assert!(hint.contains(&found), "{hint}");
    let run = mux(&["run", "-e", "return mux.fix.echo({ text: '' })"]);
    assert!(run.stderr.contains(&found), "{run:?}");
    let doctor = mux(&["doctor"]);
    let shown = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(shown.contains(&found), "{shown}");
}

#[test]
fn variables_of_an_interactive_shell_reach_servers() {
    let env = TestEnv::new();
    fs::write(
        env.path(".bashrc"),
        "case $- in *i*) ;; *) return ;; esac\necho banner; printf 'more?'; read answer\n\
         export PATH=\"$HOME/nvm:$PATH\" TOKEN=t0ken\n(sleep 1000 &)\n",
    )
    .unwrap();
    fs::write(env.path(".bash_profile"), ". ~/.bashrc\n").unwrap();
    fs::create_dir_all(env.path("nvm")).unwrap();
    symlink(binary("mux-fixture-server"), env.path("nvm/only-nvm")).unwrap();
    env.write_config("[servers.fix]\ncommand = \"only-nvm\"\nenv = { T = \"${TOKEN}\" }\n");
    let mux = |args: &[&str]| {
        let mut command = env.command("mux");
        mux_tests::env::output(command.args(args).env("SHELL", "/bin/bash"))
    };
    let value = mux(&["call", "fix.env", "name=T"]).ok().stdout;
    assert_eq!(value.trim(), "t0ken");
    let status = mux(&["status", "--json"]).ok().json();
    assert_eq!(status["problems"], serde_json::json!([]));
}
