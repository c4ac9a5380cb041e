//! How many files this process may have open: as many as the system lets it, and children as many as before.
//!
//! Invariant: what is raised here is never seen by a server: programs that use `select` break above 1,024.

use std::{io, sync::OnceLock};

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Each client, worker and server takes some.
const WANTED_DESCRIPTORS: rlim_t = 65_536;
/// With less than this a usual pool does not fit: the daemon itself has two dozen, a server four, a worker three.
pub const MIN_DESCRIPTORS: rlim_t = 256;

/// Soft and hard, as they were at the start.
static NOFILE_LIMIT_AT_START: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// To be called before anything is started.
pub fn raise() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    // A second daemon in one process, as tests have it, was started with what the first one raised.
    _ = NOFILE_LIMIT_AT_START.set((soft, hard));
    if soft < WANTED_DESCRIPTORS.min(hard) {
        // Less than we asked for is what we had before.
        _ = setrlimit(Resource::RLIMIT_NOFILE, WANTED_DESCRIPTORS.min(hard), hard);
    }
}

/// What this process may have open now.
pub fn allowed() -> Option<rlim_t> {
    getrlimit(Resource::RLIMIT_NOFILE)
        .ok()
        .map(|(soft, _)| soft)
}

/// What it has open, where the system tells. An error may be that there is none left to look with.
pub fn in_use() -> io::Result<rlim_t> {
    let own = std::fs::read_dir("/proc/self/fd")?;
    // That of the listing is closed again.
    Ok((own.count() as rlim_t).saturating_sub(1))
}

/// Has a child begin with the limit that we had at first.
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

/// Whether an error says that there are none left, here or in the whole system.
pub fn are_used_up(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE};
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}
