//! Real package runners, with packages that `scripts/setup` installs.

use mux_tests::{
    TestEnv,
    env::{npm, server},
    process::{self, Tree},
};

use super::GONE;

/// `npx` is a Node program that starts a shell that starts the server: three processes, of which muxd starts only the
/// first.
#[test]
fn npx_process_tree_ends_with_its_daemon_and_on_restart() {
    let installed = npm("mcp-server-everything");
    let folder = installed.ancestors().nth(3).unwrap();
    let env = TestEnv::new();
    let entry = server(
        "every",
        "npx".as_ref(),
        &["--no", "--offline", "--", "mcp-server-everything", "stdio"],
    );
    env.write_config(&format!("{entry}cwd = {folder:?}\n"));
    let call = ["call", "every.echo", "message=x"];
    env.mux(call).ok();
    let tree = below_the_keeper(&env);
    assert!(tree.pids().len() >= 3, "{:?}", tree.pids());
    env.mux(["servers", "restart", "every"]).ok();
    // The restart returns when the new server runs, which is after the end of the old one.
    assert!(tree.left_after(GONE).is_empty());
    for signal_to in ["daemon", "npx"] {
        env.mux(call).ok();
        let tree = below_the_keeper(&env);
        match signal_to {
            "daemon" => process::kill(env.daemon().unwrap()),
            _ => process::kill(tree.pids()[0]),
        }
        let left = tree.left_after(GONE);
        assert!(left.is_empty(), "{signal_to}: {left:#?}");
    }
    env.mux(call).ok();
}

/// All processes of servers.
fn below_the_keeper(env: &TestEnv) -> Tree {
    let all = process::descendants(env.daemon().unwrap());
    let is_keeper = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name.trim() == "muxd-keeper")
    };
    let keeper = all.into_iter().find(is_keeper).unwrap();
    Tree::watch(process::descendants(keeper))
}
