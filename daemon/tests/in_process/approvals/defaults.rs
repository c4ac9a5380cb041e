//! Without a matching rule, a destructive tool needs approval if the user can be asked when the work begins. Neither
//! the program nor a client that resumes it can change that.

use mux_proto::{Answer, AskKind, Decision, Kind, NoticeKind};
use serde_json::{Value, json};

use super::{SOON, asking, mark, marks, resume::resume};
use crate::client::Client;

/// Answers the question whether a call may be sent, and returns the question.
async fn answer(client: &mut Client, decision: &str) -> Value {
    loop {
        if let NoticeKind::Ask {
            ask,
            own: true,
            kind: AskKind::Approval,
            params,
            ..
        } = client.next().await
        {
            let answer = Answer::Result(json!({ "decision": decision }));
            client.answer(ask, answer).await.unwrap();
            return params;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn destructive_call_needs_approval_if_the_user_can_be_asked() {
    let home = asking("");
    let mut client = Client::listening(&home, &[AskKind::Approval]).await;
    let (tool, arguments) = mark(&home, "denied");
    let call = client.begin(tool, arguments);
    let asked = answer(&mut client, "deny").await;
    assert_eq!(asked["path"], "fix.side_effect");
    let said = "calls itself destructive";
    assert!(asked.to_string().contains(said), "{asked}");
    let error = call.await.unwrap().unwrap_err();
    assert!(error.message.contains("denied by the user"), "{error:?}");
    assert!(marks(&home).is_empty() && home.called("fix", "side_effect") == 0);
    let run = client.start_steps(&[mark(&home, "approved")], false).await;
    answer(&mut client, "once").await;
    assert_eq!(client.summary(&run).await["result"], "done");
    // If no user can be asked the tool is called, as documented in docs/guides/policy.md.
    let mute = Client::deaf(&home).await;
    let (tool, arguments) = mark(&home, "mute");
    mute.call(tool, arguments).await;
    assert_eq!(marks(&home), ["approved", "mute"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn destructive_call_of_detached_run_needs_approval() {
    let home = asking("");
    let client = Client::listening(&home, &[AskKind::Approval]).await;
    let run = client.start_steps(&[mark(&home, "detached")], true).await;
    let waiting = client.approvals_once(1).await;
    assert_eq!(waiting[0].path, "fix.side_effect");
    assert!(marks(&home).is_empty());
    client.decide("A1", Decision::Once).await.unwrap();
    assert_eq!(client.summary(&run).await["result"], "done");
    assert_eq!(marks(&home), ["detached"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_does_not_approve_an_unanswered_or_denied_call() {
    let home = asking(SOON);
    let client = Client::listening(&home, &[AskKind::Approval]).await;
    let user = Client::deaf(&home).await;
    for (approval, line, kind) in [("A1", "never", Kind::Denied), ("A2", "late", Kind::Pending)] {
        let run = client.start_steps(&[mark(&home, line)], false).await;
        assert_eq!(client.failure(&run).await.kind, Kind::Pending);
        if approval == "A1" {
            user.decide(approval, Decision::Deny).await.unwrap();
        }
        let again = resume(&user, approval).await.unwrap();
        assert_eq!(user.failure(&again).await.kind, kind);
        assert!(marks(&home).is_empty(), "{approval}");
    }
    // The unanswered run still waits.
    user.decide("A2", Decision::Once).await.unwrap();
    let again = resume(&user, "A2").await.unwrap();
    assert_eq!(user.summary(&again).await["result"], "done");
    assert_eq!(marks(&home), ["late"]);
}
