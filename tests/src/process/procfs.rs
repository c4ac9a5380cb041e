//! Processes as Linux shows them: `/proc`, and pidfds.

use std::{
    fs,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    time::Duration,
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A descriptor that becomes readable when the process ends. The descriptor does not confuse a later process with the
/// same pid.
pub(super) struct ExitWatch(OwnedFd);

impl ExitWatch {
    #[expect(unsafe_code, reason = "no safe wrapper of pidfd_open is at hand")]
    pub(super) fn of(pid: i32) -> Option<Self> {
        // SAFETY: the call takes two integers and returns a new descriptor, or -1.
        let fd = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, pid, 0) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the kernel has just created this descriptor, and no other code owns it.
        Some(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(super) fn ends(&self, within: Duration) -> bool {
        let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
        matches!(poll(&mut fds, timeout), Ok(n) if n > 0)
    }
}

pub(super) fn is_alive(pid: i32) -> bool {
    stat_after_name(pid).is_some_and(|rest| !rest.starts_with('Z'))
}

pub(super) fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    pids.collect()
}

pub(super) fn parent(pid: i32) -> Option<i32> {
    word_after_name(pid, 1)
}

/// The fields of `/proc/PID/stat` from the state on: the name before it may contain any characters.
fn stat_after_name(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.trim_start().to_owned())
}

fn word_after_name<T: std::str::FromStr>(pid: i32, index: usize) -> Option<T> {
    let rest = stat_after_name(pid)?;
    rest.split_whitespace().nth(index)?.parse().ok()
}

/// The command line, each word with a NUL after it.
pub(super) fn words(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

pub(super) fn environment(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

pub(super) fn resident_bytes(pid: i32) -> u64 {
    memory(pid, "VmRSS:")
}

pub(super) fn peak_bytes(pid: i32) -> u64 {
    memory(pid, "VmHWM:")
}

fn memory(pid: i32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes.unwrap().parse::<u64>().unwrap() * 1024
}

pub(super) fn cpu_time(pid: i32) -> Duration {
    // User and kernel time, in hundredths of a second.
    let ticks = |index| word_after_name::<u64>(pid, index).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}
