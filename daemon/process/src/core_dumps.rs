//! Nobody reads the memory of muxd: it holds tokens and secrets.
//!
//! The daemon, the keeper and its guard are not dumpable: a crash leaves no core file, and no other process of the user,
//! an MCP server for one, may attach to them or read `/proc/PID/{mem,environ,fd,maps}` of theirs, also where Yama does not
//! forbid it. What everybody may read stays readable (`stat`, `status`, `cmdline`, `limits`, `task`), and a process may
//! always look at itself (`/proc/self/fd`, `/proc/self/exe`). A process that may trace all others (root) is not kept out.
//!
//! Invariant: what a server inherits is the limit that muxd itself was started with. That it may be dumped again follows
//! from its exec.

use std::sync::OnceLock;

use nix::sys::{
    prctl,
    resource::{Resource, getrlimit, rlim_t, setrlimit},
};

/// The limit of core files, soft and hard, as it was at the start.
static CORE_LIMIT_AT_START: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// To be called before anything secret is read and before anything is started. A fork inherits it.
pub fn forbid_core_dumps() {
    // Neither can fail: anybody may give these up.
    _ = prctl::set_dumpable(false);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_CORE) else {
        return;
    };
    // The hard limit stays, or no child could have the soft one back.
    _ = CORE_LIMIT_AT_START.set((soft, hard));
    _ = setrlimit(Resource::RLIMIT_CORE, 0, hard);
}

/// Sets the limit as it was before [`forbid_core_dumps`]. For a child between fork and exec: makes one system call on two numbers,
/// and neither allocates nor takes a lock.
pub fn restore_core_limit() -> nix::Result<()> {
    match CORE_LIMIT_AT_START.get() {
        Some((soft, hard)) => setrlimit(Resource::RLIMIT_CORE, *soft, *hard),
        None => Ok(()),
    }
}

/// Has a child begin with the limit that we had at first.
#[expect(
    unsafe_code,
    reason = "only the new process can set its own limit before it becomes another program"
)]
pub fn restore_for_child(command: &mut tokio::process::Command) {
    // SAFETY: see `restore_limit`.
    unsafe {
        command.pre_exec(|| Ok(restore_core_limit()?));
    }
}
