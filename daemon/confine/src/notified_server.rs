//! A server whose process notifies this one of some of its system calls.
//!
//! The server is a child, because a process may read the memory of its descendants only, if Yama is enabled.
//!
//! Invariant: the server's exit is this process's exit, and its pipes close with the server.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{fs::FileExt as _, net::UnixStream},
    },
    thread,
};

use mux_keeper::descriptor_passing;
use mux_lockdown::syscall_notifications::{
    CallNotification, apply_notifying_filter, notifying_filter, receive_notification,
};
use nix::{
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SigHandler, Signal, kill},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork},
};

use super::confined_process::{close_on_exec_above_standard, set_termination};

/// The longest path that the kernel accepts.
const MAX_PATH_BYTES: usize = 4096;

/// The socket over which the child hands its listener to its parent.
pub(super) struct ListenerHandover(UnixStream);

impl ListenerHandover {
    /// Makes the calling thread, and everything that it starts, notify of these calls.
    pub(super) fn notify_of(self, calls: &[i64]) -> Result<(), String> {
        let filter = notifying_filter(calls)
            .ok_or("there is no system call filter for this architecture")?;
        let listener = apply_notifying_filter(&filter).map_err(|error| {
            format!("the kernel cannot report system calls (needs Linux 5.5): {error}")
        })?;
        descriptor_passing::send(&self.0, b"l", &[listener])
            .map(drop)
            .map_err(|error| format!("cannot hand over the listener: {error}"))
    }
}

/// Forks. The child becomes the server by `become_server`, and this process calls `serve` on a thread with the listener.
/// Returns the server's exit code.
///
/// Must be called before any thread exists.
#[expect(unsafe_code, reason = "a fork is allowed only without threads")]
pub(super) fn run_notified(
    become_server: impl FnOnce(ListenerHandover) -> Result<Infallible, String>,
    serve: impl FnOnce(OwnedFd) + Send + 'static,
) -> Result<u8, String> {
    let (near, far) = UnixStream::pair().map_err(|error| error.to_string())?;
    close_on_exec_above_standard()?;
    // SAFETY: no thread exists yet, so the child is a whole copy of this process.
    let child = match unsafe { fork() }.map_err(|error| format!("cannot fork: {error}"))? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop(near);
            let Err(problem) = become_server(ListenerHandover(far));
            return Err(problem);
        }
    };
    drop(far);
    // Processes that the server leaves behind stay descendants, whose memory may be read.
    prctl::set_child_subreaper(true).map_err(|error| format!("cannot adopt processes: {error}"))?;
    // The server decides when it ends, and this process reports its exit code.
    set_termination(SigHandler::SigIgn)?;
    release_standard_streams();
    if let Some(listener) = receive_listener(&near) {
        thread::spawn(move || serve(listener));
    }
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(ended, code)) if ended == child => {
                return Ok(code.to_le_bytes()[0]);
            }
            Ok(WaitStatus::Signaled(ended, signal, _)) if ended == child => die_of(signal),
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn receive_listener(near: &UnixStream) -> Option<OwnedFd> {
    let mut readable = [PollFd::new(near.as_fd(), PollFlags::POLLIN)];
    poll(&mut readable, PollTimeout::NONE).ok()?;
    let mut listener = VecDeque::new();
    descriptor_passing::receive(near, &mut [0], &mut listener).ok()?;
    listener.pop_front()
}

/// Closes the standard streams of this process, which are the server's.
pub(super) fn release_standard_streams() {
    if let Ok(null) = File::open("/dev/null") {
        nix::unistd::dup2_stdin(&null).ok();
        nix::unistd::dup2_stdout(&null).ok();
        nix::unistd::dup2_stderr(&null).ok();
    }
}

/// Ends this process by the signal that ended the server.
fn die_of(signal: Signal) {
    set_termination(SigHandler::SigDfl).ok();
    kill(Pid::this(), signal).ok();
}

/// The next call. `None` once the server has no process left.
pub(super) fn next_call(listener: &OwnedFd) -> Option<CallNotification> {
    loop {
        match receive_notification(listener) {
            Ok(call) => return Some(call),
            // Nothing can be reported here: the streams are the server's.
            Err(_) if has_ended(listener) => return None,
            Err(_) => {}
        }
    }
}

/// True if no process is left that could notify.
fn has_ended(listener: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(listener.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::ZERO).is_err()
        || fds[0]
            .revents()
            .is_some_and(|found| found.intersects(PollFlags::POLLHUP | PollFlags::POLLNVAL))
}

/// The argument with this index.
pub(super) fn argument(call: &CallNotification, index: usize) -> u64 {
    call.arguments.get(index).copied().unwrap_or_default()
}

/// The argument with this index as an `int`, such as a descriptor or flags.
pub(super) fn int_argument(call: &CallNotification, index: usize) -> i32 {
    int_of(argument(call, index))
}

/// The lower half of a register, which is all that the kernel reads of an `int`.
#[expect(clippy::cast_possible_truncation, reason = "that is the purpose")]
pub(super) fn int_of(register: u64) -> i32 {
    register as i32
}

/// A copy of a descriptor of the calling process.
#[expect(unsafe_code, reason = "there is no safe wrapper for pidfd_getfd")]
pub(super) fn copy_descriptor(call: &CallNotification, fd: i32) -> Option<OwnedFd> {
    let process = i32::try_from(process_of(call)?).ok()?;
    let made = |fd: libc::c_long| {
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the kernel has just made this descriptor for this process.
        Some(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // SAFETY: both calls take integers only.
    let process = made(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    // SAFETY: as above.
    made(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

/// The process of the calling thread.
pub(super) fn process_of(call: &CallNotification) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{}/status", call.thread)).ok()?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    process.trim().parse().ok()
}

pub(super) fn read_memory(thread: u32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    open_memory(thread)
        .ok()?
        .read_exact_at(&mut bytes, at)
        .ok()?;
    Some(bytes)
}

/// A string that ends with a zero.
pub(super) fn read_string(thread: u32, at: u64) -> Option<Vec<u8>> {
    const PAGE_BYTES: u64 = 4096;
    let memory = open_memory(thread).ok()?;
    let mut text = Vec::new();
    while text.len() < MAX_PATH_BYTES {
        // The next page may not exist.
        let next = at.checked_add(text.len() as u64)?;
        let mut part = vec![0; usize::try_from(PAGE_BYTES - next % PAGE_BYTES).ok()?];
        let count = memory
            .read_at(&mut part, next)
            .ok()
            .filter(|count| *count > 0)?;
        let part = &part[..count];
        match part.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend(&part[..end]);
                return Some(text);
            }
            None => text.extend(part),
        }
    }
    None
}

fn open_memory(thread: u32) -> io::Result<File> {
    File::open(format!("/proc/{thread}/mem"))
}
