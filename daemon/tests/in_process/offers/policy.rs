//! Policy rules on requests of a server to the client whose call it is executing.

use std::fmt::Write as _;

use mux_proto::{Answer, ApprovalsRequest, AskKind, NoticeKind};
use serde_json::{Value, json};

use crate::{
    client::{Client, within},
    home::Home,
};

const ALL: [AskKind; 4] = [
    AskKind::Elicitation,
    AskKind::Sampling,
    AskKind::Roots,
    AskKind::Approval,
];

/// A home with a fixture server `fix` that has all capabilities, and these rules (match and action).
fn under(rules: &[(&str, &str)]) -> Home {
    let home = Home::new();
    let mut config = home.fixture("fix", &["--offers"]);
    for (path, action) in rules {
        _ = write!(
            config,
            "[[policy]]\nmatch = {path:?}\naction = {action:?}\n"
        );
    }
    home.write_config(&config);
    home
}

fn sampled() -> Answer {
    let content = json!({ "type": "text", "text": "4" });
    Answer::Result(json!({ "role": "assistant", "model": "m", "content": content }))
}

/// Requests of the server in the audit log: path, decision, origin of the decision, outcome.
async fn audited(home: &Home) -> Vec<[String; 4]> {
    let entries = home.audit().await.into_iter();
    let entries = entries.filter(|entry| {
        entry["path"]
            .as_str()
            .is_some_and(|path| path.contains('/'))
    });
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    entries
        .map(|entry| ["path", "decision", "by", "outcome"].map(|key| text(&entry, key)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_is_denied_unless_a_rule_allows_it_by_name() {
    for rules in [&[][..], &[("fix.*", "allow"), ("*", "allow")][..]] {
        let home = under(rules);
        let client = Client::ready(&home, &ALL).await;
        let refused = client.call("sample", json!({})).await;
        assert_eq!(refused["error"]["code"], -1);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("`[[policy]]` with match = \"fix.sampling/createMessage\""),
            "{message}"
        );
        assert!(client.notices(0).await.is_empty());
        // Other kinds of requests are allowed.
        let roots = client.begin("roots", json!({}));
        let mut client = client;
        let (ask, kind, _) = client.question().await;
        assert_eq!(kind, AskKind::Roots);
        client
            .answer(ask, Answer::Result(json!({ "roots": [] })))
            .await
            .unwrap();
        roots.await.unwrap().unwrap();
        drop(client);
        let expected = [
            ["fix.sampling/createMessage", "deny", "default", "denied"],
            ["fix.roots/list", "allow", "default", "ok"],
        ];
        assert_eq!(
            audited(&home).await,
            expected.map(|line| line.map(str::to_owned))
        );
    }
    let home = under(&[("fix.sampling/createMessage", "allow"), ("*", "allow")]);
    let mut client = Client::ready(&home, &ALL).await;
    let call = client.begin("sample", json!({}));
    let (ask, kind, _) = client.question().await;
    assert_eq!(kind, AskKind::Sampling);
    client.answer(ask, sampled()).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap()["content"]["text"], "4");
    let explanation = client.explain("fix.sampling/createMessage").await;
    assert_eq!(
        (&explanation["action"], &explanation["rule"]["number"]),
        (&json!("allow"), &json!(1))
    );
    let explanation = client.explain("other.sampling/createMessage").await;
    assert_eq!(explanation["action"], "deny");
    assert!(
        explanation
            .to_string()
            .contains("does not name a server's request"),
        "{explanation}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_server_request_is_refused_without_asking_the_client() {
    let home = under(&[
        ("*.elicitation/*", "deny"),
        ("fix.roots/list", "deny"),
        ("fix.sampling/*", "deny"),
    ]);
    let mut client = Client::at(&home, Some("/home/me".into())).await;
    client.listen(&ALL).await;
    client.call("echo", json!({ "text": "x" })).await;
    client.notices(0).await;
    let asked = client.call("elicit", json!({ "message": "?" })).await;
    assert_eq!(asked["action"], "decline");
    let why = asked["_meta"]["muxd/reason"].as_str().unwrap();
    assert!(
        why.contains("does not allow it") && !why.contains("elicitation/*"),
        "{why}"
    );
    let refused = client.call("sample", json!({})).await;
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("does not allow it") && !why.contains("[[policy]]"),
        "{why}"
    );
    // The server does not even get the workspace of its caller.
    assert_eq!(
        client.call("roots", json!({})).await,
        json!({ "roots": [] })
    );
    let asked = client.notices(0).await;
    assert!(
        !asked
            .iter()
            .any(|notice| matches!(notice.notice, NoticeKind::Ask { .. })),
        "{asked:?}"
    );
    drop(client);
    for [path, decision, _, outcome] in audited(&home).await {
        assert_eq!(
            (decision.as_str(), outcome.as_str()),
            ("deny", "denied"),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_request_with_ask_rule_needs_approval_that_shows_its_content() {
    let home = under(&[("fix.sampling/createMessage", "ask")]);
    let mut client = Client::ready(&home, &[AskKind::Sampling, AskKind::Approval]).await;
    let call = client.begin("sample", json!({}));
    let approve = async |client: &mut Client, decision: &str| {
        let id = loop {
            match client.next().await {
                NoticeKind::Ask {
                    ask,
                    own,
                    kind,
                    params,
                    ..
                } => {
                    assert_eq!((own, kind), (true, AskKind::Approval));
                    assert_eq!(params["path"], "fix.sampling/createMessage");
                    assert!(params["arguments"].as_str().unwrap().contains("2 + 2?"));
                    break ask;
                }
                NoticeKind::ApprovalAsked { .. } | NoticeKind::ApprovalOver { .. } => {}
                other => panic!("{other:?}"),
            }
        };
        let answer = Answer::Result(json!({ "decision": decision }));
        client.answer(id, answer).await.unwrap();
    };
    approve(&mut client, "once").await;
    let ask = loop {
        match client.next().await {
            NoticeKind::Ask {
                ask,
                own,
                server,
                kind,
                ..
            } => {
                assert_eq!(
                    (own, server.as_str(), kind),
                    (false, "fix", AskKind::Sampling)
                );
                break ask;
            }
            NoticeKind::ApprovalOver { .. } | NoticeKind::Withdrawn { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    client.answer(ask, sampled()).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap()["content"]["text"], "4");
    let call = client.begin("sample", json!({}));
    approve(&mut client, "deny").await;
    let refused = call.await.unwrap().unwrap();
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("does not allow it"),
        "{refused}"
    );
    drop(client);
    let decided: Vec<[String; 2]> = audited(&home)
        .await
        .into_iter()
        .map(|[_, decision, _, outcome]| [decision, outcome])
        .collect();
    assert_eq!(decided, [["approved", "ok"], ["denied", "denied"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unapproved_server_request_is_refused_and_not_stored() {
    let home = under(&[("fix.elicitation/create", "ask")]);
    let config = std::fs::read_to_string(home.dirs.config_file()).unwrap();
    home.write_config(&format!("{config}[approvals]\nwait = \"1s\"\n"));
    let client = Client::ready(&home, &[AskKind::Elicitation]).await;
    // The client can show forms, but answers none.
    let asked = client.call("elicit", json!({ "message": "?" })).await;
    assert_eq!(asked["action"], "decline", "{asked}");
    let left = client.rpc.approvals(within(), ApprovalsRequest::default());
    assert!(left.await.unwrap().unwrap().approvals.is_empty());
    let kept = std::fs::read_dir(home.dirs.state.join("approvals"));
    let json = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "json");
    let kept = kept.into_iter().flatten().flatten().filter(json).count();
    assert_eq!(kept, 0);
}
