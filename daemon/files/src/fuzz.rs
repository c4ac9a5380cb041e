//! Random crashes of processes that write files.

mod logs;
