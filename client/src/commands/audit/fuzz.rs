//! Random input for the code that reads files back from disk.

mod audit_lines;
