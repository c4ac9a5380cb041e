//! When each server was last called, across all daemons of this user: servers that were called recently are started
//! with the daemon.
//!
//! Invariant: recording a call never waits, and only a hash of the server's definition is stored.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::{Mutex, MutexGuard};

use super::{Digest, ListKey, cache_slot::CacheSlot};
use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

/// A later call is written only after this time, or when the daemon exits cleanly.
const WRITE_INTERVAL: Duration = Duration::from_hours(1);
/// An earlier call is forgotten at the next start: its server may have another definition now.
const MAX_KEPT_AGE: Duration = Duration::from_hours(90 * 24);

pub(super) struct ServerUsage {
    cache_slot: CacheSlot,
    last_calls: Mutex<HashMap<DigestKey, LastCall>>,
    /// Nothing can be written before the load.
    is_loaded: AtomicBool,
}

/// The times since the epoch of the last call and of the last written call.
#[derive(Clone, Copy, Default)]
struct LastCall {
    at: Duration,
    written: Duration,
}

impl ServerUsage {
    pub(super) fn new(cache_slot: &CacheSlot) -> Self {
        Self {
            cache_slot: cache_slot.clone(),
            last_calls: Mutex::default(),
            is_loaded: AtomicBool::new(false),
        }
    }

    pub(super) async fn load(&self, cache: &Cache, now: SystemTime) {
        let kept = cache.all(CacheSpace::Usage).await;
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut last_calls = self.last_calls();
        for (key, bytes) in kept {
            // The others are counts of tools.
            let Ok(bytes) = <[u8; 8]>::try_from(bytes) else {
                continue;
            };
            let written = Duration::from_secs(u64::from_le_bytes(bytes));
            if now.saturating_sub(written) > MAX_KEPT_AGE {
                cache.remove(CacheSpace::Usage, key);
                continue;
            }
            let last_call = last_calls.entry(key).or_default();
            // The server may have been called before the cache was open.
            last_call.at = last_call.at.max(written);
            last_call.written = written;
        }
        self.is_loaded.store(true, Ordering::Relaxed);
    }

    pub(super) fn record_call(&self, server: &ListKey, now: SystemTime) {
        let at = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let key = key(server);
        let mut last_calls = self.last_calls();
        let last_call = last_calls.entry(key).or_default();
        last_call.at = at;
        // The clock may have been set back.
        let is_due = at.abs_diff(last_call.written) >= WRITE_INTERVAL;
        if is_due && self.is_loaded.load(Ordering::Relaxed) {
            self.write(key, last_call);
        }
    }

    pub(super) fn last_call(&self, server: &ListKey) -> Option<SystemTime> {
        let last_call = self.last_calls().get(&key(server)).copied()?;
        UNIX_EPOCH.checked_add(last_call.at)
    }

    pub(super) fn save(&self) {
        for (key, last_call) in self.last_calls().iter_mut() {
            if last_call.at != last_call.written {
                self.write(*key, last_call);
            }
        }
    }

    fn write(&self, key: DigestKey, last_call: &mut LastCall) {
        let bytes = last_call.at.as_secs().to_le_bytes().to_vec();
        self.cache_slot.put(CacheSpace::Usage, key, bytes);
        last_call.written = last_call.at;
    }

    fn last_calls(&self) -> MutexGuard<'_, HashMap<DigestKey, LastCall>> {
        self.last_calls.lock()
    }
}

fn key(ListKey(server): &ListKey) -> DigestKey {
    Digest::new().text("last call").bytes(server).key()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn last_calls_are_kept_across_daemons_and_written_once_an_hour() {
        let cache = Cache::memory();
        let cache_slot = CacheSlot::default();
        cache_slot.put_up(cache.clone());
        let [early, used, never] = [1, 2, 3].map(|byte| ListKey([byte; 32]));
        let at = |minutes: u64| UNIX_EPOCH + Duration::from_secs(1_000_000 + minutes * 60);
        let usage = ServerUsage::new(&cache_slot);
        // The cache is not open yet.
        usage.record_call(&early, at(0));
        usage.load(&cache, at(0)).await;
        for minutes in [0, 59, 60, 61] {
            usage.record_call(&used, at(minutes));
        }
        assert_eq!(usage.last_call(&used), Some(at(61)));
        let later = async |days: u64| {
            cache.flush().await;
            let later = ServerUsage::new(&cache_slot);
            later.load(&cache, at(days * 24 * 60)).await;
            [&early, &used, &never].map(|server| later.last_call(server))
        };
        assert_eq!(later(0).await, [None, Some(at(60)), None]);
        usage.save();
        assert_eq!(later(90).await, [Some(at(0)), Some(at(61)), None]);
        assert_eq!(later(91).await, [None; 3]);
    }
}
