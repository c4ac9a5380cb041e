//! APIs that are described and no MCP servers.

use mux_proto::service::MuxRequest;

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![(
        "refresh_source",
        MuxRequest::RefreshSource {
            source: "petstore".into(),
        },
    )]
}
