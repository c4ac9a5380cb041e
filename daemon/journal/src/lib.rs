//! Runs as journals: the program, the events, the calls and the outcome of each run.
//!
//! A run is written down once, in a [`RunJournal`]: clients follow its events, a resumed or replayed run is answered
//! from its calls, a recording is its export, and the [`History`] keeps it on disk after the run and the daemon have
//! ended. Only the audit log is separate: it is hashed and chained, and has no results.
//!
//! The crate does not know how a program is executed. Approvals, the gateway and runs are above it.
//!
//! - `program`, `event` and `call_log` are the parts of a journal, `run_journal` puts them together, and `registry` has
//!   the journals of active and recently ended runs. `fingerprint` recognizes a call when its program runs again.
//! - `history` is the database: `schema`, `writer` and `reader`, and `held_runs` for rows that a later run has to trust.
//!
//! Invariants:
//!
//! - No run waits for the history, and none fails because of it. Only calls of a run that waits for approval are on disk
//!   before they are sent.
//! - Rows that the history shows are masked when they are written. Held runs are stored as they are, and deleted when they end.
//! - Runs are looked up only through `RunAccess`.

mod call_log;
mod event;
pub mod fingerprint;
pub mod history;
mod program;
mod registry;
mod run_journal;

pub use self::{
    call_log::{BegunCall, CallState, LoggedCall, PastMode, count_ended_calls},
    history::{History, HistoryLimits},
    program::Program,
    registry::RunRegistry,
    run_journal::{JournalOptions, RunJournal},
};
