//! A system without free inotify instances.

use std::process::Command;

use mux_tests::{TestEnv, env::output, left_out};

use super::{modes, until};

/// Sets the limit of a new user namespace to 0 and runs a command.
const WITHOUT: &str = "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"";

#[test]
fn unwatchable_files_are_polled() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mux = env.command("mux");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "/bin/sh", "-c", WITHOUT]);
    command.arg(mux.get_program()).args(["--json", "tools"]);
    command.env_clear();
    command.envs(
        mux.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let started = output(&mut command);
    if started.stderr.contains("unshare:") || started.stderr.contains("max_inotify_instances") {
        return left_out("a limit of inotify instances", &started.stderr);
    }
    started.ok();

    let status = env.mux(["--json", "status"]).ok().json();
    assert_eq!(modes(&status), ["watch"], "{status:#}");
    assert_eq!(status["problems"], serde_json::json!([]));
    let shown = env.mux(["status"]).ok().stdout;
    assert!(shown.contains("fs.inotify.max_user_instances"), "{shown}");

    env.write_config(&env.fixture("renamed", &[]));
    until(
        || env.mux(["--json", "tools"]).ok().json(),
        "the change is noticed",
        |tools| tools.to_string().contains("renamed.echo"),
    );
}
