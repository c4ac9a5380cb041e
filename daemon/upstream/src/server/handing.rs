//! A server's sessions on their way from one daemon to the next.
//!
//! Invariant: a session that comes is given to the place that it had, or ends.

use super::{
    super::{
        handed::{Going, Handed, HandedPlace},
        key::Whose,
        slot::Event,
    },
    Server,
};

impl Server {
    /// The sessions that can go over to another daemon.
    pub(crate) fn going(&self) -> Vec<Going> {
        let Some(family) = &self.family else {
            return Vec::new();
        };
        let open = self.all().into_iter().filter(|slot| slot.can_part());
        let going = open.filter_map(|slot| {
            let place = HandedPlace::of(&family.identity, &slot.tenant.key())?;
            Some(Going { place, slot })
        });
        going.collect()
    }

    /// A session of the daemon before us finds its place. It ends if there is none.
    pub(crate) fn receive(&self, handed: Handed) {
        let key = handed.state.place.key();
        let place = || {
            let family = self.family.as_ref()?;
            if handed.state.asks_for_roots {
                family.sharing.asked_for_roots();
            }
            let whose = Whose {
                workspace: handed.state.place.workspace.clone(),
                ..Whose::default()
            };
            let slot = self.slot(&whose).ok()?;
            (slot.tenant.key() == key).then_some((slot, &family.surroundings))
        };
        match place() {
            Some((slot, around)) => {
                around.awaited.arrive(handed);
                // It was found a moment ago.
                _ = slot.tell(Event::Handed);
            }
            None => handed.end(),
        }
    }

    pub fn is_identity(&self, identity: &str) -> bool {
        let family = self.family.as_ref();
        family.is_some_and(|family| family.identity == identity)
    }
}
