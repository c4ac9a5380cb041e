//! Requests about sandboxes of servers.

use mux_proto::{SuggestSandboxRequest, service::MuxRequest};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    let server = || "fix".to_owned();
    vec![
        ("sandbox", MuxRequest::Sandbox { server: server() }),
        (
            "suggest_sandbox",
            MuxRequest::SuggestSandbox {
                request: SuggestSandboxRequest {
                    server: server(),
                    observe_ms: 1,
                },
            },
        ),
        (
            "end_observation",
            MuxRequest::EndObservation { server: server() },
        ),
    ]
}
