//! What `mux top` shows: numbers of the daemon as they change.
//!
//! Invariant: pure. Nothing here asks, waits, prints, or looks at a clock.

mod figures;
mod history;
mod reading;
mod screen;

#[cfg(test)]
pub(crate) use self::figures::tests;
pub(crate) use self::{
    figures::{Figures, ServerFigures},
    history::History,
    reading::Reading,
    screen::{Focus, Screen, Wish},
};
