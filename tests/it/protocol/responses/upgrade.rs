//! The upgrade to another program.

use mux_proto::{Upgraded, service::MuxResponse};

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    vec![(
        "upgrade",
        MuxResponse::Upgrade(Ok(Upgraded {
            pid: 4712,
            build: "0.2.0".into(),
            contract: 1,
            ms: 240,
        })),
    )]
}
