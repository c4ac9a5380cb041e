//! Random rules, and calls whose arguments are written in many ways.

mod policy;
