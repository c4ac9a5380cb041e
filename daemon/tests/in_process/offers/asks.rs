//! Questions of servers, which clients answer them, and when they are declined or withdrawn.

use mux_proto::{Answer, AskKind, Cause, Kind, NoticeKind};
use serde_json::{Value, json};

use super::with_offers;
use crate::client::{Client, accepted, within};

const ALL: [AskKind; 3] = [AskKind::Elicitation, AskKind::Sampling, AskKind::Roots];

#[tokio::test(flavor = "multi_thread")]
async fn each_question_goes_to_the_client_whose_call_caused_it() {
    let home = with_offers("");
    let mut client = Client::ready(&home, &ALL).await;
    let bystander = Client::listening(&home, &ALL).await;

    let call = client.begin("elicit", json!({ "message": "your name?" }));
    let (ask, kind, params) = client.question().await;
    assert_eq!(kind, AskKind::Elicitation);
    assert_eq!(
        (&params["message"], &params["mode"]),
        (&json!("your name?"), &json!("form"))
    );
    client
        .answer(ask, accepted("a-secret-answer"))
        .await
        .unwrap();
    let answered = call.await.unwrap().unwrap();
    assert_eq!(answered["content"]["name"], "a-secret-answer");

    let call = client.begin(
        "elicit",
        json!({ "message": "log in", "url": "https://x.test/1" }),
    );
    let (ask, _, params) = client.question().await;
    assert_eq!(
        (&params["url"], &params["mode"]),
        (&json!("https://x.test/1"), &json!("url"))
    );
    client
        .answer(ask, Answer::Result(json!({ "action": "decline" })))
        .await
        .unwrap();
    assert_eq!(call.await.unwrap().unwrap()["action"], "decline");

    let call = client.begin("sample", json!({}));
    let (ask, kind, params) = client.question().await;
    assert_eq!(
        (kind, &params["maxTokens"]),
        (AskKind::Sampling, &json!(10))
    );
    let content = json!({ "type": "text", "text": "4" });
    let sampled = json!({ "role": "assistant", "model": "m", "content": content });
    client.answer(ask, Answer::Result(sampled)).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap()["content"]["text"], "4");

    let call = client.begin("roots", json!({}));
    let (ask, kind, _) = client.question().await;
    assert_eq!(kind, AskKind::Roots);
    let roots = json!({ "roots": [{ "uri": "file:///x" }] });
    client
        .answer(ask, Answer::Result(roots.clone()))
        .await
        .unwrap();
    assert_eq!(call.await.unwrap().unwrap(), roots);

    assert!(bystander.notices(0).await.is_empty());
    let log = home.finished_log().await;
    assert!(log.contains("session open") && !log.contains("a-secret-answer"));
}

#[tokio::test(flavor = "multi_thread")]
async fn question_names_the_run_as_cause_and_the_program_gets_the_answer() {
    let home = with_offers("");
    let mut client = Client::ready(&home, &ALL).await;
    let elicit = [("fix.elicit", json!({ "message": "?" }))];
    let run = client.start_steps(&elicit, false).await;
    let NoticeKind::Ask { ask, cause, .. } = client.next().await else {
        panic!("something else");
    };
    assert_eq!(cause, Cause::Run(run.clone()));
    client.answer(ask, accepted("Ada")).await.unwrap();
    let summary = client.summary(&run).await;
    assert_eq!(summary["result"]["content"]["name"], "Ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_answer_is_rejected_and_the_question_stays_open() {
    let home = with_offers("");
    let mut client = Client::ready(&home, &ALL).await;
    let call = client.begin("elicit", json!({ "message": "?" }));
    let (ask, ..) = client.question().await;
    for wrong in [json!({ "action": "perhaps" }), json!({}), json!("yes")] {
        let error = client.answer(ask, Answer::Result(wrong)).await.unwrap_err();
        assert_eq!(error.kind, Kind::Validation);
    }
    client
        .answer(ask + 1, Answer::Result(json!(7)))
        .await
        .unwrap();
    client
        .answer(ask, Answer::Refused("no form here".into()))
        .await
        .unwrap();
    let declined = call.await.unwrap().unwrap();
    assert_eq!(declined["action"], "decline");
    assert_eq!(declined["_meta"]["muxd/reason"], "no form here");
    // The question is closed: a late answer is ignored.
    client.answer(ask, accepted("late")).await.unwrap();
}

fn is_declined(answer: &Value) {
    assert_eq!(answer["action"], "decline", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn question_without_an_answering_client_is_declined_at_once() {
    let home = with_offers("");
    // A client that requests no notices, and a client that answers only other kinds.
    let deaf = Client::deaf(&home).await;
    let other = Client::listening(&home, &[AskKind::Roots]).await;
    for client in [&deaf, &other] {
        is_declined(&client.call("elicit", json!({ "message": "?" })).await);
        let sampled = client.call("sample", json!({})).await;
        assert_eq!(sampled["error"]["code"], -1);
        let message = sampled["error"]["message"].as_str().unwrap();
        assert!(message.contains("no client can be asked"), "{message}");
    }
    assert_eq!(deaf.call("roots", json!({})).await, json!({ "roots": [] }));
    let (folder, uri) = if cfg!(windows) {
        ("C:\\me\\my work", "file:///C:/me/my%20work")
    } else {
        ("/home/me/my work", "file:///home/me/my%20work")
    };
    let here = Client::at(&home, Some(folder.into())).await;
    let root = json!({ "uri": uri, "name": "my work" });
    assert_eq!(
        here.call("roots", json!({})).await,
        json!({ "roots": [root] })
    );
    // A detached run has no connection.
    let listening = Client::listening(&home, &ALL).await;
    let elicit = [("fix.elicit", json!({ "message": "?" }))];
    let run = listening.start_steps(&elicit, true).await;
    is_declined(&listening.summary(&run).await["result"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_with_two_possible_callers_is_declined() {
    let home = with_offers("");
    let client = Client::ready(&home, &ALL).await;
    let second = Client::listening(&home, &ALL).await;
    let waiting = second.begin("hang", json!({}));
    client.until_waiting(1).await;
    is_declined(&client.call("elicit", json!({ "message": "?" })).await);
    assert!(client.notices(0).await.is_empty());
    assert!(second.notices(0).await.is_empty());
    drop(second);
    waiting.abort();
    client.until_waiting(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn question_without_a_call_in_flight_is_declined() {
    let home = with_offers("");
    let client = Client::ready(&home, &ALL).await;
    assert_eq!(client.call("elicit_later", json!({})).await, "later");
    // The next call may be in flight when the question comes: then this client is asked, and declines.
    let late = client.begin("late_answer", json!({}));
    let answers = async {
        loop {
            for notice in client.notices(1_000).await {
                if let NoticeKind::Ask { ask, .. } = notice.notice {
                    let decline = json!({ "action": "decline" });
                    client.answer(ask, Answer::Result(decline)).await.unwrap();
                }
            }
        }
    };
    let answer = tokio::select! {
        answer = late => answer.unwrap().unwrap(),
        () = answers => unreachable!(),
    };
    is_declined(&answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_is_withdrawn_when_the_server_or_the_caller_cancels() {
    let home = with_offers("");
    let mut client = Client::ready(&home, &ALL).await;
    let call = client.begin("elicit", json!({ "message": "?" }));
    let (ask, ..) = client.question().await;
    call.abort();
    assert_eq!(client.next().await, NoticeKind::Withdrawn { ask });
    // A question that the server cancels immediately is asked and withdrawn, or never asked.
    client
        .call("elicit", json!({ "message": "?", "cancel": true }))
        .await;
    let elicit = [("fix.elicit", json!({ "message": "in a run" }))];
    let run = client.start_steps(&elicit, false).await;
    let ask = loop {
        match client.next().await {
            NoticeKind::Ask { ask, params, .. } if params["message"] == "in a run" => break ask,
            NoticeKind::Ask { .. } | NoticeKind::Withdrawn { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    let cancelled = client.rpc.cancel_run(within(), run);
    cancelled.await.unwrap().unwrap();
    assert_eq!(client.next().await, NoticeKind::Withdrawn { ask });
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_client_leaves_no_open_question() {
    let home = with_offers("");
    let mut client = Client::ready(&home, &ALL).await;
    let call = client.begin("elicit", json!({ "message": "?" }));
    client.question().await;
    call.abort();
    drop(client);
    let next = Client::deaf(&home).await;
    next.until_waiting(0).await;
    is_declined(&next.call("elicit", json!({ "message": "?" })).await);
    assert_eq!(home.starts("fix"), 1);
}
