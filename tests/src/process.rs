//! Inspection of processes from outside, by `/proc` or by macOS's libproc.

#[cfg(target_os = "macos")]
mod libproc;
#[cfg(not(target_os = "macos"))]
mod procfs;

use std::time::Duration;

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};

#[cfg(target_os = "macos")]
use libproc as system;
#[cfg(not(target_os = "macos"))]
use procfs as system;

use self::system::ExitWatch;

/// Returns true if a process runs. A zombie does not.
pub fn is_alive(pid: i32) -> bool {
    system::is_alive(pid)
}

/// Sends `SIGKILL`. Ignores a process that has already exited.
pub fn kill(pid: i32) {
    send(pid, Signal::SIGKILL);
}

pub fn send(pid: i32, signal: Signal) {
    _ = signal::kill(Pid::from_raw(pid), signal);
}

/// Waits for the end of any process, not only of a child. Returns false if it still runs after the time.
pub fn wait_for_end(pid: i32, within: Duration) -> bool {
    ExitWatch::of(pid).is_none_or(|watch| watch.ends(within))
}

/// Every process whose environment or command line contains a text.
pub fn mentioning(text: &str) -> Vec<i32> {
    let holds = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(text);
    let found = system::pids().into_iter().filter(|pid| {
        (holds(system::environment(*pid)) || holds(system::words(*pid))) && is_alive(*pid)
    });
    found.collect()
}

/// The direct and indirect children of a process.
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for child in system::pids() {
            if system::parent(child) == Some(parent) && is_alive(child) {
                found.push(child);
                parents.push(child);
            }
        }
    }
    found
}

/// How long [`Tree::left_after`] waits at a time.
const NAP: Duration = Duration::from_millis(10);

/// Processes that the kernel watches: reused pids do not matter.
pub struct Tree(Vec<(i32, ExitWatch)>);

impl Tree {
    /// A process and its descendants.
    pub fn of(pid: i32) -> Self {
        Self::watch(std::iter::once(pid).chain(descendants(pid)))
    }

    pub fn watch(pids: impl IntoIterator<Item = i32>) -> Self {
        let watched = pids
            .into_iter()
            .filter_map(|pid| Some((pid, ExitWatch::of(pid)?)));
        Self(watched.collect())
    }

    pub fn pids(&self) -> Vec<i32> {
        self.0.iter().map(|(pid, _)| *pid).collect()
    }

    /// The processes that still run after the time, each as its pid and command line.
    ///
    /// Time is counted in naps of 10 ms that end when this process gets a processor again: on a busy machine the
    /// processes under test wait as long for theirs.
    pub fn left_after(&self, within: Duration) -> Vec<String> {
        let mut naps = within.as_millis() / NAP.as_millis();
        let left = self.0.iter().filter(|(_, watch)| {
            while !watch.ends(NAP) {
                match naps.checked_sub(1) {
                    Some(less) => naps = less,
                    None => return true,
                }
            }
            false
        });
        left.map(|(pid, _)| format!("{pid} {}", command_line(*pid)))
            .collect()
    }
}

/// The command line of a process.
pub fn command_line(pid: i32) -> String {
    let words = system::words(pid);
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Resident memory in bytes.
pub fn resident_bytes(pid: i32) -> u64 {
    system::resident_bytes(pid)
}

/// Peak resident memory in bytes.
pub fn peak_bytes(pid: i32) -> u64 {
    system::peak_bytes(pid)
}

/// The CPU time of a process.
pub fn cpu_time(pid: i32) -> Duration {
    system::cpu_time(pid)
}

/// The parent of a process, its parent, and so on up to the first process.
pub fn ancestors(pid: i32) -> Vec<i32> {
    let parent = |pid: &i32| system::parent(*pid).filter(|parent| *parent > 0);
    std::iter::successors(parent(&pid), parent).collect()
}

/// The session of a process, as the pid of its leader.
pub fn session(pid: i32) -> i32 {
    let pid = Pid::from_raw(pid);
    nix::unistd::getsid(Some(pid)).unwrap().as_raw()
}
