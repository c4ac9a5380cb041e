//! A daemon that exits by itself, because it is idle or its socket was deleted.

use std::time::Duration;

use mux_client::{ClientIdentity, within_seconds};
use mux_tests::{
    TestEnv,
    process::{self, Tree},
};

use super::{PROMISE, SOON};

const IDLE: &str = "[daemon]\nidle_exit = \"200ms\"\n";

#[test]
fn idle_daemon_exits_and_the_next_client_starts_another() {
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
async fn connected_client_prevents_idle_exit_and_silent_connection_does_not() {
    let env = TestEnv::with_config(IDLE);
    let daemon = env.serve();
    let me = ClientIdentity::new("test", "0");
    let session = mux_client::connect(&env.dirs, &me).await.unwrap();
    // Three times the idle timeout.
    let run = "await new Promise((done) => setTimeout(done, 600)); return 1";
    assert_eq!(env.result(run), 1);
    // The client of the run disconnects a moment after the end of the run.
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
fn clients_that_connect_during_idle_exit_are_served() {
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
fn daemon_with_deleted_socket_exits() {
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
