//! Inspection of processes from outside.

use std::{
    fs,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{self, Signal},
    unistd::Pid,
};

/// Whether a process runs. A zombie does not.
pub fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            stat.rsplit(')')
                .next()
                .map(|rest| !rest.trim_start().starts_with('Z'))
        })
        .unwrap_or(false)
}

/// Sends `SIGKILL`. Ignores a process that is gone already.
pub fn kill(pid: i32) {
    send(pid, Signal::SIGKILL);
}

pub fn send(pid: i32, signal: Signal) {
    _ = signal::kill(Pid::from_raw(pid), signal);
}

/// Waits for the end of any process, not only of a child. Returns false if it still runs after the time.
pub fn wait_for_end(pid: i32, within: Duration) -> bool {
    pidfd(pid).is_none_or(|fd| ends(&fd, within))
}

fn ends(process: &OwnedFd, within: Duration) -> bool {
    let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
    matches!(poll(&mut fds, timeout), Ok(n) if n > 0)
}

/// A descriptor that becomes readable when the process ends.
#[expect(unsafe_code, reason = "no safe wrapper of pidfd_open is at hand")]
fn pidfd(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the call takes two integers and returns a new descriptor, or -1.
    let fd = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Every process whose environment or command line contains a text.
pub fn mentioning(text: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let holds = |file| {
            fs::read(entry.path().join(file))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        };
        if (holds("environ") || holds("cmdline")) && is_alive(pid) {
            found.push(pid);
        }
    }
    found
}

/// The direct and indirect children of a process.
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(child) = entry.file_name().to_string_lossy().parse::<i32>() else {
                continue;
            };
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let after_name = stat.rsplit(')').next().unwrap_or_default();
            let ppid = after_name
                .split_whitespace()
                .nth(1)
                .and_then(|p| p.parse::<i32>().ok());
            if ppid == Some(parent) && is_alive(child) {
                found.push(child);
                parents.push(child);
            }
        }
    }
    found
}

/// Processes that are watched through pidfds, so that reused pids do not matter.
pub struct Tree(Vec<(i32, OwnedFd)>);

impl Tree {
    /// A process and its descendants.
    pub fn of(pid: i32) -> Self {
        Self::watch(std::iter::once(pid).chain(descendants(pid)))
    }

    pub fn watch(pids: impl IntoIterator<Item = i32>) -> Self {
        let watched = pids.into_iter().filter_map(|pid| Some((pid, pidfd(pid)?)));
        Self(watched.collect())
    }

    pub fn pids(&self) -> Vec<i32> {
        self.0.iter().map(|(pid, _)| *pid).collect()
    }

    /// The processes that still run after the time, each as its pid and command line.
    pub fn left_after(&self, within: Duration) -> Vec<String> {
        let until = Instant::now() + within;
        self.0
            .iter()
            .filter(|(_, fd)| !ends(fd, until.saturating_duration_since(Instant::now())))
            .map(|(pid, _)| format!("{pid} {}", command_line(*pid)))
            .collect()
    }
}

/// The command line of a process.
pub fn command_line(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Resident memory in bytes.
pub fn resident_bytes(pid: i32) -> u64 {
    memory(pid, "VmRSS:")
}

/// Peak resident memory in bytes.
pub fn peak_bytes(pid: i32) -> u64 {
    memory(pid, "VmHWM:")
}

fn memory(pid: i32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes.unwrap().parse::<u64>().unwrap() * 1024
}

/// The CPU time of a process.
pub fn cpu_time(pid: i32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let words: Vec<&str> = after_name.split_whitespace().collect();
    // User and kernel time, in hundredths of a second.
    let ticks = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    Duration::from_millis(10 * (ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0)))
}

/// The parent of a process, its parent, and so on up to the first process.
pub fn ancestors(pid: i32) -> Vec<i32> {
    let parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let parent: i32 = rest.split_whitespace().nth(1)?.parse().ok()?;
        (parent > 0).then_some(parent)
    };
    std::iter::successors(parent(&pid), parent).collect()
}

/// The session of a process, as the pid of its leader.
pub fn session(pid: i32) -> i32 {
    let pid = Pid::from_raw(pid);
    nix::unistd::getsid(Some(pid)).unwrap().as_raw()
}
