//! Hands a server's sessions from one daemon to the next.
//!
//! Invariant: a session that arrives is given to its former slot, or is stopped.

use super::{
    Server,
    slot::{OutgoingSession, SlotEvent},
};
use crate::{
    session::{HandedSession, HandoverKey},
    sharing::CallerIdentity,
};

impl Server {
    /// The sessions that can be handed over to another daemon.
    pub(crate) fn handover_candidates(&self) -> Vec<OutgoingSession> {
        let Some(server_shared) = &self.server_shared else {
            return Vec::new();
        };
        let (launcher, identity) = server_shared.launcher();
        // An observed session has no sandbox, and the next daemon would not know that.
        if launcher.is_observed(identity) {
            return Vec::new();
        }
        let open = self
            .all_slots()
            .into_iter()
            .filter(|slot| slot.can_hand_over());
        let candidates = open.filter_map(|slot| {
            let place = HandoverKey::of(server_shared.identity.key(), &slot.scope.key())?;
            Some(OutgoingSession { place, slot })
        });
        candidates.collect()
    }

    /// Gives a session of the previous daemon to its slot. Stops the session if there is no slot.
    pub(crate) fn adopt_handed(&self, handed: HandedSession) {
        let key = handed.state.place.key();
        let place = || {
            let server_shared = self.server_shared.as_ref()?;
            if handed.state.asks_for_roots {
                server_shared.sharing.record_asks_for_roots();
            }
            let caller = CallerIdentity {
                workspace: handed.state.place.workspace.clone(),
                ..CallerIdentity::default()
            };
            let slot = self.slot(&caller).ok()?;
            (slot.scope.key() == key).then_some((slot, &server_shared.context))
        };
        match place() {
            Some((slot, context)) => {
                context.incoming_sessions.add_arrived(handed);
                // The slot was just looked up.
                _ = slot.send_event(SlotEvent::Handed);
            }
            None => handed.stop_process(),
        }
    }

    pub fn has_identity(&self, identity: &str) -> bool {
        let server_shared = self.server_shared.as_ref();
        server_shared.is_some_and(|server_shared| server_shared.identity.key() == identity)
    }
}
