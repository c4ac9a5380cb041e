//! The system calls that no MCP server needs, and that would help a server to leave its sandbox.
//!
//! A server is a program that we do not know, so everything else is allowed. Refused calls fail with EPERM, or with
//! ENOSYS if programs then do without them.
//!
//! Invariant: no namespace, no mount, no view of other processes, no set-user-id file, and no socket of an unlisted
//! family.

use mux_lockdown::syscall_filters::{
    BpfProgram, KERNEL_SURFACE_CALLS, MACHINE_CALLS, PROCESS_INSPECTION_CALLS, SYS_FCHMODAT2,
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SyscallRules, compile_filter,
    int_equals, rule_with, without_x32,
};
use nix::libc;

/// Shared memory, messages and semaphores, which belong to a user, not to a process.
const SHARED_OBJECT_CALLS: &[libc::c_long] = &[
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    // POSIX message queues.
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// `TIOCSTI` and `TIOCLINUX`. Their type in `libc` differs between glibc and musl.
const TERMINAL_REQUESTS: [u64; 2] = [0x5412, 0x541c];

/// `FS_IOC_SETFLAGS`, its variant of 32 bits, and `FS_IOC_FSSETXATTR`: attributes of a file that is open for reading.
const ATTRIBUTE_REQUESTS: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// Calls that `libc` does not know yet. New calls have the same number on every architecture.
const SYS_STATMOUNT: libc::c_long = 457;
const SYS_LISTMOUNT: libc::c_long = 458;
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// The bits of a socket's type that are no flags.
const SOCKET_KIND_MASK: u64 = 0xf;

#[derive(Clone, Copy)]
pub(super) struct FilterOptions {
    /// IPv4, IPv6, and the kernel's list of interfaces.
    pub(super) internet: bool,
    /// Unix sockets.
    pub(super) unix: bool,
    /// Set if the server has its own namespaces, without other processes or their shared memory.
    pub(super) own_namespaces: bool,
}

/// The filters; `None` on an unsupported architecture.
pub(super) fn filter_programs(options: FilterOptions) -> Option<[BpfProgram; 2]> {
    let refuse = |errno: libc::c_int| SeccompAction::Errno(errno.unsigned_abs());
    let refused = compile_filter(
        refused_calls(options)?,
        SeccompAction::Allow,
        refuse(libc::EPERM),
    )?;
    let absent = compile_filter(
        absent_calls(options),
        SeccompAction::Allow,
        refuse(libc::ENOSYS),
    )?;
    Some([without_x32(refused), without_x32(absent)])
}

/// Calls that programs replace with others if the kernel does not know them. A filter cannot see the flags of `clone3`.
fn absent_calls(options: FilterOptions) -> SyscallRules {
    let absent = [
        // Memory that no limit counts.
        libc::SYS_memfd_create,
        libc::SYS_memfd_secret,
        // Its modes are in memory, where a filter cannot see them.
        libc::SYS_openat2,
        libc::SYS_shmget,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_clone3,
    ];
    // Programs can use the older calls instead, which `metadata_broker` answers.
    let brokered: &[libc::c_long] = if options.own_namespaces {
        &[]
    } else {
        &[SYS_SETXATTRAT, SYS_REMOVEXATTRAT, SYS_FILE_SETATTR]
    };
    let absent = absent.iter().chain(brokered);
    absent.map(|call| (*call, Vec::new())).collect()
}

/// Calls that set a mode, each with the argument that contains it, and the argument with the flags that say whether it
/// counts. Calls that change a mode may set the group's bit, which folders shared by a group have.
const MODE_CALLS: &[(libc::c_long, u8, Option<u8>)] = &[
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (SYS_FCHMODAT2, 2, None),
    (libc::SYS_mknodat, 2, None),
    (libc::SYS_openat, 3, Some(2)),
];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_MODE_CALLS: &[(libc::c_long, u8, Option<u8>)] = &[
    (libc::SYS_chmod, 1, None),
    (libc::SYS_mknod, 1, None),
    (libc::SYS_creat, 1, None),
    (libc::SYS_open, 2, Some(1)),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MODE_CALLS: &[(libc::c_long, u8, Option<u8>)] = &[];

/// The calls among them that change the mode of an existing file.
const CHANGES_OF_MODE: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
];

/// A file with these bits runs with the rights of its owner or group, whoever starts it, also outside the sandbox. A
/// server cannot set the owner's bit, and cannot create a file with the group's bit.
fn set_id_rules() -> Option<SyscallRules> {
    // `O_TMPFILE` without the bit of `O_DIRECTORY`, which is in it.
    const CREATES: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    let has_bit = |argument: u8, bit: u64| {
        let is_set = SeccompCmpOp::MaskedEq(bit);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is_set, bit).ok()
    };
    let mut rules = SyscallRules::new();
    for (call, mode, flags) in MODE_CALLS.iter().chain(OLD_MODE_CALLS) {
        let mut of_call = Vec::new();
        let changes = CHANGES_OF_MODE.contains(call);
        let bits = [
            Some(libc::S_ISUID),
            Some(libc::S_ISGID).filter(|_| !changes),
        ];
        for bit in bits.into_iter().flatten() {
            let sets = has_bit(*mode, bit.into())?;
            match flags {
                None => of_call.push(rule_with(&[sets])?),
                // Without one of these flags the mode is ignored, and may be anything.
                Some(flags) => {
                    for creates in CREATES {
                        let creates = has_bit(*flags, creates.unsigned_abs().into())?;
                        of_call.push(rule_with(&[sets.clone(), creates])?);
                    }
                }
            }
        }
        rules.insert(*call, of_call);
    }
    Some(rules)
}

fn refused_calls(options: FilterOptions) -> Option<SyscallRules> {
    let absent = absent_calls(options);
    let mut rules: SyscallRules = [
        libc::SYS_open_tree,
        SYS_OPEN_TREE_ATTR,
        SYS_STATMOUNT,
        SYS_LISTMOUNT,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_fanotify_init,
        libc::SYS_delete_module,
        libc::SYS_kexec_file_load,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_syslog,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_kcmp,
        libc::SYS_process_madvise,
        libc::SYS_move_pages,
        libc::SYS_migrate_pages,
    ]
    .iter()
    .chain(PROCESS_INSPECTION_CALLS)
    .chain(KERNEL_SURFACE_CALLS)
    .chain(MACHINE_CALLS)
    .filter(|call| !absent.contains_key(call))
    .map(|call| (*call, Vec::new()))
    .collect();
    rules.extend(set_id_rules()?);
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let mut new_namespace = Vec::new();
    for flag in namespaces {
        let flag = u64::from(flag.unsigned_abs());
        let is_set = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, is_set, flag).ok()?;
        new_namespace.push(rule_with(&[condition])?);
    }
    rules.insert(libc::SYS_clone, new_namespace);
    // Typing into a terminal, should there be one.
    let mut terminal = Vec::new();
    let attributes: &[u64] = if options.own_namespaces {
        &[]
    } else {
        &ATTRIBUTE_REQUESTS
    };
    for request in TERMINAL_REQUESTS.iter().chain(attributes).copied() {
        terminal.push(rule_with(&[int_equals(1, request)?])?);
    }
    rules.insert(libc::SYS_ioctl, terminal);
    if !options.own_namespaces {
        rules.extend(SHARED_OBJECT_CALLS.iter().map(|call| (*call, Vec::new())));
        // Limits of other processes.
        let differs = SeccompCmpOp::Ne;
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, differs, 0).ok()?;
        rules.insert(libc::SYS_prlimit64, vec![rule_with(&[other])?]);
    }
    if !options.unix {
        // Either end of a datagram pair can send to any socket that has a path. A raw socket is a datagram socket here.
        let mut datagrams = Vec::new();
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            let kind = u64::from(kind.unsigned_abs());
            let is_kind = SeccompCmpOp::MaskedEq(SOCKET_KIND_MASK);
            let condition =
                SeccompCondition::new(1, SeccompCmpArgLen::Dword, is_kind, kind).ok()?;
            datagrams.push(rule_with(&[condition])?);
        }
        rules.insert(libc::SYS_socketpair, datagrams);
    }
    let mut families = Vec::new();
    if options.internet {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if options.unix {
        families.push(libc::AF_UNIX);
    }
    let mut other = Vec::new();
    for family in families {
        let family = u64::from(family.unsigned_abs());
        let differs = SeccompCmpOp::Ne;
        other.push(SeccompCondition::new(0, SeccompCmpArgLen::Dword, differs, family).ok()?);
    }
    let rule = if other.is_empty() {
        Vec::new()
    } else {
        vec![rule_with(&other)?]
    };
    rules.insert(libc::SYS_socket, rule);
    Some(rules)
}

#[cfg(test)]
mod tests {
    use std::{
        net::UdpSocket,
        os::unix::net::{UnixDatagram, UnixStream},
        process::Command,
        thread,
    };

    use super::*;
    use mux_lockdown::syscall_filters::apply_filter;

    /// Runs `attempt` in a thread under the filters, because a thread cannot remove them.
    fn under<T: Send + 'static>(
        options: FilterOptions,
        attempt: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let filtered = thread::spawn(move || {
            nix::sys::prctl::set_no_new_privs().unwrap();
            for program in filter_programs(options).unwrap() {
                apply_filter(&program).unwrap();
            }
            attempt()
        });
        filtered.join().unwrap()
    }

    /// The error of a call.
    #[expect(unsafe_code, reason = "the calls have no safe wrapper at hand")]
    fn raw_call(call: libc::c_long, argument: libc::c_int) -> Option<libc::c_int> {
        // SAFETY: none of the calls reads or writes memory with these arguments.
        let failed = unsafe { libc::syscall(call, argument, 0, 0, 0) } == -1;
        failed.then(std::io::Error::last_os_error)?.raw_os_error()
    }

    #[test]
    fn programs_threads_and_listed_sockets_still_work() {
        let options = FilterOptions {
            internet: true,
            unix: true,
            own_namespaces: true,
        };
        let worked = under(options, || {
            [
                Command::new("/bin/true")
                    .status()
                    .is_ok_and(|it| it.success()),
                thread::Builder::new().spawn(|| {}).is_ok(),
                UdpSocket::bind("127.0.0.1:0").is_ok(),
                UnixDatagram::unbound().is_ok(),
            ]
        });
        assert_eq!(worked, [true; 4]);
    }

    #[test]
    fn namespaces_tracing_and_other_sockets_are_refused() {
        let options = FilterOptions {
            internet: false,
            unix: false,
            own_namespaces: false,
        };
        let denied = |error: std::io::Error| error.raw_os_error() == Some(libc::EPERM);
        let refused = under(options, move || {
            [
                raw_call(libc::SYS_unshare, libc::CLONE_NEWUSER) == Some(libc::EPERM),
                raw_call(libc::SYS_ptrace, 0) == Some(libc::EPERM),
                raw_call(libc::SYS_io_uring_setup, 1) == Some(libc::ENOSYS),
                UdpSocket::bind("127.0.0.1:0").is_err_and(denied),
                UnixDatagram::unbound().is_err_and(denied),
                UnixDatagram::pair().is_err_and(denied),
                UnixStream::pair().is_ok(),
                raw_call(libc::SYS_shmat, 0) == Some(libc::EPERM),
                raw_call(libc::SYS_prlimit64, 1) == Some(libc::EPERM),
                raw_call(libc::SYS_prlimit64, 0).is_none(),
            ]
        });
        assert_eq!(refused, [true; 10]);
    }
}
