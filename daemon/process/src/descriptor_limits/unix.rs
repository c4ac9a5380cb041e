//! The resource limit `RLIMIT_NOFILE`.

use std::{io, sync::OnceLock};

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Every client, worker and server needs descriptors.
const WANTED_DESCRIPTORS: rlim_t = 65_536;

/// The directory in which the system lists the descriptors of the process that looks.
const OPEN_DESCRIPTORS: &str = if cfg!(target_os = "macos") {
    "/dev/fd"
} else {
    "/proc/self/fd"
};

/// The soft and hard limits at startup.
static NOFILE_LIMIT_AT_START: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises the limit. Must be called before any process is started.
pub fn raise() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    // Tests run several daemons in one process: a later one would see the limit that the first one raised.
    _ = NOFILE_LIMIT_AT_START.set((soft, hard));
    if soft < WANTED_DESCRIPTORS.min(hard) {
        // If this fails, the previous limit stays.
        _ = setrlimit(Resource::RLIMIT_NOFILE, WANTED_DESCRIPTORS.min(hard), hard);
    }
}

/// The current soft limit of open files.
pub fn allowed() -> Option<rlim_t> {
    getrlimit(Resource::RLIMIT_NOFILE)
        .ok()
        .map(|(soft, _)| soft)
}

/// The number of open descriptors, where the system reports it. An error can mean that no descriptor is left to look
/// with.
pub fn in_use() -> io::Result<rlim_t> {
    let own = std::fs::read_dir(OPEN_DESCRIPTORS)?;
    // Does not count the descriptor of the listing itself.
    Ok((own.count() as rlim_t).saturating_sub(1))
}

/// Starts the child with the limits that muxd had at startup.
#[expect(
    unsafe_code,
    reason = "only the new process can set its own limit before it becomes another program"
)]
pub fn give_back(command: &mut tokio::process::Command) {
    let Some((soft, hard)) = NOFILE_LIMIT_AT_START.get().copied() else {
        return;
    };
    let before_exec = move || Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?);
    // SAFETY: between fork and exec the closure makes one system call on two numbers, and neither allocates nor takes
    // a lock.
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// Returns true if the error means that no descriptors are left, in this process or in the whole system.
pub fn are_used_up(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE};
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}
