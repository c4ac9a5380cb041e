//! Requests of servers of both eras to clients, and which client answers them.

use mux_proto::{Answer, AskKind, Cause, Kind, NoticeKind};
use serde_json::json;

use super::{BOTH, LEGACY, MODERN, home_of};
use crate::client::{Client, accepted};

const ALL: [AskKind; 3] = [AskKind::Elicitation, AskKind::Sampling, AskKind::Roots];

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_by_the_calling_client() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut client = Client::ready(&home, &ALL).await;
        let bystander = Client::listening(&home, &ALL).await;

        let call = client.begin("elicit", json!({ "message": "your name?" }));
        let NoticeKind::Ask {
            ask, params, key, ..
        } = client.next().await
        else {
            panic!("no question");
        };
        assert_eq!(params["message"], "your name?");
        assert_eq!(key.as_deref(), (era == MODERN).then_some("asked"));
        client.answer(ask, accepted("ada")).await.unwrap();
        assert_eq!(call.await.unwrap().unwrap()["content"]["name"], "ada");

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
        let answer = Answer::Result(roots.clone());
        client.answer(ask, answer).await.unwrap();
        assert_eq!(call.await.unwrap().unwrap(), roots);
        assert!(bystander.notices(0).await.is_empty(), "{era}");

        // From a run, which continues with the answer.
        let elicit = [("fix.elicit", json!({ "message": "?" }))];
        let run = client.start_steps(&elicit, false).await;
        let NoticeKind::Ask { ask, cause, .. } = client.next().await else {
            panic!("no question");
        };
        assert_eq!(cause, Cause::Run(run.clone()));
        client.answer(ask, accepted("Ada")).await.unwrap();
        let summary = client.summary(&run).await;
        assert_eq!(summary["result"]["content"]["name"], "Ada");

        // Without a client that can answer.
        let deaf = Client::deaf(&home).await;
        let answer = deaf.call("elicit", json!({ "message": "?" })).await;
        assert_eq!(answer["action"], "decline", "{era}: {answer}");
        assert_eq!(deaf.call("roots", json!({})).await, json!({ "roots": [] }));
        let sampled = deaf.begin("sample", json!({})).await.unwrap();
        if era == LEGACY {
            assert_eq!(sampled.unwrap()["error"]["code"], -1);
        } else {
            let error = sampled.unwrap_err();
            assert!(
                error.message.contains("no client can be asked"),
                "{}",
                error.message
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_questions_reach_two_clients_at_once() {
    let home = home_of(MODERN, &[]);
    let mut one = Client::ready(&home, &ALL).await;
    let mut two = Client::listening(&home, &ALL).await;
    let first = one.begin("elicit", json!({ "message": "to one" }));
    let second = two.begin("elicit", json!({ "message": "to two" }));
    for (client, message, name) in [(&mut one, "to one", "1"), (&mut two, "to two", "2")] {
        let (ask, _, params) = client.question().await;
        assert_eq!(params["message"], message);
        client.answer(ask, accepted(name)).await.unwrap();
    }
    assert_eq!(first.await.unwrap().unwrap()["content"]["name"], "1");
    assert_eq!(second.await.unwrap().unwrap()["content"]["name"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_can_ask_repeatedly_up_to_a_limit() {
    let home = home_of(MODERN, &[]);
    let mut client = Client::ready(&home, &ALL).await;
    let call = client.begin("elicit_rounds", json!({ "rounds": 3 }));
    for round in 0..3 {
        let (ask, _, params) = client.question().await;
        assert_eq!(params["message"], format!("question {round}"));
        let answer = accepted(&format!("answer {round}"));
        client.answer(ask, answer).await.unwrap();
    }
    assert_eq!(
        call.await.unwrap().unwrap(),
        json!(["answer 0", "answer 1", "answer 2"])
    );

    let call = client.begin("elicit_both", json!({}));
    for _ in 0..2 {
        let (ask, _, params) = client.question().await;
        let answer = accepted(params["message"].as_str().unwrap());
        client.answer(ask, answer).await.unwrap();
    }
    let both = call.await.unwrap().unwrap();
    assert_eq!(both["first"]["content"]["name"], "first?");
    assert_eq!(both["second"]["content"]["name"], "second?");

    let again = client.call("again", json!({})).await;
    assert_eq!(again, "come back");

    let call = client.begin("elicit_rounds", json!({ "rounds": 100 }));
    for _ in 0..9 {
        let (ask, ..) = client.question().await;
        client.answer(ask, accepted("x")).await.unwrap();
    }
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind, Kind::Limit, "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_is_withdrawn_with_its_call() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut client = Client::ready(&home, &ALL).await;
        let call = client.begin("elicit", json!({ "message": "?" }));
        let (ask, ..) = client.question().await;
        call.abort();
        assert_eq!(client.next().await, NoticeKind::Withdrawn { ask }, "{era}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn url_elicitation_completion_reaches_only_its_client() {
    let home = home_of(LEGACY, &[]);
    let mut client = Client::ready(&home, &ALL).await;
    let bystander = Client::listening(&home, &ALL).await;
    let url = json!({ "message": "log in", "url": "https://x.test/1" });
    let call = client.begin("elicit", url);
    let (ask, ..) = client.question().await;
    let accept = Answer::Result(json!({ "action": "accept" }));
    client.answer(ask, accept).await.unwrap();
    call.await.unwrap().unwrap();
    for id in ["another", "e-1"] {
        bystander.call("page_done", json!({ "id": id })).await;
    }
    let NoticeKind::ElicitationComplete { server, id, .. } = client.next().await else {
        panic!("something else");
    };
    assert_eq!((server.as_str(), id.as_str()), ("fix", "e-1"));
    assert!(bystander.notices(0).await.is_empty());
}
