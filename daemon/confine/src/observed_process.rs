//! `muxd observe PLAN PROGRAM ARGS…`: the process that starts a server without a sandbox and records what it asks the
//! kernel for.
//!
//! seccomp notifies this process of the server's calls with paths and addresses (`notified_server`), which are recorded
//! and continued.
//!
//! This protects against nothing. A call is always let through, and its path is read from the server's memory before
//! the kernel reads it: a server that wants to deceive can change it in between, and can do its work by calls that are
//! not observed. The record is complete only for an honest server, so observe only a server that you trust without a
//! sandbox.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
};

use mux_lockdown::syscall_notifications::{CallNotification, continue_call};
use mux_settings::projects::lexical_path;
use nix::{
    libc::{self, c_long},
    sys::{
        prctl,
        signal::SigHandler,
        socket::{getsockopt, sockopt::SockType},
    },
};

use super::{
    confined_process::{CANNOT_START, set_termination},
    egress_forwarder,
    notified_server::{
        ListenerHandover, argument, copy_descriptor, int_argument, int_of, next_call, read_memory,
        read_string, run_notified,
    },
    observation::{FileAccess, ObservationPlan, ObservedAction},
    observation_file::ObservationFile,
    program_files::SYSTEM_FOLDERS,
    server_environment::proxy_variables,
};

/// A Unix socket's address is the longest kind.
const MAX_ADDRESS_BYTES: usize = 128;
/// Folders whose files the kernel makes.
const KERNEL_FOLDERS: &[&str] = &["/proc", "/sys", "/dev"];

/// Starts the server. `args` are those after `observe`. Returns with the server's exit code.
///
/// Must be called before any thread exists.
pub fn run_observed(args: impl Iterator<Item = OsString>) -> ExitCode {
    match observe_server(args) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            writeln!(io::stderr(), "[muxd] cannot observe the server: {problem}").ok();
            ExitCode::from(CANNOT_START)
        }
    }
}

fn observe_server(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let plan = args.next().and_then(|plan| plan.into_string().ok());
    let (Some(plan), Some(program)) = (plan, args.next()) else {
        return Err("muxd observe is started by muxd".into());
    };
    let plan: ObservationPlan =
        serde_json::from_str(&plan).map_err(|error| format!("cannot parse the plan: {error}"))?;
    let record = ObservationFile::open(&plan.record)
        .map_err(|error| format!("{}: {error}", plan.record.display()))?;
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .map_err(|error| format!("cannot listen for its connections: {error}"))?;
    let port = proxy
        .local_addr()
        .map_err(|error| error.to_string())?
        .port();
    run_notified(
        |handover| become_server(handover, port, &program, args),
        move |listener| {
            thread::spawn(move || egress_forwarder::run(&proxy, &plan.proxy));
            record_calls(&listener, port, record);
        },
    )
}

fn become_server(
    handover: ListenerHandover,
    port: u16,
    program: &OsString,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, String> {
    let mut command = Command::new(program);
    command.args(args).envs(proxy_variables(port));
    set_termination(SigHandler::SigDfl)?;
    prctl::set_no_new_privs().map_err(|error| format!("cannot give up privileges: {error}"))?;
    handover.notify_of(&observed_calls())?;
    let error = command.exec();
    Err(format!(
        "cannot start {}: {error}",
        Path::new(program).display()
    ))
}

/// The argument that holds a call's path.
#[derive(Clone, Copy)]
enum PathAt {
    /// Relative to the working directory.
    Cwd(usize),
    /// Relative to the directory in the argument before it.
    Dir(usize),
}
use PathAt::{Cwd, Dir};

/// How a call accesses a path.
#[derive(Clone, Copy)]
enum CallAccess {
    Look,
    Read,
    /// Changes an existing file.
    Change,
    Create,
    /// As the flags in this argument say.
    Open(usize),
    /// As the first field of the structure in this argument says.
    OpenHow(usize),
}

/// The calls with paths.
const PATH_CALLS: &[(c_long, PathAt, CallAccess)] = &[
    (libc::SYS_openat, Dir(1), CallAccess::Open(2)),
    (libc::SYS_openat2, Dir(1), CallAccess::OpenHow(2)),
    (libc::SYS_newfstatat, Dir(1), CallAccess::Look),
    (libc::SYS_statx, Dir(1), CallAccess::Look),
    (libc::SYS_faccessat, Dir(1), CallAccess::Look),
    (libc::SYS_faccessat2, Dir(1), CallAccess::Look),
    (libc::SYS_readlinkat, Dir(1), CallAccess::Look),
    (libc::SYS_statfs, Cwd(0), CallAccess::Look),
    (libc::SYS_chdir, Cwd(0), CallAccess::Look),
    (libc::SYS_inotify_add_watch, Cwd(1), CallAccess::Look),
    (libc::SYS_execve, Cwd(0), CallAccess::Read),
    (libc::SYS_execveat, Dir(1), CallAccess::Read),
    (libc::SYS_mkdirat, Dir(1), CallAccess::Create),
    (libc::SYS_mknodat, Dir(1), CallAccess::Create),
    (libc::SYS_symlinkat, Dir(2), CallAccess::Create),
    (libc::SYS_unlinkat, Dir(1), CallAccess::Change),
    (libc::SYS_renameat2, Dir(1), CallAccess::Change),
    (libc::SYS_renameat2, Dir(3), CallAccess::Create),
    (libc::SYS_linkat, Dir(1), CallAccess::Read),
    (libc::SYS_linkat, Dir(3), CallAccess::Create),
    (libc::SYS_truncate, Cwd(0), CallAccess::Change),
    (libc::SYS_fchmodat, Dir(1), CallAccess::Change),
    (libc::SYS_fchownat, Dir(1), CallAccess::Change),
    (libc::SYS_utimensat, Dir(1), CallAccess::Change),
];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_PATH_CALLS: &[(c_long, PathAt, CallAccess)] = &[
    (libc::SYS_open, Cwd(0), CallAccess::Open(1)),
    (libc::SYS_creat, Cwd(0), CallAccess::Create),
    (libc::SYS_stat, Cwd(0), CallAccess::Look),
    (libc::SYS_lstat, Cwd(0), CallAccess::Look),
    (libc::SYS_access, Cwd(0), CallAccess::Look),
    (libc::SYS_readlink, Cwd(0), CallAccess::Look),
    (libc::SYS_mkdir, Cwd(0), CallAccess::Create),
    (libc::SYS_mknod, Cwd(0), CallAccess::Create),
    (libc::SYS_symlink, Cwd(1), CallAccess::Create),
    (libc::SYS_rmdir, Cwd(0), CallAccess::Change),
    (libc::SYS_unlink, Cwd(0), CallAccess::Change),
    (libc::SYS_rename, Cwd(0), CallAccess::Change),
    (libc::SYS_rename, Cwd(1), CallAccess::Create),
    (libc::SYS_renameat, Dir(1), CallAccess::Change),
    (libc::SYS_renameat, Dir(3), CallAccess::Create),
    (libc::SYS_link, Cwd(0), CallAccess::Read),
    (libc::SYS_link, Cwd(1), CallAccess::Create),
    (libc::SYS_chmod, Cwd(0), CallAccess::Change),
    (libc::SYS_chown, Cwd(0), CallAccess::Change),
    (libc::SYS_lchown, Cwd(0), CallAccess::Change),
    (libc::SYS_utime, Cwd(0), CallAccess::Change),
    (libc::SYS_utimes, Cwd(0), CallAccess::Change),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_PATH_CALLS: &[(c_long, PathAt, CallAccess)] = &[];

fn observed_calls() -> Vec<i64> {
    let paths = PATH_CALLS.iter().chain(OLD_PATH_CALLS);
    let mut calls: Vec<i64> = paths.map(|(call, ..)| *call).collect();
    calls.extend([libc::SYS_connect, libc::SYS_bind, libc::SYS_listen]);
    calls
}

/// Records until the server has no process left.
fn record_calls(listener: &OwnedFd, proxy_port: u16, mut record: ObservationFile) {
    while let Some(call) = next_call(listener) {
        let observed = observe_call(&call);
        if continue_call(listener, &call).is_err() {
            continue;
        }
        for observation in observed {
            let is_proxy =
                |address: &SocketAddr| address.ip().is_loopback() && address.port() == proxy_port;
            if !matches!(&observation, ObservedAction::Connect(address) if is_proxy(address)) {
                record.add(observation);
            }
        }
    }
}

fn observe_call(call: &CallNotification) -> Vec<ObservedAction> {
    let number = c_long::from(call.call);
    let argument = |index: usize| argument(call, index);
    match number {
        libc::SYS_connect | libc::SYS_bind => {
            let length = usize::try_from(argument(2)).unwrap_or(0);
            let address = read_memory(call.thread, argument(1), length.min(MAX_ADDRESS_BYTES));
            let Some(address) = address else {
                return vec![ObservedAction::Unreadable];
            };
            let is_bind = number == libc::SYS_bind;
            observe_address(call, &address, is_bind)
                .into_iter()
                .collect()
        }
        libc::SYS_listen => {
            // The address of a Unix socket does not parse as this type.
            let address =
                own_socket(call).and_then(|socket| TcpListener::from(socket).local_addr().ok());
            let port = address.map(|address| ObservedAction::Listen(address.port()));
            port.into_iter().collect()
        }
        _ => {
            let paths = PATH_CALLS.iter().chain(OLD_PATH_CALLS);
            let own = paths.filter(|(known, ..)| *known == number);
            own.filter_map(|(_, at, does)| observe_path(call, *at, *does))
                .flatten()
                .collect()
        }
    }
}

fn observe_path(
    call: &CallNotification,
    at: PathAt,
    does: CallAccess,
) -> Option<Vec<ObservedAction>> {
    let argument = |index: usize| argument(call, index);
    let (path_at, base) = match at {
        Cwd(index) => (index, libc::AT_FDCWD),
        Dir(index) => (index, int_argument(call, index - 1)),
    };
    let pointer = argument(path_at);
    if pointer == 0 {
        return None;
    }
    let Some(text) = read_string(call.thread, pointer) else {
        return Some(vec![ObservedAction::Unreadable]);
    };
    // The descriptor itself is the target.
    if text.is_empty() {
        return None;
    }
    let path = path_in(call, base, &text)?;
    let is_ignored = |path: &Path| {
        let mut ignored = SYSTEM_FOLDERS.iter().chain(KERNEL_FOLDERS);
        ignored.any(|folder| path.starts_with(folder))
    };
    if is_ignored(&path) {
        return None;
    }
    let wants = wanted_access(call, does)?;
    let found = fs::metadata(&path).ok();
    let exists = found.is_some() || fs::symlink_metadata(&path).is_ok();
    let is_folder = found.is_some_and(|found| found.is_dir());
    let access = match (wants, exists) {
        (FileAccess::Create, true) if is_folder => FileAccess::Look,
        (FileAccess::Create, true) => FileAccess::Write,
        (FileAccess::Create, false) => FileAccess::Create,
        (wants, true) => wants,
        (_, false) => return None,
    };
    let mut observed = Vec::new();
    // A link into another folder needs both.
    if let Ok(real) = path.canonicalize()
        && real != path
        && !is_ignored(&real)
    {
        observed.push(ObservedAction::File {
            access,
            path: real,
            is_folder,
        });
    }
    observed.push(ObservedAction::File {
        access,
        path,
        is_folder,
    });
    Some(observed)
}

/// The path that a call names, in the folder of the descriptor `base` if it is relative.
fn path_in(call: &CallNotification, base: i32, path: &[u8]) -> Option<PathBuf> {
    let folder = match base {
        libc::AT_FDCWD => format!("/proc/{}/cwd", call.thread),
        fd => format!("/proc/{}/fd/{fd}", call.thread),
    };
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    if path.is_absolute() {
        return Some(lexical_path(path));
    }
    Some(lexical_path(&fs::read_link(folder).ok()?.join(path)))
}

fn wanted_access(call: &CallNotification, does: CallAccess) -> Option<FileAccess> {
    let argument = |index: usize| argument(call, index);
    let flags = match does {
        CallAccess::Look => return Some(FileAccess::Look),
        CallAccess::Read => return Some(FileAccess::Read),
        CallAccess::Change => return Some(FileAccess::Write),
        CallAccess::Create => return Some(FileAccess::Create),
        CallAccess::Open(index) => int_argument(call, index),
        CallAccess::OpenHow(index) => {
            let flags = read_memory(call.thread, argument(index), 8)?;
            int_of(u64::from_ne_bytes(flags.try_into().ok()?))
        }
    };
    Some(if flags & libc::O_PATH != 0 {
        FileAccess::Look
    } else if flags & (libc::O_CREAT | libc::O_TRUNC) != 0 {
        FileAccess::Create
    } else if flags & libc::O_ACCMODE != libc::O_RDONLY {
        FileAccess::Write
    } else {
        FileAccess::Read
    })
}

fn observe_address(
    call: &CallNotification,
    address: &[u8],
    is_bind: bool,
) -> Option<ObservedAction> {
    let (family, rest) = address.split_first_chunk()?;
    let (port, tail) = rest.split_first_chunk()?;
    let port = u16::from_be_bytes(*port);
    let ip: IpAddr = match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => Ipv4Addr::from(*tail.first_chunk::<4>()?).into(),
        // After the flow.
        libc::AF_INET6 => Ipv6Addr::from(*tail.get(4..)?.first_chunk::<16>()?).into(),
        libc::AF_UNIX => {
            let path = rest.split(|byte| *byte == 0).next()?;
            // Other addresses have no path.
            if path.is_empty() {
                return None;
            }
            let path = path_in(call, libc::AT_FDCWD, path)?;
            return if is_bind {
                Some(ObservedAction::File {
                    access: FileAccess::Create,
                    path,
                    is_folder: false,
                })
            } else {
                path.exists().then_some(ObservedAction::Socket(path))
            };
        }
        _ => return None,
    };
    let is_stream = || {
        own_socket(call).is_none_or(|socket| {
            getsockopt(&socket, SockType)
                .is_ok_and(|kind| kind == nix::sys::socket::SockType::Stream)
        })
    };
    (!is_bind && is_stream())
        .then(|| ObservedAction::Connect(SocketAddr::new(ip.to_canonical(), port)))
}

/// A copy of the socket on which a call is made.
fn own_socket(call: &CallNotification) -> Option<OwnedFd> {
    copy_descriptor(call, int_argument(call, 0))
}
