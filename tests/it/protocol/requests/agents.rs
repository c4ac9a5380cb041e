//! Requests of agents other than programs: discovery, resources and prompts, notices.

use mux_proto::{
    Answer, AnswerRequest, AskKind, CallRequest, CompleteRequest, DescribeRequest,
    InventoryRequest, NoticesRequest, OfferKind, OffersRequest, PromptRequest, ResourceRequest,
    SearchRequest, SubscribeRequest, ToolsRequest, service::MuxRequest,
};
use serde_json::{Map, json};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![
        ("search", MuxRequest::Search { request: search() }),
        (
            "describe",
            MuxRequest::Describe {
                request: DescribeRequest {
                    paths: vec!["fix.add".into()],
                    schemas: true,
                    all_instructions: true,
                },
            },
        ),
        (
            "inventory",
            MuxRequest::Inventory {
                request: InventoryRequest {
                    max_overview_chars: Some(1_000),
                    max_chars: Some(2_000),
                    budget_tokens: Some(500),
                    wait_ms: 1000,
                },
            },
        ),
        ("tools_direct", MuxRequest::Tools { request: direct() }),
        ("call_token", MuxRequest::Call { request: call() }),
        ("offers", MuxRequest::Offers { request: offers() }),
        (
            "read_resource",
            MuxRequest::ReadResource {
                request: ResourceRequest {
                    server: "fix".into(),
                    uri: "fix://text/a".into(),
                    token: Some("t-1".into()),
                    meta: Map::new(),
                },
            },
        ),
        ("get_prompt", MuxRequest::GetPrompt { request: prompt() }),
        (
            "complete",
            MuxRequest::Complete {
                request: CompleteRequest {
                    server: "fix".into(),
                    params: json!({
                        "ref": { "type": "ref/prompt", "name": "greet" },
                        "argument": { "name": "name", "value": "a" },
                    }),
                },
            },
        ),
        (
            "subscribe",
            MuxRequest::Subscribe {
                request: SubscribeRequest {
                    server: "fix".into(),
                    uri: "fix://text/a".into(),
                    subscribe: true,
                },
            },
        ),
        (
            "notices",
            MuxRequest::Notices {
                request: NoticesRequest {
                    after: 0,
                    wait_ms: 0,
                    answers: vec![AskKind::Elicitation, AskKind::Sampling, AskKind::Roots],
                },
            },
        ),
        ("answer", MuxRequest::Answer { request: answer() }),
    ]
}

fn search() -> SearchRequest {
    SearchRequest {
        query: "add numbers".into(),
        server: Some("fix".into()),
        limit: Some(3),
        ..SearchRequest::default()
    }
}

fn direct() -> ToolsRequest {
    ToolsRequest {
        server: Some("fix".into()),
        direct: true,
        definitions: true,
        wait_ms: Some(1000),
        ..ToolsRequest::default()
    }
}

fn call() -> CallRequest {
    CallRequest {
        path: "fix.add".into(),
        arguments: json!({ "a": 1, "b": 2.5 }).into(),
        token: Some("t-2".into()),
        meta: Map::from_iter([("com.example/own".to_owned(), json!({ "n": 1 }))]),
        ..CallRequest::default()
    }
}

fn offers() -> OffersRequest {
    OffersRequest {
        kind: OfferKind::ResourceTemplates,
        server: Some("fix".into()),
        wait_ms: None,
    }
}

fn prompt() -> PromptRequest {
    let arguments = Map::from_iter([("name".to_owned(), json!("Ada"))]);
    PromptRequest {
        server: "fix".into(),
        name: "greet".into(),
        arguments,
        token: None,
        meta: Map::new(),
    }
}

fn answer() -> AnswerRequest {
    let result = json!({ "action": "accept", "content": { "name": "Ada" } });
    AnswerRequest {
        ask: 7,
        answer: Answer::Result(result),
    }
}
