//! Tests of the keeper process with real children: how they start, and how they end.
//!
//! Invariant: that a process has ended is proved by end of file on a pipe that every process of a tree holds, never by
//! polling.

#![cfg(target_os = "linux")]

#[path = "keeper/children.rs"]
mod children;
#[path = "keeper/endings.rs"]
mod endings;
#[path = "keeper/place.rs"]
mod place;
