//! Hands a server's sessions from one daemon to the next.
//!
//! Invariant: a session that arrives is given to the slot that it had, or is stopped.

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
        let Some(family) = &self.family else {
            return Vec::new();
        };
        let open = self
            .all_slots()
            .into_iter()
            .filter(|slot| slot.can_hand_over());
        let going = open.filter_map(|slot| {
            let place = HandoverKey::of(&family.identity, &slot.tenant.key())?;
            Some(OutgoingSession { place, slot })
        });
        going.collect()
    }

    /// Gives a session of the previous daemon to its slot; stops it if there is none.
    pub(crate) fn adopt_handed(&self, handed: HandedSession) {
        let key = handed.state.place.key();
        let place = || {
            let family = self.family.as_ref()?;
            if handed.state.asks_for_roots {
                family.sharing.record_asks_for_roots();
            }
            let whose = CallerIdentity {
                workspace: handed.state.place.workspace.clone(),
                ..CallerIdentity::default()
            };
            let slot = self.slot(&whose).ok()?;
            (slot.tenant.key() == key).then_some((slot, &family.surroundings))
        };
        match place() {
            Some((slot, around)) => {
                around.awaited.add_arrived(handed);
                // The slot was just looked up.
                _ = slot.send_event(SlotEvent::Handed);
            }
            None => handed.stop_process(),
        }
    }

    pub fn has_identity(&self, identity: &str) -> bool {
        let family = self.family.as_ref();
        family.is_some_and(|family| family.identity == identity)
    }
}
