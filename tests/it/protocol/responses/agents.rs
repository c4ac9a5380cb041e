//! Responses and notices to agents.

use mux_proto::{
    AskKind, Cause, Description, Descriptions, Held, Inventory, Notice, NoticeKind, NoticePage,
    OfferList, Offered, SearchPage, ServerInstructions, ToolHit, ToolInfo, ToolList,
    service::MuxResponse,
};
use serde_json::json;

use super::{answer, missing};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let held = |value| Ok(Held::Value(value));
    vec![
        ("search", MuxResponse::Search(Ok(found()))),
        ("describe", MuxResponse::Describe(Ok(described()))),
        (
            "inventory",
            MuxResponse::Inventory(Ok(Inventory {
                overview: "1 server, each with its number of tools: fix (2)\nnot connected yet: down\n".into(),
                text: "PARTIAL: 1 of 2 signatures; `describe` or mux.describe(path) shows the others.\nfix: add\n fix.fail()\n".into(),
                shown: 2,
                signed: 1,
                total: 2,
                servers: vec!["fix".into()],
                unknown: vec!["down".into()],
                profile: Some("codex".into()),
            })),
        ),
        ("tools_direct", MuxResponse::Tools(Ok(direct()))),
        (
            "call_traced",
            MuxResponse::Call(Ok(answer())),
        ),
        (
            "call_token",
            MuxResponse::Call(Ok(answer())),
        ),
        ("offers", MuxResponse::Offers(Ok(offers()))),
        (
            "read_resource",
            MuxResponse::ReadResource(held(
                json!({ "contents": [{ "uri": "fix://text", "text": "x" }] }).into(),
            )),
        ),
        (
            "get_prompt",
            MuxResponse::GetPrompt(held(json!({ "messages": [] }).into())),
        ),
        (
            "complete",
            MuxResponse::Complete(Ok(json!({ "completion": { "values": ["ada"] } }))),
        ),
        ("subscribe", MuxResponse::Subscribe(Ok(()))),
        ("notices", MuxResponse::Notices(Ok(notices()))),
        ("answer", MuxResponse::Answer(Ok(()))),
    ]
}

fn found() -> SearchPage {
    SearchPage {
        results: vec![ToolHit {
            path: "fix.add".into(),
            server: "fix".into(),
            name: "add".into(),
            description: Some("Adds two numbers.".into()),
            signature: "fix.add(args: { a: number; b: number }): Promise<{ sum: number }>".into(),
            score: 1.5,
        }],
        total: 2,
        next: Some("c-1".into()),
        unknown: vec!["down".into()],
    }
}

fn described() -> Descriptions {
    Descriptions {
        tools: vec![Description {
            tool: tool(),
            declaration: "add(args: {}): Promise<unknown>;\n".into(),
            learned: Some("{ id: number }".into()),
        }],
        instructions: vec![instructions()],
        missing: vec![super::error()],
    }
}

pub(super) fn instructions() -> ServerInstructions {
    ServerInstructions {
        server: "fix".into(),
        text: "Begin with add.".into(),
    }
}

fn direct() -> ToolList {
    ToolList {
        tools: vec![tool()],
        total: 1,
        missing: vec![missing()],
        warnings: Vec::new(),
        remembered: Vec::new(),
        instructions: Vec::new(),
        fence: None,
    }
}

fn tool() -> ToolInfo {
    ToolInfo {
        path: "fix.add".into(),
        server: "fix".into(),
        name: "add".into(),
        signature: "fix.add(args: {}): Promise<unknown>".into(),
        direct: true,
        definition: Some(json!({ "name": "add", "inputSchema": { "type": "object" } })),
        ..ToolInfo::default()
    }
}

fn offers() -> OfferList {
    OfferList {
        offers: vec![Offered {
            server: "fix".into(),
            offer: json!({ "uriTemplate": "fix://{id}", "name": "by id" }),
        }],
        missing: vec![missing()],
    }
}

fn notices() -> NoticePage {
    let run = || Cause::Run("r-1".into());
    let kinds = [
        NoticeKind::Changed {
            tools: true,
            resources: false,
            prompts: true,
        },
        NoticeKind::ResourceUpdated {
            server: "fix".into(),
            uri: "fix://text".into(),
        },
        NoticeKind::Progress {
            cause: Cause::Call("t-1".into()),
            progress: 1.0,
            total: Some(2.0),
            message: Some("half".into()),
        },
        NoticeKind::Log {
            server: "fix".into(),
            level: "warning".into(),
            logger: Some("disk".into()),
            data: json!("full"),
            cause: run(),
        },
        NoticeKind::Ask {
            ask: 7,
            server: "fix".into(),
            own: false,
            cause: run(),
            tool: Some("fix.elicit".into()),
            kind: AskKind::Elicitation,
            key: Some("who".into()),
            params: json!({ "message": "who?", "requestedSchema": {} }),
        },
        NoticeKind::Withdrawn { ask: 7 },
        NoticeKind::ElicitationComplete {
            server: "fix".into(),
            id: "e-1".into(),
            cause: run(),
        },
        NoticeKind::Declined {
            server: "fix".into(),
            kind: AskKind::Elicitation,
            cause: Cause::Call("t-1".into()),
            why: Some("it asks for no page of the web".into()),
        },
        NoticeKind::Leaving {},
    ];
    let notices = (1..).zip(kinds);
    NoticePage {
        notices: notices
            .map(|(seq, notice)| Notice { seq, notice })
            .collect(),
    }
}
