//! Random rules, and calls whose arguments are spelled in many ways.

mod policy;
