//! Servers that ask for roots: each workspace has its own session, unless configured otherwise.

use serde_json::{Value, json};

use super::{Client, seen, workspace};
use mux_tests::TestEnv;

fn root(folder: &std::path::Path) -> Value {
    let name = folder.file_name().unwrap().to_str().unwrap();
    json!({ "roots": [{ "uri": format!("file://{}", folder.display()), "name": name }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_asks_for_roots_at_startup_has_a_process_per_workspace() {
    let env = TestEnv::with_fixtures(&[("fix", &["--ask-roots"])]);
    let (a, b) = (workspace(&env, "a"), workspace(&env, "b"));
    let in_a = Client::at(&env, Some(a.clone())).await;
    let in_b = Client::at(&env, Some(b.clone())).await;
    let also_in_a = Client::at(&env, Some(a.clone())).await;
    // The daemon does not know yet that the server asks for roots, and all calls arrive at once.
    let (one, two, three) = tokio::join!(in_a.pid("fix"), in_b.pid("fix"), also_in_a.pid("fix"));
    assert_eq!(one, three);
    assert_ne!(one, two);
    assert_eq!(in_a.call("fix.told_roots").await, root(&a));
    assert_eq!(in_b.call("fix.told_roots").await, root(&b));
    assert_eq!(env.starts("fix").len(), 2);
    let server = seen(&env, "fix");
    assert_eq!(server["share"], "workspace");
    assert_eq!(server["share_reason"], "it asks for roots");
    let mut of: Vec<&str> = Vec::new();
    of.extend(
        server["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["of"].as_str().unwrap()),
    );
    assert_eq!(of, [a.to_str().unwrap(), b.to_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn next_daemon_knows_that_a_server_asks_for_roots() {
    let env = TestEnv::with_fixtures(&[("fix", &["--ask-roots"])]);
    // Both daemons have the same home, which is where the server starts.
    env.mux(["servers"]).ok();
    let a = workspace(&env, "a");
    let client = Client::at(&env, Some(a)).await;
    client.call("fix.told_roots").await;
    assert_eq!(seen(&env, "fix")["share_reason"], "it asks for roots");
    env.stop();
    let server = seen(&env, "fix");
    assert_eq!(server["share_reason"], "it asks for roots", "{server:#}");
    // A client without a workspace has a session without roots.
    let nowhere = Client::at(&env, None).await;
    assert_eq!(nowhere.call("fix.told_roots").await, json!({ "roots": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_asks_for_roots_in_a_call_is_bound_to_its_workspace() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    let (a, b) = (workspace(&env, "a"), workspace(&env, "b"));
    let in_a = Client::at(&env, Some(a.clone())).await;
    let in_b = Client::at(&env, Some(b.clone())).await;
    let shared = in_a.pid("fix").await;
    assert_eq!(in_b.pid("fix").await, shared);
    assert_eq!(in_b.call("fix.roots").await, root(&b));
    assert_eq!(in_b.pid("fix").await, shared);
    assert_ne!(in_a.pid("fix").await, shared);
    assert_eq!(in_a.call("fix.roots").await, root(&a));
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_of_the_entry_are_sent_whatever_the_workspace() {
    let env = TestEnv::new();
    let (a, fixed) = (workspace(&env, "a"), workspace(&env, "fixed"));
    let entry = env.fixture("fix", &["--ask-roots"]);
    let none = env.fixture("none", &["--offers"]);
    env.write_config(&format!(
        "{entry}roots = [{fixed:?}]\n{none}roots = \"none\"\n"
    ));
    let in_a = Client::at(&env, Some(a)).await;
    let elsewhere = Client::at(&env, None).await;
    for client in [&in_a, &elsewhere] {
        assert_eq!(client.call("fix.told_roots").await, root(&fixed));
        assert_eq!(client.call("none.roots").await, json!({ "roots": [] }));
    }
    for name in ["fix", "none"] {
        assert_eq!(env.starts(name).len(), 1);
        assert_eq!(seen(&env, name)["share"], "user");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn share_user_shares_a_session_across_workspaces_with_a_warning() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}share = \"user\"\n",
        env.fixture("fix", &["--offers"])
    ));
    let (a, b) = (workspace(&env, "a"), workspace(&env, "b"));
    let in_a = Client::at(&env, Some(a.clone())).await;
    let in_b = Client::at(&env, Some(b.clone())).await;
    assert_eq!(in_a.call("fix.roots").await, root(&a));
    assert_eq!(in_b.call("fix.roots").await, root(&b));
    assert_eq!(env.starts("fix").len(), 1);
    let server = seen(&env, "fix");
    assert_eq!(
        (&server["share"], server.get("share_reason")),
        (&json!("user"), None)
    );
    let warning = server["warnings"][0].as_str().unwrap();
    assert!(warning.contains("share = \"user\""), "{warning}");
}
