//! What a server's sandbox grants, and sessions without one that are observed in order to suggest one.

use futures::future::join_all;
use mux_confine::SuggestedSandbox;
use mux_settings::ServerEndpoint;

use super::Server;
use crate::link::{ObservationError, SandboxReport};

impl Server {
    /// What this machine enforces, and what the server's sandbox grants in effect. `None` for a server that is not a
    /// process.
    pub async fn sandbox_report(&self) -> Option<SandboxReport> {
        let (launcher, log) = self.server_shared.as_ref()?.launcher();
        let ServerEndpoint::Process(process) = &self.definition.as_ref().ok()?.link else {
            return None;
        };
        Some(launcher.sandbox_grants(&self.name, process, log).await)
    }

    /// Sessions that are opened from now on run without a sandbox and are observed, until
    /// [`end_observation`](Self::end_observation). That applies to the server of this name also if its definition
    /// changes meanwhile.
    pub fn begin_observation(&self) -> Result<(), ObservationError> {
        let definition = self.definition.as_ref().ok();
        let refused = |why: &str| Err(ObservationError::Impossible(why.into()));
        match (&self.server_shared, definition.map(|known| &known.link)) {
            (Some(shared), Some(ServerEndpoint::Process(_))) => {
                let (launcher, log) = shared.launcher();
                launcher.begin_observation(log)
            }
            (_, None) => refused("its entry has a mistake; `mux servers` names it"),
            _ => refused("muxd does not start it, so that it has no sandbox"),
        }
    }

    /// Sessions that are opened from now on run as the entry says. Those that were observed have to be replaced
    /// ([`restart_open_sessions`](Self::restart_open_sessions)). Returns the sandbox in which they would have worked.
    pub fn end_observation(&self) -> Result<SuggestedSandbox, ObservationError> {
        match &self.server_shared {
            Some(shared) => {
                let (launcher, log) = shared.launcher();
                launcher.end_observation(log)
            }
            None => Ok(SuggestedSandbox::default()),
        }
    }

    pub async fn restart_open_sessions(&self) {
        let mut open = self.all_slots();
        open.retain(|slot| slot.is_up() || slot.has_failed() || slot.open_session().is_some());
        // One that fails says so itself.
        drop(join_all(open.iter().map(|slot| slot.restart())).await);
    }
}
