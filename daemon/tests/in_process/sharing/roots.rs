//! Servers that ask for roots: each workspace has its own session, unless configured otherwise.

use serde_json::{Value, json};

use super::{instance, workspace};
use crate::{client::Client, home::Home};

fn root(folder: &std::path::Path) -> Value {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let uri = url::Url::from_file_path(folder).unwrap();
    json!({ "roots": [{ "uri": uri.as_str(), "name": name }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_asks_for_roots_at_startup_has_a_process_per_workspace() {
    let home = Home::with_fixtures(&[("fix", &["--ask-roots"])]);
    let a = workspace(&home, "a");
    let b = workspace(&home, "b");
    let in_a = Client::at(&home, Some(a.clone())).await;
    let in_b = Client::at(&home, Some(b.clone())).await;
    let also_in_a = Client::at(&home, Some(a.clone())).await;
    // The daemon does not know yet that the server asks for roots, and all calls arrive at once.
    let (one, two, three) = tokio::join!(instance(&in_a), instance(&in_b), instance(&also_in_a));
    assert_eq!(one, three);
    assert_ne!(one, two);
    assert_eq!(in_a.call("fix.told_roots", json!({})).await, root(&a));
    assert_eq!(in_b.call("fix.told_roots", json!({})).await, root(&b));
    assert_eq!(home.starts("fix"), 2);
    let server = json!(in_a.server("fix").await);
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
    let home = Home::with_fixtures(&[("fix", &["--ask-roots"])]);
    let a = workspace(&home, "a");
    let client = Client::at(&home, Some(a)).await;
    client.call("fix.told_roots", json!({})).await;
    assert_eq!(
        json!(client.server("fix").await)["share_reason"],
        "it asks for roots"
    );
    home.stop().await;
    let nowhere = Client::at(&home, None).await;
    let server = json!(nowhere.server("fix").await);
    assert_eq!(server["share_reason"], "it asks for roots", "{server:#}");
    // A client without a workspace has a session without roots.
    assert_eq!(
        nowhere.call("fix.told_roots", json!({})).await,
        json!({ "roots": [] })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_asks_for_roots_in_a_call_is_bound_to_its_workspace() {
    let home = Home::with_fixtures(&[("fix", &["--offers"])]);
    let a = workspace(&home, "a");
    let b = workspace(&home, "b");
    let in_a = Client::at(&home, Some(a.clone())).await;
    let in_b = Client::at(&home, Some(b.clone())).await;
    let shared = instance(&in_a).await;
    assert_eq!(instance(&in_b).await, shared);
    assert_eq!(in_b.call("fix.roots", json!({})).await, root(&b));
    assert_eq!(instance(&in_b).await, shared);
    assert_ne!(instance(&in_a).await, shared);
    assert_eq!(in_a.call("fix.roots", json!({})).await, root(&a));
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_of_the_entry_are_sent_whatever_the_workspace() {
    let home = Home::new();
    let a = workspace(&home, "a");
    let fixed = workspace(&home, "fixed");
    let entry = home.fixture("fix", &["--ask-roots"]);
    let none = home.fixture("none", &["--offers"]);
    home.write_config(&format!(
        "{entry}roots = [{fixed:?}]\n{none}roots = \"none\"\n"
    ));
    let in_a = Client::at(&home, Some(a)).await;
    let elsewhere = Client::at(&home, None).await;
    for client in [&in_a, &elsewhere] {
        assert_eq!(client.call("fix.told_roots", json!({})).await, root(&fixed));
        assert_eq!(
            client.call("none.roots", json!({})).await,
            json!({ "roots": [] })
        );
    }
    for name in ["fix", "none"] {
        assert_eq!(home.starts(name), 1);
        assert_eq!(json!(in_a.server(name).await)["share"], "user");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn share_user_shares_a_session_across_workspaces_with_a_warning() {
    let home = Home::new();
    home.write_config(&format!(
        "{}share = \"user\"\n",
        home.fixture("fix", &["--offers"])
    ));
    let a = workspace(&home, "a");
    let b = workspace(&home, "b");
    let in_a = Client::at(&home, Some(a.clone())).await;
    let in_b = Client::at(&home, Some(b.clone())).await;
    assert_eq!(in_a.call("fix.roots", json!({})).await, root(&a));
    assert_eq!(in_b.call("fix.roots", json!({})).await, root(&b));
    assert_eq!(home.starts("fix"), 1);
    let server = json!(in_a.server("fix").await);
    assert_eq!(
        (&server["share"], server.get("share_reason")),
        (&json!("user"), None)
    );
    let warning = server["warnings"][0]["text"].as_str().unwrap();
    assert!(warning.contains("share = \"user\""), "{warning}");
}
