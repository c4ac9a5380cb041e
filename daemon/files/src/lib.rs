//! Files of the daemon: written whole or not at all, owned by its user alone; logs that rotate; a watch that needs no
//! inotify instance of its own for each file; and texts that are kept compressed.
//!
//! It knows no other crate of this workspace. Invariants:
//!
//! - A reader sees a file as it was before a write or as it is after it, also when the power fails in between.
//! - A file that belongs to another user, or is no regular file, is refused.

pub mod atomic_file;
pub mod file_watcher;
pub mod gzip_text;
pub mod rotating_log;
