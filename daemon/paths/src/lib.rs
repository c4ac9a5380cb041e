//! The one way to open, identify, resolve and replace files at paths that somebody else could have shaped: a server with
//! write access, a cloned repository, another user of the machine.
//!
//! This crate depends on no other crate of this workspace. `tests/it/opened_paths.rs` lists the files of the workspace
//! that open paths in another way, each with the reason why nobody else can shape those paths.
//!
//! - `file_identity` recognizes a file independently of its path, with one file per system.
//! - `resolved_path` resolves a path and reports each symbolic link on the way. `opened_object` opens the object at a
//!   path without following a link.
//! - `regular_file` opens regular files only, and never blocks on a pipe or a device. The module also tells whether
//!   another user could have written a file.
//! - `replaced_file` replaces a file atomically, without following a link at its name or at a temporary name.
//!
//! Invariant: no code in this crate decides by a path and then acts by it. The opened object is the object that was
//! checked.

pub mod file_identity;
pub mod opened_object;
pub mod regular_file;
pub mod replaced_file;
pub mod resolved_path;
