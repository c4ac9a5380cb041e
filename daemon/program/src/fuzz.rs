//! Random input for the reader of step programs.

mod steps;
