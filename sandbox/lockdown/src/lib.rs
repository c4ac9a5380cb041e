//! Restrictions that a Linux process applies to itself without privileges, and that cannot be removed.
//!
//! Workers (`mux-worker`) and servers in a sandbox (`mux-confine`) are locked down with these layers. The two
//! programs decide what is allowed. This crate depends on no other crate of this workspace.
//!
//! - `landlock_rules`: which files may be opened, and whether TCP may be used.
//! - `syscall_filters`: seccomp programs, and the calls that neither a worker nor a server has any use for.
//! - `syscall_notifications`: calls that another process learns of before they are made.
//!
//! Invariant: a restriction either applies to the calling thread and everything that it starts, or the caller learns
//! that it is not.

#[cfg(target_os = "linux")]
pub mod landlock_rules;
#[cfg(target_os = "linux")]
pub mod syscall_filters;
#[cfg(target_os = "linux")]
pub mod syscall_notifications;
