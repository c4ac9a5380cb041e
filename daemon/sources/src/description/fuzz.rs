//! Random input for where descriptions come from.

mod descriptions;
