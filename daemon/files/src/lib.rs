//! Files of the daemon: written whole or not at all, owned by its user alone; logs that rotate; a watch that needs no
//! inotify instance for each file; and texts that are kept compressed.
//!
//! It knows no other crate of this workspace.
//!
//! - `atomic_file` writes a file whole, and reads it only if it belongs to the user.
//! - `rotating_log` keeps log files small. Logs rotate between lines; what a full disk does not take is cut back to a
//!   whole line, counted and reported.
//! - `file_watcher` watches files by their directories: a wake-up says only that something may have changed.
//! - `gzip_text` holds a long text compressed, with a checksum.
//!
//! Invariants:
//!
//! - A reader sees a file as it was before a write or as it is after it, also when the power fails in between.
//! - A file that belongs to another user, or is no regular file, is refused.

pub mod atomic_file;
pub mod file_watcher;
pub mod gzip_text;
pub mod rotating_log;
