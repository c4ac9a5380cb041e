//! The figures and the interaction state of `mux top`.
//!
//! Invariant: pure. No code here does I/O, waits, or reads a clock.

mod figures;
mod history;
mod top_screen;

#[cfg(test)]
pub(crate) use self::figures::tests;
pub(crate) use self::{
    figures::{ServerFigures, TopFigures},
    history::{MetricsReading, ReadingHistory},
    top_screen::{FocusedList, KeyAction, TopScreen},
};
