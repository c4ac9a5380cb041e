//! Random crashes of what writes files.

mod logs;
