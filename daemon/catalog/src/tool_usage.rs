//! Counts how often each tool was called, across all daemons of this user: frequently used tools are shown first.
//!
//! Levels are far apart, because a list ordered by them should rarely change: an agent whose tool list changes loses
//! its cached prompt.
//!
//! Invariant: counting a call never waits, and only a hash of the server's and tool's names is stored.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::{Mutex, MutexGuard};

use super::{Digest, Tool, cache_slot::CacheSlot};
use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

/// The maximum number of counted tools. Further ones count as never called.
const MAX_COUNTED_TOOLS: usize = 4096;

pub(super) struct ToolUsage {
    cache_slot: CacheSlot,
    counts: Mutex<HashMap<DigestKey, CallCount>>,
    /// Nothing is written before the load, which would overwrite the stored counts.
    is_loaded: AtomicBool,
}

#[derive(Clone, Copy, Default)]
struct CallCount {
    calls: u32,
    /// The count when it was last written.
    written: u32,
}

impl ToolUsage {
    pub(super) fn new(cache_slot: &CacheSlot) -> Self {
        Self {
            cache_slot: cache_slot.clone(),
            counts: Mutex::default(),
            is_loaded: AtomicBool::new(false),
        }
    }

    pub(super) async fn load(&self, cache: &Cache) {
        let kept = cache.all(CacheSpace::Usage).await;
        let mut counts = self.counts();
        // The others are times of servers' last calls.
        let counted = kept.into_iter().filter_map(|(key, bytes)| {
            let bytes = <[u8; 4]>::try_from(bytes).ok()?;
            Some((key, bytes))
        });
        for (key, bytes) in counted.take(MAX_COUNTED_TOOLS) {
            let written = u32::from_le_bytes(bytes);
            let count = counts.entry(key).or_default();
            // The tool may have been called before the cache was open.
            count.calls = count.calls.saturating_add(written);
            count.written = written;
        }
        self.is_loaded.store(true, Ordering::Relaxed);
    }

    pub(super) fn count(&self, tool: &Tool) {
        let key = key(tool);
        let mut counts = self.counts();
        if counts.len() >= MAX_COUNTED_TOOLS && !counts.contains_key(&key) {
            return;
        }
        let count = counts.entry(key).or_default();
        let before = level(count.calls);
        count.calls = count.calls.saturating_add(1);
        // Counts between two levels are written only when the daemon exits cleanly.
        if level(count.calls) != before && self.is_loaded.load(Ordering::Relaxed) {
            self.write(key, count);
        }
    }

    /// The usage level: 0 for a tool that was never called, and one level higher whenever the number of calls
    /// quadruples.
    pub(super) fn level(&self, tool: &Tool) -> u32 {
        let counts = self.counts();
        level(counts.get(&key(tool)).map_or(0, |count| count.calls))
    }

    pub(super) fn save(&self) {
        for (key, count) in self.counts().iter_mut() {
            if count.calls != count.written {
                self.write(*key, count);
            }
        }
    }

    fn write(&self, key: DigestKey, count: &mut CallCount) {
        let bytes = count.calls.to_le_bytes().to_vec();
        self.cache_slot.put(CacheSpace::Usage, key, bytes);
        count.written = count.calls;
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<DigestKey, CallCount>> {
        self.counts.lock()
    }
}

fn key(tool: &Tool) -> DigestKey {
    Digest::new().text(&tool.server).text(&tool.name).key()
}

fn level(calls: u32) -> u32 {
    (u32::BITS - calls.leading_zeros()).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use mux_settings::ToolOverrides;

    use super::*;
    use crate::{ToolDescription, ToolSet};

    #[tokio::test]
    async fn counts_are_kept_across_daemons() {
        let names = ["often", "once", "never"];
        let described = names.map(|name| ToolDescription {
            name: name.into(),
            input_schema: json!({}).into(),
            ..ToolDescription::default()
        });
        let tools = ToolSet::new("s", described.into(), &[], &ToolOverrides::default());
        let [often, once, never] = names.map(|name| tools.find(name).unwrap());
        let cache = Cache::memory();
        let cache_slot = CacheSlot::default();
        cache_slot.put_up(cache.clone());
        let usage = ToolUsage::new(&cache_slot);
        usage.load(&cache).await;
        for _ in 0..15 {
            usage.count(often);
        }
        usage.count(once);
        usage.save();
        cache.flush().await;

        let later = ToolUsage::new(&cache_slot);
        later.count(often);
        later.load(&cache).await;
        let levels = [often, once, never].map(|tool| later.level(tool));
        assert_eq!(levels, [3, 1, 0], "16 calls, 1 and none");
    }

    #[test]
    fn levels_are_far_apart() {
        for (calls, expected) in [
            (0, 0),
            (1, 1),
            (3, 1),
            (4, 2),
            (15, 2),
            (16, 3),
            (u32::MAX, 16),
        ] {
            assert_eq!(level(calls), expected, "{calls}");
        }
    }
}
