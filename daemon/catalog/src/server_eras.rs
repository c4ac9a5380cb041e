//! The MCP era of each server, which tells the daemon the right handshake for the first attempt.
//!
//! Invariant: a wrong record costs one more handshake, never a session.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use super::{ListKey, ProtocolEra, cache_slot::CacheSlot};
use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

/// A letter for the era, then the server's own name and version.
type EraRecord = Vec<u8>;

/// The era of the last session. `M` is not used: in older records it stands for processes of both eras, too.
const LEGACY_LETTER: u8 = b'L';
const MODERN_LETTER: u8 = b'N';
/// The server speaks both eras, and its tools make requests that only the old era supports.
const NEEDS_LEGACY_LETTER: u8 = b'B';
/// The server's tools would need the old era, which it does not speak.
const ONLY_MODERN_LETTER: u8 = b'O';

/// The MCP era of each server.
pub struct ServerEras {
    cache_slot: CacheSlot,
    known: Mutex<HashMap<DigestKey, EraRecord>>,
}

impl ServerEras {
    pub(super) fn new(cache_slot: &CacheSlot) -> Self {
        Self {
            cache_slot: cache_slot.clone(),
            known: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let known = cache.all(CacheSpace::Eras).await;
        self.known().extend(known);
    }

    /// The MCP era of the last session with a server.
    pub fn recall(&self, ListKey(key): &ListKey) -> Option<ProtocolEra> {
        match *self.known().get(key)?.first()? {
            LEGACY_LETTER | NEEDS_LEGACY_LETTER => Some(ProtocolEra::Legacy),
            MODERN_LETTER | ONLY_MODERN_LETTER => Some(ProtocolEra::Modern),
            _ => None,
        }
    }

    /// Records the era of a session. A server that identifies itself differently may have been updated to another era:
    /// its record is removed, and its era is detected again next time. An empty identity counts as unchanged.
    pub fn keep(&self, ListKey(key): &ListKey, era: ProtocolEra, identity: &str) {
        let usual = match era {
            ProtocolEra::Legacy => LEGACY_LETTER,
            ProtocolEra::Modern => MODERN_LETTER,
        };
        let mut known = self.known();
        let before = known.get(key).and_then(|before| before.split_first());
        let letter = match before {
            // A session that was being opened meanwhile does not tell what the tools need.
            Some((&NEEDS_LEGACY_LETTER, _)) if era == ProtocolEra::Modern => return,
            Some((&NEEDS_LEGACY_LETTER, _)) => NEEDS_LEGACY_LETTER,
            Some((&ONLY_MODERN_LETTER, name))
                if era == ProtocolEra::Modern && is_same(name, identity) =>
            {
                ONLY_MODERN_LETTER
            }
            _ => usual,
        };
        let is_other =
            before.is_some_and(|(first, name)| *first == letter && !is_same(name, identity));
        if is_other {
            known.remove(key);
            self.cache_slot.remove(CacheSpace::Eras, *key);
        } else {
            self.write(&mut known, key, letter, identity);
        }
    }

    /// Records that the server's tools need the old era, which is used from now on. Returns false if the server is
    /// known not to speak that era.
    pub fn needs_legacy(&self, ListKey(key): &ListKey, identity: &str) -> bool {
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

    /// Records that the server could not be opened in the old era, but could in the new one.
    pub fn only_modern(&self, ListKey(key): &ListKey) {
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
            self.cache_slot.put(CacheSpace::Eras, *key, written);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<DigestKey, EraRecord>> {
        self.known.lock()
    }
}

/// True if two identities may belong to the same server. An empty identity matches any.
fn is_same(name: &[u8], identity: &str) -> bool {
    name.is_empty() || identity.is_empty() || name == identity.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn era_of_an_updated_server_is_found_again() {
        let eras = ServerEras::new(&CacheSlot::default());
        let key = ListKey([7; 32]);
        for (era, identity, known) in [
            (ProtocolEra::Legacy, "", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Legacy, "files 1", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Legacy, "files 1", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Legacy, "files 2", None),
            (ProtocolEra::Legacy, "files 2", Some(ProtocolEra::Legacy)),
            (ProtocolEra::Modern, "files 3", Some(ProtocolEra::Modern)),
            (ProtocolEra::Modern, "files 4", None),
            (ProtocolEra::Modern, "files 4", Some(ProtocolEra::Modern)),
            (ProtocolEra::Legacy, "files 4", Some(ProtocolEra::Legacy)),
        ] {
            eras.keep(&key, era, identity);
            assert_eq!(eras.recall(&key), known, "{identity}");
        }
    }

    #[test]
    fn server_that_needs_the_old_era_keeps_it_until_its_version_changes() {
        let eras = ServerEras::new(&CacheSlot::default());
        let key = ListKey([7; 32]);
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
    fn server_without_the_old_era_is_not_opened_in_it_again() {
        let eras = ServerEras::new(&CacheSlot::default());
        let key = ListKey([7; 32]);
        assert!(eras.needs_legacy(&key, "asks 1"));
        eras.only_modern(&key);
        eras.keep(&key, ProtocolEra::Modern, "asks 1");
        assert_eq!(eras.recall(&key), Some(ProtocolEra::Modern));
        assert!(!eras.needs_legacy(&key, "asks 1"));
        eras.keep(&key, ProtocolEra::Modern, "asks 2");
        assert!(eras.needs_legacy(&key, "asks 2"), "another version may");
    }
}
