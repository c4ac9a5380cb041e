//! Random input for what is read back from disk.

mod audit_lines;
