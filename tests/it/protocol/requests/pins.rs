//! Pins of tools, and accepted changes.

use mux_proto::{AcceptPinsRequest, PinsRequest, SeenTool, service::MuxRequest};

/// The digest of the fixture server's definition of `pid`.
const DIGEST: &str = "8f22702881bf112eb81e088d6356756edbe9a8d563d75d3848efd1d116d1a2ec";

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    let pins = PinsRequest {
        server: "fix".into(),
        current: true,
    };
    let accept = AcceptPinsRequest {
        server: "fix".into(),
        tools: vec![SeenTool {
            name: "pid".into(),
            digest: DIGEST.into(),
        }],
    };
    vec![
        ("pins", MuxRequest::Pins { request: pins }),
        ("accept_pins", MuxRequest::AcceptPins { request: accept }),
    ]
}
