//! Statistics of the daemon's process, and memory of process trees.
//!
//! - `libproc` reads them on macOS, `windows` on Windows.
//! - `procfs` reads them from `/proc` on other systems.
//! - `rusage` reads the CPU time, except on Windows.
//!
//! Invariant: a value that the system does not provide is `None`, never zero.

#[cfg(target_os = "macos")]
mod libproc;
#[cfg(not(any(target_os = "macos", windows)))]
mod procfs;
#[cfg(unix)]
mod rusage;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "macos")]
use libproc as system;
#[cfg(not(any(target_os = "macos", windows)))]
use procfs as system;
#[cfg(unix)]
use rusage as times;
#[cfg(windows)]
use windows::{self as system, self as times};

use super::descriptor_limits;

/// The maximum number of processes that are counted in one tree.
const MAX_TREE_PROCESSES: usize = 1_000;

/// The system's data about one process.
#[derive(Default)]
struct TaskStats {
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
}

/// Statistics of this process.
#[derive(Clone, Debug, Default)]
pub struct ProcessStats {
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<u64>,
    pub virtual_bytes: Option<u64>,
    pub open_fds: Option<u64>,
    pub max_fds: Option<u64>,
    pub threads: Option<u64>,
}

impl ProcessStats {
    /// Takes a few short files or system calls.
    pub fn now() -> Self {
        let task = system::own_stats();
        Self {
            cpu_seconds: times::own_cpu_seconds(),
            resident_bytes: task.resident_bytes,
            virtual_bytes: task.virtual_bytes,
            open_fds: descriptor_limits::in_use().ok(),
            max_fds: descriptor_limits::allowed(),
            threads: task.threads,
        }
    }
}

/// Resident memory of a process.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    system::task_stats(pid)?.resident_bytes
}

/// Resident memory of a process and its descendants. Shared pages count for each. `None` if the process has ended, or
/// the system does not provide it.
pub fn tree_bytes(root: u32) -> Option<u64> {
    let mut sum = resident_bytes(root)?;
    // A descendant may have ended meanwhile.
    for pid in process_tree(root).into_iter().skip(1) {
        sum += resident_bytes(pid).unwrap_or(0);
    }
    Some(sum)
}

/// A process and its descendants.
fn process_tree(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(pid) = tree.get(next).copied() {
        next += 1;
        for child in system::children(pid) {
            // Process IDs are reused.
            if tree.len() < MAX_TREE_PROCESSES && !tree.contains(&child) {
                tree.push(child);
            }
        }
    }
    tree
}

#[cfg(all(test, any(target_os = "linux", target_os = "macos", windows)))]
mod tests {
    use super::*;

    #[test]
    fn own_process_stats_are_read() {
        let now = ProcessStats::now();
        assert!(now.resident_bytes.unwrap() > 1 << 20, "{now:?}");
        let open = now.open_fds.unwrap();
        // A system without a limit reports none.
        let is_below_the_limit = now.max_fds.is_none_or(|most| open < most);
        assert!(open >= 3 && is_below_the_limit, "{now:?}");
        assert!(now.cpu_seconds.unwrap() >= 0.0 && now.threads.unwrap() >= 1);
    }

    #[test]
    fn tree_memory_includes_children() {
        use std::{
            io::{BufRead as _, BufReader},
            process::{Command, Stdio},
        };
        // A shell that waits for a child, which waits for the end of its input.
        let (shell, args): (_, &[&str]) = if cfg!(windows) {
            (
                "cmd.exe",
                &["/D", "/C", "cmd.exe /D /Q /K echo started & exit"],
            )
        } else {
            ("sh", &["-c", "exec 3<&0; cat <&3 & echo started; wait"])
        };
        let mut shell = Command::new(shell)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(shell.stdout.take().unwrap());
        let mut line = String::new();
        printed.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), "started");
        let root = shell.id();
        let tree = process_tree(root);
        assert_eq!(tree[0], root);
        assert!(tree.len() > 1, "{tree:?}");
        // The sums are not compared, because the kernel may report no pages for such a small process.
        assert!(tree_bytes(root).is_some());
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(tree_bytes(root), None);
    }
}
