//! Sessions that are handed over to the next daemon, with the state of their servers.

use mux_tests::{
    Agent, TestEnv,
    process::{self, Tree},
};
use serde_json::json;

use super::{SOON, assert_ends, count, upgrade};

#[test]
fn warm_session_survives_repeated_upgrades() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("other", &["--offers"])]);
    let first = count(&env, "fix");
    count(&env, "other");
    for round in 1..=3 {
        let (old, _) = upgrade(&env);
        assert_eq!(count(&env, "fix"), first + round);
        assert_eq!(count(&env, "other"), first + round);
        assert_ends(old);
    }
    for server in ["fix", "other"] {
        let starts = env.starts(server);
        assert_eq!(starts.len(), 1, "{server}");
        assert_eq!(
            env.mux(["call", &format!("{server}.pid")])
                .ok()
                .stdout
                .trim(),
            starts[0].to_string()
        );
    }
    let server = Tree::watch(env.starts("fix"));
    env.stop();
    assert!(server.left_after(SOON).is_empty());
}

#[test]
fn session_of_the_modern_era_survives_an_upgrade() {
    let env = TestEnv::with_fixtures(&[("fix", &["--era", "modern", "--offers"])]);
    let first = count(&env, "fix");
    let (old, _) = upgrade(&env);
    assert_eq!(count(&env, "fix"), first + 1);
    assert_ends(old);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn the_session_of_a_workspace_stays_with_that_workspace() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}share = \"workspace\"\n",
        env.fixture("fix", &[])
    ));
    let here = env.path("here");
    let there = env.path("there");
    let pid = |folder: &std::path::Path| {
        std::fs::create_dir_all(folder).unwrap();
        let mut command = env.command("mux");
        command.current_dir(folder).args(["call", "fix.pid"]);
        mux_tests::env::output(&mut command).ok().stdout
    };
    let before = (pid(&here), pid(&there));
    assert_ne!(before.0, before.1);
    upgrade(&env);
    assert_eq!((pid(&here), pid(&there)), before);
    assert_eq!(env.starts("fix").len(), 2);
}

#[test]
fn agent_reconnects_to_the_next_daemon_and_finds_its_sessions_warm() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let mut agent = Agent::legacy(&env, &[], json!({}));
    let code = |agent: &mut Agent| {
        let code = "return await mux.fix.counter({ key: 'k' })";
        agent.call("run", json!({ "code": code }))
    };
    assert!(code(&mut agent).to_string().contains('1'));
    let (old, _) = upgrade(&env);
    let said = code(&mut agent);
    assert!(said.to_string().contains('2'), "{said}");
    // The connected agent does not keep the old daemon running.
    assert_ends(old);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn handed_over_server_ends_with_the_daemon_that_owns_it() {
    let env =
        TestEnv::with_fixtures(&[("fix", &["--ignore-eof", "--ignore-term", "--grandchild"])]);
    count(&env, "fix");
    let (old, new) = upgrade(&env);
    count(&env, "fix");
    assert_ends(old);
    assert_eq!(env.starts("fix").len(), 1);
    let pid = env.starts("fix")[0];
    let tree = Tree::of(pid);
    assert!(tree.pids().len() > 1);
    process::kill(new);
    let left = tree.left_after(SOON);
    assert!(left.is_empty(), "{left:#?}");
    assert_eq!(count(&env, "fix"), 1);
}

#[test]
fn server_whose_entry_has_changed_is_restarted_by_an_upgrade() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    count(&env, "fix");
    let old = Tree::watch(env.starts("fix"));
    env.write_config(&env.fixture("fix", &["--name", "another"]));
    upgrade(&env);
    assert_eq!(count(&env, "fix"), 1);
    assert_eq!(env.starts("fix").len(), 2);
    assert!(old.left_after(SOON).is_empty());
}
