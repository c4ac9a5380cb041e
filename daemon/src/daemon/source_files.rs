//! Descriptions in files, which are followed as the configuration is.

use super::Daemon;
use mux_upstream::{CallerIdentity, UpstreamState};

impl Daemon {
    /// Some file has changed. A source that is open takes over what its description says now; one that could not be
    /// opened is tried again, since that may have been the reason.
    pub(super) async fn look_at_descriptions(&self) {
        let upstreams = self.gateway.upstreams();
        for (_, server) in upstreams.description_files() {
            match upstreams.sources().refresh(server.name()).await {
                // What is wrong stands in `status`.
                Some(_) => {}
                None if matches!(
                    server.view().state,
                    UpstreamState::Failed | UpstreamState::BackingOff
                ) =>
                {
                    drop(server.restart(&CallerIdentity::default()).await);
                }
                None => {}
            }
        }
    }
}
