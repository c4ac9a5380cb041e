//! The upgrade to another program.

use mux_proto::{UpgradeRequest, service::MuxRequest};

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![(
        "upgrade",
        MuxRequest::Upgrade {
            request: UpgradeRequest {
                binary: "/opt/mux/bin/muxd".into(),
                contract: 1,
            },
        },
    )]
}
