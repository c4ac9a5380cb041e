//! The process of a client's session ends with it.

use super::{Client, PROMISE, seen};
use mux_tests::{TestEnv, process};

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_client_is_not_shared_and_ends_with_it() {
    let env = TestEnv::new();
    env.write_config(&format!("{}share = \"client\"\n", env.fixture("fix", &[])));
    let one = Client::at(&env, None).await;
    let two = Client::at(&env, None).await;
    let mine = one.pid("fix").await;
    let theirs = two.pid("fix").await;
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
