//! Which era of MCP each server speaks, so that a daemon greets it rightly at once.
//!
//! Invariant: a memory that is wrong costs one more greeting, and never a session.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{ListKey, ProtocolEra, cache_slot::CacheSlot};
use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

/// The letter of what is known, then what the server calls itself.
type EraRecord = Vec<u8>;

/// It was greeted in this era when it was last connected.
const LEGACY_LETTER: u8 = b'L';
const MODERN_LETTER: u8 = b'M';
/// It speaks both, and its tools ask in a way that only the old era carries.
const NEEDS_LEGACY_LETTER: u8 = b'B';
/// Its tools would need the old era, in which it cannot be opened.
const ONLY_MODERN_LETTER: u8 = b'O';

pub(super) struct ServerEras {
    shelf: CacheSlot,
    known: Mutex<HashMap<DigestKey, EraRecord>>,
}

impl ServerEras {
    pub(super) fn new(shelf: &CacheSlot) -> Self {
        Self {
            shelf: shelf.clone(),
            known: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let known = cache.all(CacheSpace::Eras).await;
        self.known().extend(known);
    }

    pub(super) fn recall(&self, ListKey(key): &ListKey) -> Option<ProtocolEra> {
        match *self.known().get(key)?.first()? {
            LEGACY_LETTER | NEEDS_LEGACY_LETTER => Some(ProtocolEra::Legacy),
            MODERN_LETTER | ONLY_MODERN_LETTER => Some(ProtocolEra::Modern),
            _ => None,
        }
    }

    /// A server of the old era that has become another one may have learned the new one: it is asked next
    /// time. One that has not told its name yet is no other.
    pub(super) fn keep(&self, ListKey(key): &ListKey, era: ProtocolEra, identity: &str) {
        let usual = match era {
            ProtocolEra::Legacy => LEGACY_LETTER,
            ProtocolEra::Modern => MODERN_LETTER,
        };
        let mut known = self.known();
        let before = known.get(key).and_then(|before| before.split_first());
        let letter = match before {
            // A session that was being opened meanwhile says nothing of what the tools need.
            Some((&NEEDS_LEGACY_LETTER, _)) if era == ProtocolEra::Modern => return,
            Some((&NEEDS_LEGACY_LETTER, _)) => NEEDS_LEGACY_LETTER,
            Some((&ONLY_MODERN_LETTER, name))
                if era == ProtocolEra::Modern && is_same(name, identity) =>
            {
                ONLY_MODERN_LETTER
            }
            _ => usual,
        };
        let is_other = before.is_some_and(|(first, name)| {
            era == ProtocolEra::Legacy && *first == letter && !is_same(name, identity)
        });
        match is_other {
            true => {
                known.remove(key);
                self.shelf.remove(CacheSpace::Eras, *key);
            }
            false => self.write(&mut known, key, letter, identity),
        }
    }

    /// The server's tools ask in a way that only the old era carries: it is opened in that one from now on. False if
    /// it is known that it cannot be.
    pub(super) fn needs_legacy(&self, ListKey(key): &ListKey, identity: &str) -> bool {
        let mut known = self.known();
        let before = known.get(key).and_then(|before| before.split_first());
        match before {
            Some((&ONLY_MODERN_LETTER, name)) if is_same(name, identity) => false,
            _ => {
                self.write(&mut known, key, NEEDS_LEGACY_LETTER, identity);
                true
            }
        }
    }

    /// It was opened in the old era for what its tools need, in vain, and then in the new one.
    pub(super) fn only_modern(&self, ListKey(key): &ListKey) {
        self.write(&mut self.known(), key, ONLY_MODERN_LETTER, "");
    }

    fn write(
        &self,
        known: &mut HashMap<DigestKey, EraRecord>,
        key: &DigestKey,
        letter: u8,
        identity: &str,
    ) {
        let written = [&[letter], identity.as_bytes()].concat();
        if known.get(key) != Some(&written) {
            known.insert(*key, written.clone());
            self.shelf.put(CacheSpace::Eras, *key, written);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<DigestKey, EraRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two of a server's names may be the same server's. One that has not told its name yet may be any.
fn is_same(name: &[u8], identity: &str) -> bool {
    name.is_empty() || identity.is_empty() || name == identity.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_the_old_era_that_was_updated_is_asked_again() {
        let eras = ServerEras::new(&CacheSlot::default());
        let key = ListKey([7; 32]);
        for (era, identity, known) in [
            (ProtocolEra::Legacy, "", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Legacy, "files 1", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Legacy, "files 1", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Legacy, "files 2", None),
            (ProtocolEra::Legacy, "files 2", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Modern, "files 3", Some(ProtocolEra::Modern)),
            (ProtocolEra::Modern, "files 4", Some(ProtocolEra::Modern)),
            (ProtocolEra::Legacy, "files 4", Some(ProtocolEra::Legacy)),
        ] {
            eras.keep(&key, era, identity);
            assert_eq!(eras.recall(&key), known, "{identity}");
        }
    }

    #[test]
    fn a_server_whose_tools_need_the_old_era_is_opened_in_it_until_it_is_another_version() {
        let (eras, key) = (ServerEras::new(&CacheSlot::default()), ListKey([7; 32]));
        eras.keep(&key, ProtocolEra::Modern, "asks 1");
        assert!(eras.needs_legacy(&key, "asks 1"));
        // Another session was being opened in the new era at that moment.
        eras.keep(&key, ProtocolEra::Modern, "asks 1");
        assert_eq!(eras.recall(&key), Some(ProtocolEra::Legacy));
        eras.keep(&key, ProtocolEra::Legacy, "asks 1");
        assert_eq!(eras.recall(&key), Some(ProtocolEra::Legacy));
        eras.keep(&key, ProtocolEra::Legacy, "asks 2");
        assert_eq!(eras.recall(&key), None, "it is asked again");
    }

    #[test]
    fn a_server_that_cannot_be_opened_in_the_old_era_is_not_opened_in_it_again() {
        let (eras, key) = (ServerEras::new(&CacheSlot::default()), ListKey([7; 32]));
        assert!(eras.needs_legacy(&key, "asks 1"));
        eras.only_modern(&key);
        eras.keep(&key, ProtocolEra::Modern, "asks 1");
        assert_eq!(eras.recall(&key), Some(ProtocolEra::Modern));
        assert!(!eras.needs_legacy(&key, "asks 1"));
        eras.keep(&key, ProtocolEra::Modern, "asks 2");
        assert!(eras.needs_legacy(&key, "asks 2"), "another version may");
    }
}
