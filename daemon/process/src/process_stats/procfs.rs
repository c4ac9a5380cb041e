//! Processes as `/proc` shows them. Without `/proc`, nothing is known.

use std::fs;

use super::TaskStats;

pub(super) fn own_stats() -> TaskStats {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_status(&status)
}

/// `None` if the process has ended.
pub(super) fn task_stats(pid: u32) -> Option<TaskStats> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(parse_status(&status))
}

fn parse_status(status: &str) -> TaskStats {
    TaskStats {
        resident_bytes: kibibytes(status, "VmRSS:"),
        virtual_bytes: kibibytes(status, "VmSize:"),
        threads: field(status, "Threads:"),
    }
}

fn kibibytes(status: &str, name: &str) -> Option<u64> {
    field(status, name).map(|kibibytes| kibibytes * 1_024)
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The children of all threads of a process.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("children")).ok()?;
        Some(
            text.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>(),
        )
    });
    children.flatten().collect()
}
