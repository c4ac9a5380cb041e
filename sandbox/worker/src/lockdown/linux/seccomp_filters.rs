//! The seccomp filters. The calls that remain are for memory, time, existing threads, and the three descriptors.
//!
//! There are two filters. The first kills the process at a call that no version of the engine makes, which gives an
//! attacker in the process no second try. The second refuses (EPERM) every call that is not on a list, because a new C
//! library may try calls that it can do without.
//!
//! Invariant: both apply to every thread of the process (TSYNC), and the list of allowed calls has none that creates a
//! descriptor, a process or a thread.

use std::{collections::BTreeMap, process};

use mux_lockdown::syscall_filters::{
    BpfProgram, KERNEL_SURFACE_CALLS, MACHINE_CALLS, PROCESS_INSPECTION_CALLS, SeccompAction,
    SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule, SyscallRules,
    apply_filter_all_threads, compile_filter, int_equals, rule_with,
};
use nix::libc;

/// Applies both filters. Returns the name of each, and whether it is active.
pub(super) fn apply_filters() -> [(&'static str, bool); 2] {
    let apply = |program: Option<BpfProgram>| {
        program.is_some_and(|program| apply_filter_all_threads(&program).is_ok())
    };
    [
        ("seccomp_deadly", apply(killing_program())),
        ("seccomp", apply(refusing_program())),
    ]
}

fn killing_program() -> Option<BpfProgram> {
    compile_filter(
        killing_rules()?,
        SeccompAction::Allow,
        SeccompAction::KillProcess,
    )
}

fn refusing_program() -> Option<BpfProgram> {
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    compile_filter(allowed_rules()?, refuse, SeccompAction::Allow)
}

/// Calls that this process makes only if it was taken over.
fn killing_rules() -> Option<SyscallRules> {
    let mut rules: SyscallRules = BTreeMap::new();
    for call in [
        // Network and other programs.
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_execve,
        libc::SYS_execveat,
        // Other processes.
        libc::SYS_kill,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
    ]
    .iter()
    .chain(PROCESS_INSPECTION_CALLS)
    .chain(KERNEL_SURFACE_CALLS)
    .chain(MACHINE_CALLS)
    {
        rules.insert(*call, Vec::new());
    }
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_fork, libc::SYS_vfork] {
        rules.insert(call, Vec::new());
    }
    // A new process. The second filter refuses new threads.
    let thread = SeccompCmpOp::MaskedEq(u64::from(libc::CLONE_THREAD.unsigned_abs()));
    let not_a_thread = SeccompCondition::new(0, SeccompCmpArgLen::Dword, thread, 0).ok()?;
    rules.insert(libc::SYS_clone, vec![rule_with(&[not_a_thread])?]);
    Some(rules)
}

/// Calls that the engine, the allocator and the pipes need.
fn allowed_rules() -> Option<SyscallRules> {
    let mut rules: SyscallRules = BTreeMap::new();
    for call in [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_ppoll,
        // Memory. Pages may be made executable: the engine compiles.
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_pkey_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_membarrier,
        // Existing threads.
        libc::SYS_futex,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_getparam,
        libc::SYS_sched_getscheduler,
        libc::SYS_getcpu,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Signals to itself: a stack that overflows, an abort.
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        // Time and randomness.
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_getrusage,
        libc::SYS_getrandom,
        libc::SYS_uname,
        libc::SYS_sysinfo,
    ] {
        rules.insert(call, Vec::new());
    }
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_poll, libc::SYS_time] {
        rules.insert(call, Vec::new());
    }
    let own = u64::from(process::id());
    rules.insert(libc::SYS_tgkill, vec![rule_with(&[int_equals(0, own)?])?]);
    // Limits may be read, to find the size of a stack, but not set.
    let nothing_new =
        SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0).ok()?;
    rules.insert(
        libc::SYS_prlimit64,
        vec![rule_with(&[int_equals(0, 0)?, nothing_new])?],
    );
    let several = |argument: u8, values: &[libc::c_int]| -> Option<Vec<SeccompRule>> {
        let values = values.iter().map(|value| u64::from(value.unsigned_abs()));
        values
            .map(|value| rule_with(&[int_equals(argument, value)?]))
            .collect()
    };
    let names = several(0, &[libc::PR_SET_NAME, libc::PR_SET_VMA])?;
    rules.insert(libc::SYS_prctl, names);
    let flags = several(1, &[libc::F_GETFD, libc::F_GETFL])?;
    rules.insert(libc::SYS_fcntl, flags);
    Some(rules)
}

#[cfg(test)]
mod tests {
    use std::{fs, io, net::TcpListener, os::unix::process::CommandExt, process::Command, thread};

    use mux_lockdown::syscall_filters::apply_filter;
    use nix::sys::{
        resource::{Resource, setrlimit},
        signal::{Signal, kill},
        wait::{WaitStatus, waitpid},
    };
    use nix::unistd::{ForkResult, Pid, fork};

    use super::*;

    #[test]
    fn calls_off_the_list_are_refused() {
        // The filter restricts the thread that applies it, so the test needs a separate thread.
        let refused = thread::spawn(|| {
            apply_filter(&refusing_program().unwrap()).unwrap();
            let denied = |error: io::Error| error.raw_os_error() == Some(libc::EPERM);
            [
                fs::read("/etc/hostname").is_err_and(denied),
                fs::write("/tmp/mux-worker-test", "").is_err_and(denied),
                TcpListener::bind("127.0.0.1:0").is_err_and(denied),
                Command::new("/bin/true").spawn().is_err_and(denied),
                thread::Builder::new().spawn(|| {}).is_err_and(denied),
                kill(Pid::parent(), None).is_err_and(|e| denied(e.into())),
            ]
        });
        assert_eq!(refused.join().unwrap(), [true; 6]);
    }

    /// Runs `deed` in a child process under the filter and expects SIGSYS.
    #[expect(
        unsafe_code,
        reason = "a filter stays for good, so that it takes a process of its own"
    )]
    fn dies(what: &str, deed: impl FnOnce()) {
        let filter = killing_program().unwrap();
        // SAFETY: the child makes a few system calls and ends. It takes no lock that another thread of this process may
        // hold.
        match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => {
                let end = waitpid(child, None).unwrap();
                assert!(
                    matches!(end, WaitStatus::Signaled(_, Signal::SIGSYS, _)),
                    "{what}: {end:?}"
                );
            }
            ForkResult::Child => {
                // Prevents a core file in the source tree.
                _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
                drop(apply_filter(&filter));
                deed();
                // SAFETY: the child uses nothing afterwards.
                unsafe { libc::_exit(0) }
            }
        }
    }

    #[test]
    fn forbidden_calls_kill_the_process() {
        dies("a socket", || drop(TcpListener::bind("127.0.0.1:0")));
        dies("another program", || drop(Command::new("/bin/true").exec()));
        dies("a signal to its parent", || _ = kill(Pid::parent(), None));
    }
}
