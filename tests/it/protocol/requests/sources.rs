//! Sources: APIs with a description instead of an MCP server.

use mux_proto::service::MuxRequest;

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![(
        "refresh_source",
        MuxRequest::RefreshSource {
            source: "petstore".into(),
        },
    )]
}
