//! Sessions of a client or a run end with it, and unused sessions end after `idle_close`.

use std::collections::BTreeSet;

use super::{Client, PROMISE, seen, workspace};
use mux_tests::{TestEnv, process};

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_client_is_not_shared_and_ends_with_it() {
    let env = TestEnv::new();
    env.write_config(&format!("{}share = \"client\"\n", env.fixture("fix", &[])));
    let (one, two) = (Client::at(&env, None).await, Client::at(&env, None).await);
    let (mine, theirs) = (one.pid("fix").await, two.pid("fix").await);
    assert_ne!(mine, theirs);
    // The runs of a client use its session.
    assert_eq!(
        one.run("return await mux.fix.pid({})").await,
        mine.to_string()
    );
    drop(one);
    assert!(process::wait_for_end(mine, PROMISE));
    assert_eq!(two.pid("fix").await, theirs);
    assert_eq!(seen(&env, "fix")["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_run_is_not_shared_and_ends_with_it() {
    let env = TestEnv::new();
    env.write_config(&format!("{}share = \"run\"\n", env.fixture("fix", &[])));
    let client = Client::at(&env, None).await;
    let code = "const [a, b] = await Promise.all([mux.fix.pid({}), mux.fix.pid({})]);
        if (a !== b) throw new Error('two processes');
        return a";
    let mut pids = BTreeSet::new();
    let (one, two) = tokio::join!(client.run(code), client.run(code));
    for pid in [one, two, client.run(code).await] {
        let pid: i32 = pid.as_str().unwrap().parse().unwrap();
        assert!(pids.insert(pid), "{pid} served two runs");
        assert!(process::wait_for_end(pid, PROMISE));
    }
    assert_eq!(env.starts("fix").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_session_is_closed_after_idle_close_and_reopened() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}idle_close = \"1s\"\nshare = \"workspace\"\n"
    ));
    let client = Client::at(&env, Some(workspace(&env, "a"))).await;
    let first = client.pid("fix").await;
    assert!(process::wait_for_end(first, PROMISE));
    let server = seen(&env, "fix");
    assert_eq!(server["state"], "cold", "{server:#}");
    assert!(server["tools"].as_u64().unwrap() > 10, "they stay known");
    let reason = server["reason"].as_str().unwrap();
    assert!(
        reason.contains("closed after 1s without a call (idle_close)"),
        "{reason}"
    );
    assert_ne!(client.pid("fix").await, first);
}
