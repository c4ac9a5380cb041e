//! Resources and prompts that need approval.

use mux_proto::{CompleteRequest, Decision, Held};
use serde_json::{Value, json};

use super::change;
use crate::{
    client::{Client, within},
    home::Home,
};

const URI: &str = "fix://text/hello";

/// A home with the server `fix`, whose resources and prompts need approval.
fn asking() -> Home {
    let home = Home::new();
    let fix = home.fixture("fix", &["--offers"]);
    home.write_config(&format!(
        "{fix}[[policy]]\nmatch = [\"fix.resources/read\", \"fix.prompts/get\"]\naction = \"ask\"\n"
    ));
    home
}

/// The audit entries of all reads and prompts, in the order in which they ended.
async fn decisions(home: &Home) -> Vec<String> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or("-").to_owned();
    let entries = home.audit().await.into_iter();
    let entries = entries.filter(|entry| text(entry, "path").contains('/'));
    let lines = entries.map(|entry| {
        ["path", "decision", "outcome"]
            .map(|key| text(&entry, key))
            .join(" ")
    });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn denials_by_user_and_by_rule_added_meanwhile_are_enforced_and_audited() {
    let home = asking();
    let client = Client::deaf(&home).await;
    let user = Client::deaf(&home).await;
    let answered = async |decision: Decision, deny: bool| {
        let (read, ()) = tokio::join!(client.read(URI), async {
            let one = user.approvals_once(1).await.remove(0);
            if deny {
                change(&home, &user, "\"ask\"", "\"deny\"").await;
            }
            user.decide(&one.approval, decision).await.unwrap();
        });
        read
    };
    answered(Decision::Once, false).await.unwrap();
    let error = answered(Decision::Deny, false).await.unwrap_err();
    assert!(error.message.contains("denied by the user"), "{error:?}");
    let error = answered(Decision::Once, true).await.unwrap_err();
    assert!(error.message.contains("denied by the policy"), "{error:?}");
    assert_eq!(
        decisions(&home).await,
        [
            "fix.resources/read approved ok",
            "fix.resources/read denied denied",
            "fix.resources/read deny denied",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_never_asks_for_approval() {
    let home = Home::new();
    let fix = home.fixture("fix", &["--offers"]);
    home.write_config(&format!(
        "{fix}[[policy]]\nmatch = \"fix.completion/complete\"\naction = \"ask\"\n"
    ));
    let client = Client::deaf(&home).await;
    let request = CompleteRequest {
        server: "fix".into(),
        params: json!({
            "ref": { "type": "ref/prompt", "name": "greet" },
            "argument": { "name": "name", "value": "A" },
        }),
    };
    let error = client
        .rpc
        .complete(within(), request)
        .await
        .unwrap()
        .unwrap_err();
    assert!(error.message.contains("completions"), "{error:?}");
    client.approvals_once(0).await;
    // Other requests are not affected.
    assert!(matches!(client.read(URI).await.unwrap(), Held::Value(_)));
}
