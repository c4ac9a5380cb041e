//! The type checker with the real compiler, and with fake ones.
//!
//! Invariant: no test depends on the speed of the machine, except for timeouts of operations that
//! would hang.

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
