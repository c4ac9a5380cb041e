//! Runs on record: all that a program asked for and was told, to be run again without any server.
//!
//! Invariant: what leaves the daemon in a recording has been struck of every credential that it knows, in one
//! way from beginning to end, so that what a program did with one it can do again.

mod document;
mod known;
mod mask;
mod player;
mod tape;

pub use self::{
    document::{Recording, Script},
    known::known,
    player::Player,
    tape::Tape,
};
