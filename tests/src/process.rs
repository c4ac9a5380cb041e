//! Processes as a test sees them, from outside.

use std::{
    fs,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{self, Signal},
    unistd::Pid,
};

/// Whether a process runs; one that has ended and was not reaped does not.
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

/// `kill -9`. A process that has gone already is no error.
pub fn kill(pid: i32) {
    send(pid, Signal::SIGKILL);
}

pub fn send(pid: i32, signal: Signal) {
    _ = signal::kill(Pid::from_raw(pid), signal);
}

/// Waits for the end of any process, not only of a child. False if it still runs after the time.
pub fn wait_for_end(pid: i32, within: Duration) -> bool {
    let Some(fd) = pidfd(pid) else { return true };
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
    matches!(poll(&mut fds, timeout), Ok(n) if n > 0)
}

/// A descriptor that becomes readable when the process ends.
#[expect(unsafe_code, reason = "no safe wrapper of pidfd_open is at hand")]
fn pidfd(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the call takes two integers and gives a new descriptor, or -1.
    let fd = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Every process whose environment or command line holds this text.
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

/// Children of a process, and theirs.
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
