//! Calls that become MCP tasks.

use mux_proto::{AskKind, Kind, NoticeKind};
use serde_json::json;

use super::{BOTH, home_of};
use crate::client::{Client, accepted};

#[tokio::test(flavor = "multi_thread")]
async fn task_is_polled_until_its_result() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut client = Client::ready(&home, &[AskKind::Elicitation]).await;
        let done = client.call("task", json!({ "steps": 2 })).await;
        assert_eq!(done["answer"], json!(null), "{era}: {done}");
        let mut words = Vec::new();
        while let Some(notice) = client.notices(0).await.pop() {
            client.after = notice.seq;
            if let NoticeKind::Progress { message, .. } = notice.notice {
                words.extend(message);
            }
        }
        assert!(words.contains(&"step 2".to_owned()), "{era}: {words:?}");

        let call = client.begin("task", json!({ "steps": 1, "ask": true }));
        let ask = loop {
            match client.next().await {
                NoticeKind::Ask { ask, params, .. } => {
                    assert_eq!(params["message"], "in a task?");
                    break ask;
                }
                NoticeKind::Progress { .. } => {}
                other => panic!("{other:?}"),
            }
        };
        client.answer(ask, accepted("ada")).await.unwrap();
        let done = call.await.unwrap().unwrap();
        assert_eq!(done["answer"]["content"]["name"], "ada", "{era}: {done}");

        let call = client.begin("task", json!({ "steps": 0, "fail": true }));
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind, Kind::Tool);
        assert!(error.message.contains("the task failed"), "{era}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_task_is_cancelled_at_the_server() {
    for era in BOTH {
        let home = home_of(era, &[]);
        let mut client = Client::ready(&home, &[]).await;
        let call = client.begin("task", json!({ "steps": 1, "forever": true }));
        // The first progress notification shows that the task exists.
        while !matches!(client.next().await, NoticeKind::Progress { .. }) {}
        call.abort();
        let requests = home.requests("fix");
        let made = requests.iter().find(|request| request["tool"] == "task");
        let made = made.unwrap();
        let id = format!("task-{}", made["id"]);
        let mut status = json!(null);
        for _ in 0..2000 {
            status = client.call("task_status", json!({ "id": id })).await;
            if status == "cancelled" {
                break;
            }
        }
        assert_eq!(status, "cancelled", "{era}");
    }
}
