//! The type checker with the real compiler, and with some that are none.
//!
//! Invariant: no test depends on how fast the machine is, but for bounds on what would hang.

#![cfg(unix)]

#[path = "check/faults.rs"]
mod faults;
#[path = "check/life.rs"]
mod life;
#[path = "check/programs.rs"]
mod programs;
#[path = "check/setting.rs"]
mod setting;
#[path = "check/walls.rs"]
mod walls;
