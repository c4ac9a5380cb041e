//! Processes that end at a random moment while they write a history.

mod kills;
