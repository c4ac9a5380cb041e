//! Files of the daemon: atomic writes, rotating logs, a file watcher, and compressed texts.
//!
//! Of this workspace, this crate depends on `mux-paths` alone.
//!
//! - `atomic_file` writes files atomically, and reads only files that belong to the user.
//! - `rotating_log` bounds the size of logs. Rotation happens between lines. On a full disk, a partial line is
//!   removed, and lost lines are counted and reported.
//! - `file_watcher` watches files through their directories. A wake-up only means that something may have changed.
//! - `private_file` creates files that only their user may read, with one module per system.
//! - `secret_key` is a random key in a file, created once.
//! - `gzip_text` keeps a long text compressed, with a checksum.
//!
//! Invariants:
//!
//! - A reader sees a file as it was before a write or after it, even if the power fails in between.
//! - A file that belongs to another user, or is not a regular file, is refused.

pub mod atomic_file;
pub mod file_watcher;
#[cfg(test)]
mod fuzz;
pub mod gzip_text;
pub mod private_file;
pub mod rotating_log;
pub mod secret_key;
