//! Programs that write the configuration at the same time: no change is lost.

use std::fs::{self, File};

use mux_proto::lock_file;
use mux_tests::{Running, TestEnv, process};
use nix::sys::signal::Signal;

const WRITERS: usize = 8;

fn text(env: &TestEnv) -> String {
    fs::read_to_string(env.dirs.config_file()).unwrap()
}

fn add(env: &TestEnv, server: &str) -> Running {
    env.begin(["servers", "add", "--no-connect", server, "--", "true"])
}

/// The lock under which commands write, held by the test.
fn hold_lock(env: &TestEnv) -> File {
    env.dirs.prepare().unwrap();
    let lock = lock_file::open(&env.dirs.edit_lock()).unwrap();
    lock.lock().unwrap();
    lock
}

/// Waits until this process waits for the lock, with all that it read before.
fn wait_for_lock(env: &TestEnv, command: &Running) {
    let lock = env.dirs.edit_lock();
    let opened = format!("/proc/{}/fd", command.pid());
    let has_opened = || {
        let mut files = fs::read_dir(&opened).into_iter().flatten().flatten();
        files.any(|file| fs::read_link(file.path()).is_ok_and(|target| target == lock))
    };
    while !has_opened() {
        assert!(process::is_alive(command.pid()), "it did not wait");
        std::thread::yield_now();
    }
}

#[test]
fn parallel_commands_lose_no_change() {
    let env = TestEnv::with_config("# mine\n");
    for round in 0..3 {
        let mut writers = Vec::new();
        for number in 0..WRITERS {
            writers.push(add(&env, &format!("s{round}-{number}")));
            writers.push(env.begin([
                "servers",
                "add",
                "--no-connect",
                &format!("t{round}-{number}"),
                "--env",
                &format!("TOKEN=s3cret-{round}-{number}"),
                "--",
                "true",
            ]));
        }
        for writer in writers {
            writer.wait().ok();
        }
    }
    let config = text(&env);
    let variables = fs::read_to_string(env.dirs.env_file()).unwrap();
    assert!(config.starts_with("# mine\n"));
    for round in 0..3 {
        for number in 0..WRITERS {
            for name in [format!("s{round}-{number}"), format!("t{round}-{number}")] {
                assert!(
                    config.contains(&format!("[servers.{name}]\n")),
                    "{name}: {config}"
                );
            }
            let secret = format!("s3cret-{round}-{number}\"\n");
            assert!(variables.contains(&secret), "{secret}: {variables}");
        }
    }
}

#[test]
fn parallel_commands_of_every_kind_lose_no_change() {
    let env = TestEnv::with_config("[servers.old]\ncommand = \"true\"\n");
    // The checks of `config set` and `policy add` need a daemon.
    env.mux(["servers"]).ok();
    let commands: [&[&str]; WRITERS] = [
        &["config", "set", "limits.wall", "40s"],
        &["config", "set", "servers.old.call_timeout", "50s"],
        &["policy", "add", "old.*", "deny"],
        &["policy", "add", "old.read*", "allow"],
        &["servers", "add", "--no-connect", "new", "--", "true"],
        &["servers", "disable", "old"],
        &[
            "tools",
            "override",
            "old.read",
            "--description",
            "Reads a file.",
        ],
        &["install", "codex"],
    ];
    let writers = commands.map(|command| env.begin(command));
    for writer in writers {
        writer.wait().ok();
    }
    let config = text(&env);
    for part in [
        "wall = \"40s\"",
        "call_timeout = \"50s\"",
        "match = \"old.*\"",
        "match = \"old.read*\"",
        "[servers.new]",
        "enabled = false",
        "Reads a file.",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
    assert!(env.path(".codex/config.toml").exists());
}

#[test]
fn change_of_an_editor_is_kept_and_the_edit_repeated() {
    let env = TestEnv::with_config("[servers.old]\ncommand = \"true\"\n");
    let lock = hold_lock(&env);
    let command = add(&env, "new");
    // The command has read the file by now.
    wait_for_lock(&env, &command);
    let edited = env.path("config.toml.editor");
    fs::write(&edited, "# by the editor\n").unwrap();
    fs::rename(&edited, env.dirs.config_file()).unwrap();
    drop(lock);
    command.wait().ok();
    assert_eq!(
        text(&env),
        "# by the editor\n\n[servers.new]\ncommand = \"true\"\n"
    );
}

#[test]
fn change_that_an_agent_writes_meanwhile_is_kept() {
    let env = TestEnv::new();
    let file = env.path(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, r#"{ "mcpServers": {} }"#).unwrap();
    let lock = hold_lock(&env);
    let command = env.begin(["install", "cursor"]);
    wait_for_lock(&env, &command);
    fs::write(&file, r#"{ "theme": "dark", "mcpServers": {} }"#).unwrap();
    drop(lock);
    command.wait().ok();
    let written = fs::read_to_string(&file).unwrap();
    assert!(
        written.contains("dark") && written.contains("\"mcp\""),
        "{written}"
    );
    let backups = fs::read_dir(file.parent().unwrap()).unwrap().count() - 1;
    assert_eq!(backups, 1, "one of what the agent wrote");
}

#[test]
fn killed_command_leaves_no_lock_and_no_temporary_file() {
    let env = TestEnv::with_config("# mine\n");
    let left_over = env.path("config.toml.mux-X1Y2Z3.tmp");
    fs::write(&left_over, "of a command that was killed").unwrap();
    let lock = hold_lock(&env);
    let killed = add(&env, "killed");
    wait_for_lock(&env, &killed);
    killed.signal(Signal::SIGKILL);
    process::wait_for_end(killed.pid(), std::time::Duration::from_secs(10));
    drop(lock);
    killed.wait();
    // Some while they write, others before or after.
    for round in 0..4 {
        let writers: Vec<Running> = (0..WRITERS)
            .map(|number| add(&env, &format!("s{round}-{number}")))
            .collect();
        for writer in writers.iter().step_by(2) {
            writer.signal(Signal::SIGKILL);
        }
        for (number, writer) in writers.into_iter().enumerate() {
            let output = writer.wait();
            if number % 2 == 1 {
                output.ok();
            }
        }
    }
    add(&env, "last").wait().ok();
    let config = text(&env);
    assert!(config.starts_with("# mine\n") && config.contains("[servers.last]"));
    for round in 0..4 {
        for number in (1..WRITERS).step_by(2) {
            let name = format!("[servers.s{round}-{number}]\n");
            assert!(config.contains(&name), "{name}: {config}");
        }
    }
    assert!(!left_over.exists());
}
