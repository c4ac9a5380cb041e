//! Metrics.

use mux_proto::service::MuxRequest;

pub(super) fn all() -> Vec<(&'static str, MuxRequest)> {
    vec![("metrics", MuxRequest::Metrics {})]
}
