//! Builds seccomp programs, and lists the calls that no locked-down process has a use for.

use std::{collections::BTreeMap, env::consts::ARCH};

use nix::{errno::Errno, libc};
pub use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule,
    apply_filter, apply_filter_all_threads,
};
use seccompiler::{SeccompFilter, sock_filter};

/// The system calls of a filter. A call without rules always matches; a call with rules matches if one of them does.
pub type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Linux 6.6, which `libc` does not know everywhere. New calls have the same number on every processor.
pub const SYS_FCHMODAT2: libc::c_long = 452;

/// Reading and controlling other processes.
pub const PROCESS_INSPECTION_CALLS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
];

/// Parts of the kernel with a long history of vulnerabilities.
pub const KERNEL_SURFACE_CALLS: &[i64] = &[
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// The machine, its file systems and its namespaces.
pub const MACHINE_CALLS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
];

/// Compiles a filter. `None` on an architecture that the crate does not support.
pub fn compile_filter(
    rules: SyscallRules,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Option<BpfProgram> {
    let filter = SeccompFilter::new(rules, otherwise, listed, ARCH.try_into().ok()?).ok()?;
    filter.try_into().ok()
}

/// Checks that the kernel has filters with all actions that are used here. The error is ENOSYS or EINVAL from a kernel
/// without them, or the error that a container's filter returns.
#[expect(unsafe_code, reason = "no safe wrapper of seccomp is at hand")]
pub fn check_support() -> Result<(), Errno> {
    const GET_ACTION_AVAILABLE: libc::c_uint = 2;
    for action in [SeccompAction::Errno(0), SeccompAction::KillProcess] {
        let action = u32::from(action);
        // SAFETY: the call reads the number behind the pointer and changes nothing.
        let done = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                GET_ACTION_AVAILABLE,
                0_u32,
                std::ptr::from_ref(&action),
            )
        };
        Errno::result(done)?;
    }
    Ok(())
}

/// The condition that the argument with this index, as a C `int`, has this value.
pub fn int_equals(argument: u8, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).ok()
}

/// A rule that matches if all of the conditions do.
pub fn rule_with(conditions: &[SeccompCondition]) -> Option<SeccompRule> {
    SeccompRule::new(conditions.to_vec()).ok()
}

/// Refuses the calls of x86-64's x32 variant before `program` sees them: they have other numbers, which a list of
/// refused calls does not have.
pub fn without_x32(program: BpfProgram) -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32_CALLS: u32 = 0x4000_0000;
    let refuse = u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    // A filter first reads the number of the system call.
    let mut all = vec![
        step(LOAD_WORD, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32_CALLS),
        step(RETURN, 0, refuse),
    ];
    all.extend(program);
    all
}
