//! Which era of MCP each server speaks, so that a daemon greets it rightly at once.
//!
//! Invariant: a memory that is wrong costs one more greeting, and never a session.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{ListKey, shelf::Shelf};
use crate::cache::{Cache, Key, Space};

/// A generation of the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// Up to 2025-11-25: a session begins with `initialize`.
    Legacy,
    /// From 2026-07-28 on: every request stands alone.
    Modern,
}

/// The era's letter, then what the server calls itself.
type Written = Vec<u8>;

pub(super) struct Eras {
    shelf: Shelf,
    known: Mutex<HashMap<Key, Written>>,
}

impl Eras {
    pub(super) fn new(shelf: &Shelf) -> Self {
        Self {
            shelf: shelf.clone(),
            known: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let known = cache.all(Space::Eras).await;
        self.known().extend(known);
    }

    pub(super) fn recall(&self, ListKey(key): &ListKey) -> Option<Era> {
        match self.known().get(key)?.first()? {
            b'L' => Some(Era::Legacy),
            b'M' => Some(Era::Modern),
            _ => None,
        }
    }

    /// A server of the old era that has become another one may have learned the new one: it is asked next
    /// time. One that has not told its name yet is no other.
    pub(super) fn keep(&self, ListKey(key): &ListKey, era: Era, identity: &str) {
        let letter = match era {
            Era::Legacy => b'L',
            Era::Modern => b'M',
        };
        let written = [&[letter], identity.as_bytes()].concat();
        let mut known = self.known();
        match known.get(key) {
            Some(before) if *before == written => {}
            // Without a name it has only closed when it was asked.
            Some(before) if era == Era::Legacy && before.len() > 1 && before[0] == letter => {
                known.remove(key);
                self.shelf.remove(Space::Eras, *key);
            }
            _ => {
                known.insert(*key, written.clone());
                self.shelf.put(Space::Eras, *key, written);
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Written>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_the_old_era_that_was_updated_is_asked_again() {
        let eras = Eras::new(&Shelf::default());
        let key = ListKey([7; 32]);
        for (era, identity, known) in [
            (Era::Legacy, "", Some(Era::Legacy)),
            (Era::Legacy, "files 1", Some(Era::Legacy)),
            (Era::Legacy, "files 1", Some(Era::Legacy)),
            (Era::Legacy, "files 2", None),
            (Era::Legacy, "files 2", Some(Era::Legacy)),
            (Era::Modern, "files 3", Some(Era::Modern)),
            (Era::Modern, "files 4", Some(Era::Modern)),
            (Era::Legacy, "files 4", Some(Era::Legacy)),
        ] {
            eras.keep(&key, era, identity);
            assert_eq!(eras.recall(&key), known, "{identity}");
        }
    }
}
