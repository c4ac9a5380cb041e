//! The cache on a real disk, and what can happen to it there.
//!
//! Invariant: what a key's value must be can be told from the key, so that no wrong one goes unseen.

#![cfg(unix)]

#[path = "cache/damage.rs"]
mod damage;
#[path = "cache/lives.rs"]
mod lives;
#[path = "cache/model.rs"]
mod model;
#[path = "cache/room.rs"]
mod room;
#[path = "cache/values.rs"]
mod values;
