//! A server's sessions on their way from one daemon to the next.
//!
//! Invariant: a session that comes is given to the place that it had, or ends.

use super::{
    super::{
        session_handover::{HandedSession, HandoverKey, OutgoingSession},
        session_key::CallerIdentity,
        slot::SlotEvent,
    },
    Server,
};

impl Server {
    /// The sessions that can go over to another daemon.
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

    /// A session of the daemon before us finds its place. It ends if there is none.
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
                // It was found a moment ago.
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
