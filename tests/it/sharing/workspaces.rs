//! `${workspace}` in entries, and the maximum number of sessions of a server.

use serde_json::json;

use super::{Client, seen, server, workspace};
use mux_tests::{TestEnv, env::binary};

#[tokio::test(flavor = "multi_thread")]
async fn entry_with_the_workspace_variable_has_a_process_per_workspace() {
    let env = TestEnv::new();
    let fix = env.fixture("fix", &[]);
    env.write_config(&format!(
        "{fix}cwd = \"${{workspace}}\"\nenv = {{ HERE = \"<${{workspace}}>\" }}\n"
    ));
    let (a, b) = (workspace(&env, "a"), workspace(&env, "b"));
    let in_a = Client::at(&env, Some(a.clone())).await;
    let in_b = Client::at(&env, Some(b.clone())).await;
    assert_eq!(in_a.call("fix.cwd").await, json!(a));
    assert_eq!(in_b.call("fix.cwd").await, json!(b));
    assert_ne!(in_a.pid("fix").await, in_b.pid("fix").await);
    let here = "return await mux.fix.env({ name: 'HERE' })";
    assert_eq!(in_a.run(here).await, json!(format!("<{}>", a.display())));
    // There is one list of tools, and `mux servers` shows why there are several sessions.
    let server = seen(&env, "fix");
    assert_eq!(server["share_reason"], "its entry uses ${workspace}");
    assert_eq!(server["sessions"].as_array().unwrap().len(), 2);
    let shown = env.mux(["servers"]).ok().stdout;
    assert!(shown.contains("one session for each workspace"), "{shown}");
    assert!(shown.contains(a.to_str().unwrap()), "{shown}");
    let nowhere = Client::at(&env, None).await;
    let error = nowhere.try_call("fix.cwd").await.unwrap_err();
    assert_eq!(error.kind, mux_proto::Kind::Unavailable);
    assert!(error.hint.unwrap().contains("--workspace"));
}

#[test]
fn workspace_variable_with_share_user_is_refused() {
    let env = TestEnv::new();
    let fix = server(
        "fix",
        &binary("mux-fixture-server"),
        &["--name", "${workspace}"],
    );
    env.write_config(&format!("{fix}share = \"user\"\n"));
    let problems = env.mux(["reload"]).ok();
    let said = format!("{}{}", problems.stdout, problems.stderr);
    assert!(
        said.contains("cannot be combined with `${workspace}`"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sessions_are_closed_at_the_session_limit_and_busy_ones_are_not() {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--call-log", log.to_str().unwrap()]);
    env.write_config(&format!(
        "{fix}share = \"client\"\n{}",
        env.fixture("other", &[])
    ));
    let mut clients = Vec::new();
    for _ in 0..16 {
        clients.push(Client::at(&env, None).await);
    }
    let first = clients[0].pid("fix").await;
    for client in &clients[1..] {
        client.pid("fix").await;
    }
    let another = Client::at(&env, None).await;
    another.pid("fix").await;
    assert_ne!(
        clients[0].pid("fix").await,
        first,
        "it was used least lately"
    );
    // Now all sixteen sessions have a hanging call.
    let mut hanging = vec![tokio::spawn(
        async move { another.try_call("fix.hang").await },
    )];
    let late = clients.remove(1);
    for client in clients {
        hanging.push(tokio::spawn(
            async move { client.try_call("fix.hang").await },
        ));
    }
    env.until_called(&log, "hang", 16, "other.pid");
    let error = late.try_call("fix.pid").await.unwrap_err();
    assert_eq!(error.kind, mux_proto::Kind::Busy, "{error:?}");
    assert!(error.message.contains("16 sessions"), "{error:?}");
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
}
