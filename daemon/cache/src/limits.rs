//! How much the cache holds, and how long it is waited for.

use std::time::Duration;

/// Of one value.
pub const MAX_VALUE_BYTES: usize = 4 << 20;
/// Of the store on the disk; what was set aside last may be as long again. Beyond, `Types` and `Verdicts`
/// are forgotten, and what else is longer than [`MAX_KEPT_BYTES`].
pub(super) const MAX_DISK_BYTES: u64 = 256 << 20;
/// Of `Catalogs` and of `Shapes`, each, when there is too much on the disk.
pub(super) const MAX_KEPT_BYTES: usize = 32 << 20;
/// Where there is no disk.
pub(super) const MAX_MEMORY_BYTES: usize = 32 << 20;
/// Of what waits to be written.
pub(super) const MAX_QUEUED_BYTES: usize = 32 << 20;
pub(super) const MAX_QUEUED_WRITES: usize = 8192;
pub(super) const MAX_QUEUED_READS: usize = 1024;

/// How long a start waits for it.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a process that ends may still hold the lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(200);
/// How long one value is waited for. Then it is made anew.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(250);
/// How long all values of a space are waited for, or that they are gone.
pub(super) const READ_ALL_TIMEOUT: Duration = Duration::from_secs(1);
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// A read that takes longer never ends, and neither does a write or an opening.
pub(super) const STUCK_READ_TIMEOUT: Duration = Duration::from_secs(2);
pub(super) const STUCK_WRITE_TIMEOUT: Duration = Duration::from_secs(15);
/// What was written is on the disk after that.
pub(super) const FLUSH_DELAY: Duration = Duration::from_millis(500);
