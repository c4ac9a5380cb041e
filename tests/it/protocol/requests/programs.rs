//! Programs of steps.

use mux_proto::{ExplainRequest, Language, RunRequest, service::MuxRequest};
use serde_json::json;

fn source() -> String {
    let step = json!({ "id": "a", "tool": "fix.add", "args": { "a": "{{input.n}}", "b": 1 } });
    json!({ "steps": [step], "return": "{{a.result.sum}}" }).to_string()
}

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![
        (
            "start_program",
            MuxRequest::StartRun {
                request: RunRequest {
                    source: source(),
                    language: Language::Json,
                    input: json!({ "n": 1 }).into(),
                    ..RunRequest::default()
                },
            },
        ),
        (
            "explain_program",
            MuxRequest::ExplainProgram {
                request: ExplainRequest { source: source() },
            },
        ),
    ]
}
