//! A tool with its pin.

use mux_proto::{AcceptedPins, PinInfo, PinList, PinStanding, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let tool = |standing| PinInfo {
        name: "add".into(),
        standing,
        digest: Some("00ff".into()),
        since_ms: Some(1_795_300_000_000),
        before: Some("{}".into()),
        now: Some("{\n  \"name\": \"add\"\n}".into()),
        note: Some("its lists are in another order".into()),
        changed_paths: vec!["description".into()],
        signs: Vec::new(),
    };
    let standings = [
        PinStanding::Trusted,
        PinStanding::New,
        PinStanding::Changed,
        PinStanding::Refused,
        PinStanding::Unpinned,
    ];
    let list = PinList {
        server: "fix".into(),
        tools: standings.map(tool).into(),
    };
    vec![
        ("pins", MuxResponse::Pins(Ok(list))),
        (
            "accept_pins",
            MuxResponse::AcceptPins(Ok(AcceptedPins { tools: 1 })),
        ),
    ]
}
