//! A daemon that leaves by itself: nobody needs it, or nobody can reach it.

use std::time::Duration;

use mux_client::{Identity, within_seconds};
use mux_tests::{
    TestEnv,
    process::{self, Tree},
};

use super::{PROMISE, SOON};

const IDLE: &str = "[daemon]\nidle_exit = \"200ms\"\n";

#[test]
fn a_daemon_that_nobody_needs_goes_and_the_next_client_gets_another() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{IDLE}{}",
        env.fixture("fix", &["--grandchild", "--setsid"])
    ));
    let first = env.serve();
    env.result("return await mux.fix.pid({})");
    let tree = Tree::of(first.pid());
    assert!(first.end().success());
    assert!(tree.left_after(PROMISE).is_empty());
    assert!(!env.dirs.socket().exists());
    env.result("return await mux.fix.pid({})");
    assert_eq!(env.starts("fix").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_there_keeps_it_and_one_that_says_nothing_does_not() {
    let env = TestEnv::with_config(IDLE);
    let daemon = env.serve();
    let me = Identity::new("test", "0");
    let session = mux_client::connect(&env.dirs, &me).await.unwrap();
    // Three times as long as it would stay alone.
    let run = "await new Promise((done) => setTimeout(done, 600)); return 1";
    assert_eq!(env.result(run), 1);
    // The other one is gone a moment after its end.
    let clients = async || {
        let status = session.client.status(within_seconds(5)).await;
        status.unwrap().unwrap().clients
    };
    while clients().await != 1 {}
    drop(session);
    let silent = mux_tests::frames::Wire::connect(&env.dirs.socket());
    assert!(process::wait_for_end(daemon.pid(), SOON));
    drop(silent);
    assert!(daemon.end().success());
}

#[test]
fn clients_that_come_while_it_leaves_are_all_served() {
    let env = TestEnv::with_config("[daemon]\nidle_exit = \"1ms\"\n");
    for round in 0..15 {
        let clients: Vec<_> = (0..3)
            .map(|n| env.begin(["--json", "run", "-e", &format!("return {}", round * 10 + n)]))
            .collect();
        for (n, client) in clients.into_iter().enumerate() {
            assert_eq!(client.wait().ok().json()["result"], round * 10 + n);
        }
    }
}

#[test]
fn a_daemon_whose_socket_was_deleted_notices_and_goes() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    let old = env.daemon().unwrap();
    let tree = Tree::of(old);
    std::fs::remove_file(env.dirs.socket()).unwrap();
    env.result("return await mux.fix.pid({})");
    assert!(tree.left_after(Duration::ZERO).is_empty());
    assert_ne!(env.daemon(), Some(old));
    assert_eq!(env.starts("fix").len(), 2);
}
