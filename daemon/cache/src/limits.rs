//! Sizes and timeouts of the cache.

use std::time::Duration;

/// The maximum size of a value.
pub const MAX_VALUE_BYTES: usize = 4 << 20;
/// The size of the store on disk beyond which it is compacted: only `Catalogs` and `Shapes` are kept, up to
/// [`MAX_KEPT_BYTES`] each. The quarantine may take as much again.
pub(super) const MAX_DISK_BYTES: u64 = 256 << 20;
/// The size of `Catalogs` and of `Shapes`, each, that compaction keeps.
pub(super) const MAX_KEPT_BYTES: usize = 32 << 20;
/// The maximum size of a cache in memory.
pub(super) const MAX_MEMORY_BYTES: usize = 32 << 20;
/// The maximum size of queued writes.
pub(super) const MAX_QUEUED_BYTES: usize = 32 << 20;
pub(super) const MAX_QUEUED_WRITES: usize = 8192;
pub(super) const MAX_QUEUED_READS: usize = 1024;

/// How long [`super::Cache::open`] waits for the store.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait for the lock of a process that is exiting.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(200);
/// How long to wait for a value. After that it counts as a miss.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(250);
/// How long to wait until all values of a space are read or cleared.
pub(super) const READ_ALL_TIMEOUT: Duration = Duration::from_secs(1);
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// A read that takes longer counts as hung: the cache is in memory only from then on.
pub(super) const STUCK_READ_TIMEOUT: Duration = Duration::from_secs(2);
/// A write or an open that takes longer counts as hung.
pub(super) const STUCK_WRITE_TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum time between a write and its flush.
pub(super) const FLUSH_DELAY: Duration = Duration::from_millis(500);
