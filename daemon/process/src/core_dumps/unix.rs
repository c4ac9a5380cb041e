//! The core limit and, on Linux, the dumpable attribute.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The soft and hard core file limits at startup.
static CORE_LIMIT_AT_START: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Must be called before any secret is read and before any process is started. Forks inherit the setting.
pub fn forbid_core_dumps() {
    // Neither can fail: lowering them needs no privilege.
    #[cfg(target_os = "linux")]
    {
        _ = nix::sys::prctl::set_dumpable(false);
    }
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_CORE) else {
        return;
    };
    // The hard limit stays, because children restore the soft limit.
    _ = CORE_LIMIT_AT_START.set((soft, hard));
    _ = setrlimit(Resource::RLIMIT_CORE, 0, hard);
}

/// Restores the limit from before [`forbid_core_dumps`]. Safe between fork and exec: it makes one system call on two
/// numbers, and neither allocates nor takes a lock.
pub fn restore_core_limit() -> nix::Result<()> {
    match CORE_LIMIT_AT_START.get() {
        Some((soft, hard)) => setrlimit(Resource::RLIMIT_CORE, *soft, *hard),
        None => Ok(()),
    }
}

/// Starts the child with the core limit that muxd had at startup.
#[expect(
    unsafe_code,
    reason = "only the new process can set its own limit before it becomes another program"
)]
pub fn restore_for_child(command: &mut tokio::process::Command) {
    // SAFETY: see `restore_core_limit`.
    unsafe {
        command.pre_exec(|| Ok(restore_core_limit()?));
    }
}
