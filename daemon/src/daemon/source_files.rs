//! Reloads sources when their description files change.

use super::Daemon;
use mux_messages::ServerState;
use mux_upstream::CallerIdentity;

impl Daemon {
    /// Called after any watched file has changed. An open source reads its description again. A source that could not
    /// be opened is tried again, because the description may have been the reason.
    pub(super) async fn look_at_descriptions(&self) {
        let upstreams = self.gateway.upstreams();
        for (_, server) in upstreams.description_files() {
            match upstreams.sources().refresh(server.name()).await {
                // Problems are reported by `status`.
                Some(_) => {}
                None if matches!(
                    server.view().info.state,
                    ServerState::Failed | ServerState::BackingOff
                ) =>
                {
                    drop(server.restart(&CallerIdentity::default()).await);
                }
                None => {}
            }
        }
    }
}
