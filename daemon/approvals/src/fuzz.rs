//! Random input for the readers of files on disk.

mod journals;
