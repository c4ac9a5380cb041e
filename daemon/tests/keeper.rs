//! The keeper as a process, with real children: how they start, and how they end.
//!
//! Invariant: what is gone is proved by end of file on a pipe that every process of a tree holds,
//! never by looking after a while.

#![cfg(target_os = "linux")]

#[path = "keeper/children.rs"]
mod children;
#[path = "keeper/endings.rs"]
mod endings;
#[path = "keeper/place.rs"]
mod place;
