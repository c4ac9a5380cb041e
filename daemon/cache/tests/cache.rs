//! The cache on a real disk, with damage, crashes and full disks.
//!
//! Invariant: a value is a function of its space and key. Wrong values are therefore always
//! detected.

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
