//! System calls that another process learns of before they are made: seccomp's user notifications.
//!
//! A call can be continued ([`continue_call`]). This restricts nothing: a notification only shows what a process
//! requests at that moment. Or the call is answered instead of being made ([`answer_call`]), by a process that has
//! performed it itself or refuses it.
//!
//! Invariant: the holder of the listener answers every notification or closes the listener: the calling thread waits
//! until then.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd},
};

use nix::{errno::Errno, libc};
use seccompiler::{BpfProgram, SeccompAction, SeccompRule};

use super::syscall_filters::{compile_filter, without_x32};

/// A call that waits to be continued or answered.
#[derive(Clone, Copy, Debug)]
pub struct CallNotification {
    id: u64,
    /// The thread that makes it.
    pub thread: u32,
    pub call: i64,
    pub arguments: [u64; 6],
}

/// A filter that notifies of these calls. `None` on an architecture that the crate does not support.
pub fn notifying_filter(calls: &[i64]) -> Option<BpfProgram> {
    const RETURN: u16 = 0x06;
    let rules = calls.iter().map(|call| (*call, Vec::<SeccompRule>::new()));
    // The library has no such action. A placeholder that is used nowhere else stands for it.
    let placeholder = SeccompAction::Trace(0);
    let held = u32::from(placeholder.clone());
    let mut program = compile_filter(rules.collect(), SeccompAction::Allow, placeholder)?;
    for step in &mut program {
        if step.code == RETURN && step.k == held {
            step.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Some(without_x32(program))
}

/// Applies such a filter to the calling thread and everything that it starts. Returns the listener.
#[expect(unsafe_code, reason = "no safe wrapper of seccomp is at hand")]
pub fn apply_notifying_filter(program: &BpfProgram) -> io::Result<OwnedFd> {
    // Signals that a program handles all the time, such as those of Go's scheduler, do not interrupt a waiting call.
    const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
    let too_long = |_| io::Error::other("the filter is too long");
    let filter = libc::sock_fprog {
        len: program.len().try_into().map_err(too_long)?,
        filter: program.as_ptr().cast_mut().cast(),
    };
    let apply = |flags: libc::c_ulong| {
        // SAFETY: the filter is a valid program of this length, which the kernel copies and does not change.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | flags,
                &raw const filter,
            )
        };
        i32::try_from(fd)
            .ok()
            .filter(|fd| *fd >= 0)
            .ok_or_else(io::Error::last_os_error)
    };
    // Linux 5.19 is the first to know the flag.
    let fd = apply(WAIT_KILLABLE_RECV).or_else(|_| apply(0))?;
    // SAFETY: the kernel has just made this descriptor for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Waits for the next call. Fails with `ENOENT` if its process was killed meanwhile.
#[expect(unsafe_code, reason = "the request has no safe wrapper")]
pub fn receive_notification(listener: impl AsFd) -> io::Result<CallNotification> {
    // SAFETY: all fields are integers, and the kernel insists on zeros.
    let mut received: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    let listener = listener.as_fd().as_raw_fd();
    // SAFETY: the kernel writes one structure of this type.
    let done = unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut received) };
    match done {
        0 => Ok(CallNotification {
            id: received.id,
            thread: received.pid,
            call: received.data.nr.into(),
            arguments: received.data.args,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the call be made. Fails if its process has exited: data read from that pid may then belong to another process.
pub fn continue_call(listener: impl AsFd, notification: &CallNotification) -> io::Result<()> {
    let answer = libc::seccomp_notif_resp {
        id: notification.id,
        val: 0,
        error: 0,
        #[expect(clippy::cast_possible_truncation, reason = "the flag is 1")]
        flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    };
    send_answer(listener, answer)
}

/// Makes the call return this value without being made. Fails if its process has exited.
pub fn answer_call(
    listener: impl AsFd,
    notification: &CallNotification,
    result: Result<i64, Errno>,
) -> io::Result<()> {
    let answer = libc::seccomp_notif_resp {
        id: notification.id,
        val: result.unwrap_or_default(),
        error: result.err().map_or(0, |error| -(error as i32)),
        flags: 0,
    };
    send_answer(listener, answer)
}

/// Returns true if the call still waits. In that case, anything opened or read through its process id before belongs to
/// that process.
#[expect(unsafe_code, reason = "the request has no safe wrapper")]
pub fn is_waiting(listener: impl AsFd, notification: &CallNotification) -> bool {
    let listener = listener.as_fd().as_raw_fd();
    let id = &raw const notification.id;
    // SAFETY: the kernel reads one number.
    unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, id) == 0 }
}

#[expect(unsafe_code, reason = "the request has no safe wrapper")]
fn send_answer(listener: impl AsFd, mut answer: libc::seccomp_notif_resp) -> io::Result<()> {
    let listener = listener.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one structure of this type.
    let done = unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
