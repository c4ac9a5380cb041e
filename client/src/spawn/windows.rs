//! The daemon gets no console, no handles but those of its command, and if possible no job of the client's.

use std::{
    fs::File,
    io,
    os::windows::{
        io::{AsRawHandle as _, RawHandle},
        process::CommandExt as _,
    },
    path::Path,
    process::{Child, Command},
};

use mux_proto::lock_file;

use windows_sys::Win32::{
    Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation},
    System::Threading::{CREATE_BREAKAWAY_FROM_JOB, CREATE_NEW_PROCESS_GROUP, DETACHED_PROCESS},
};

/// Releases the lock, which belongs to this process and is not inherited: the daemon takes it again. If another client is
/// faster, the daemon finds that one's daemon, and says so.
pub(super) fn hand_over(lock: File, path: &Path) -> io::Result<File> {
    drop(lock);
    lock_file::open(path)
}

pub(super) fn spawn_daemon(command: &mut Command) -> io::Result<Child> {
    keep_standard_handles();
    let apart = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
    let alone = command
        .creation_flags(apart | CREATE_BREAKAWAY_FROM_JOB)
        .spawn();
    // The job does not allow processes to leave it: the daemon ends with the job.
    alone.or_else(|_| command.creation_flags(apart).spawn())
}

/// Without this, the daemon would inherit the client's standard handles, and a program that waits for the end of the
/// client's output would wait for the daemon's.
#[expect(
    unsafe_code,
    reason = "no safe wrapper of SetHandleInformation is at hand"
)]
fn keep_standard_handles() {
    let handles: [RawHandle; 3] = [
        io::stdin().as_raw_handle(),
        io::stdout().as_raw_handle(),
        io::stderr().as_raw_handle(),
    ];
    for handle in handles.into_iter().filter(|handle| !handle.is_null()) {
        // SAFETY: the handle is a standard handle, which stays open. The call fails for the handle of an old console,
        // which is not inherited.
        unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    }
}
