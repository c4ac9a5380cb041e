//! `muxd observe PLAN PROGRAM ARGS…`: the process that starts a server without a sandbox and records what it asks the
//! kernel for.
//!
//! The server is a child, because a process may read the memory of its descendants only where Yama is in force. Its
//! calls with paths and addresses are notified by seccomp, recorded, and continued.
//!
//! This protects from nothing. A call is always let through, and its path is read from the server's memory before the
//! kernel reads it: a server that wants to deceive can change it in between, and can do its work by calls that are not
//! observed. What is recorded is what an honest server does, so that only a server that is trusted without a sandbox
//! may be observed.
//!
//! Invariant: the server's exit is this process's exit, and its pipes close with the server.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs::{self, File},
    io::{self, IoSlice, IoSliceMut, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd},
        unix::{ffi::OsStrExt as _, fs::FileExt as _, net::UnixStream, process::CommandExt as _},
    },
    path::Path,
    process::{Command, ExitCode},
    thread,
};

use mux_lockdown::syscall_notifications::{
    CallNotification, apply_notifying_filter, continue_call, notifying_filter, receive_notification,
};
use mux_settings::projects::lexical_path;
use nix::{
    cmsg_space,
    libc::{self, c_long},
    sys::{
        prctl,
        signal::{SigHandler, Signal, kill},
        socket::{
            ControlMessage, ControlMessageOwned, MsgFlags, getsockopt, recvmsg, sendmsg,
            sockopt::SockType,
        },
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork},
};

use super::{
    confined_process::{CANNOT_START, close_on_exec_above_standard, set_termination},
    egress_forwarder,
    observation::{FileAccess, ObservationPlan, ObservedAction},
    observation_file::ObservationFile,
    program_files::SYSTEM_FOLDERS,
    server_environment::proxy_variables,
};

/// The longest path that the kernel takes.
const MAX_PATH_BYTES: usize = 4096;
/// A Unix socket's address is the longest.
const MAX_ADDRESS_BYTES: usize = 128;
/// Folders whose files are made by the kernel.
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

#[expect(
    unsafe_code,
    reason = "a fork may only be made where there are no threads"
)]
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
    let (near, far) = UnixStream::pair().map_err(|error| error.to_string())?;
    close_on_exec_above_standard()?;
    // SAFETY: no thread exists yet, so the child is a whole copy of this process.
    let child = match unsafe { fork() }.map_err(|error| format!("cannot fork: {error}"))? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let Err(problem) = become_server(&far, port, &program, args);
            return Err(problem);
        }
    };
    drop(far);
    // The server decides when it ends, and this process tells with which code.
    set_termination(SigHandler::SigIgn)?;
    release_standard_streams();
    let listener = receive_listener(&near);
    thread::spawn(move || egress_forwarder::run(&proxy, &plan.proxy));
    if let Some(listener) = listener {
        thread::spawn(move || record_calls(&listener, port, record));
    }
    loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(code.to_le_bytes()[0]),
            Ok(WaitStatus::Signaled(_, signal, _)) => die_of(signal),
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn become_server(
    far: &UnixStream,
    port: u16,
    program: &OsString,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, String> {
    let mut command = Command::new(program);
    command.args(args).envs(proxy_variables(port));
    set_termination(SigHandler::SigDfl)?;
    prctl::set_no_new_privs().map_err(|error| format!("cannot give up privileges: {error}"))?;
    let program_text = notifying_filter(&observed_calls())
        .ok_or("there is no system call filter for this processor")?;
    let listener = apply_notifying_filter(&program_text).map_err(|error| {
        format!("the kernel does not notify of system calls (Linux 5.5 does): {error}")
    })?;
    let rights = [listener.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&rights)];
    sendmsg::<()>(
        far.as_raw_fd(),
        &[IoSlice::new(b"l")],
        &rights,
        MsgFlags::empty(),
        None,
    )
    .map_err(|error| format!("cannot hand over the listener: {error}"))?;
    drop(listener);
    let error = command.exec();
    Err(format!(
        "cannot start {}: {error}",
        Path::new(program).display()
    ))
}

#[expect(unsafe_code, reason = "the kernel hands descriptors over as numbers")]
fn receive_listener(near: &UnixStream) -> Option<OwnedFd> {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut control = cmsg_space!([RawFd; 1]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(near.as_raw_fd(), &mut parts, Some(&mut control), flags).ok()?;
    message.cmsgs().ok()?.find_map(|part| match part {
        // SAFETY: `recvmsg` has just installed this descriptor for this process.
        ControlMessageOwned::ScmRights(fds) => Some(unsafe { OwnedFd::from_raw_fd(*fds.first()?) }),
        _ => None,
    })
}

fn release_standard_streams() {
    if let Ok(null) = File::open("/dev/null") {
        nix::unistd::dup2_stdin(&null).ok();
        nix::unistd::dup2_stdout(&null).ok();
        nix::unistd::dup2_stderr(&null).ok();
    }
}

/// Ends as the server did.
fn die_of(signal: Signal) {
    set_termination(SigHandler::SigDfl).ok();
    kill(Pid::this(), signal).ok();
}

/// Where a call has its path.
#[derive(Clone, Copy)]
enum PathAt {
    /// Relative to the working directory.
    Cwd(usize),
    /// The argument before it is the directory that it is relative to.
    Dir(usize),
}
use PathAt::{Cwd, Dir};

/// How a call accesses a path.
#[derive(Clone, Copy)]
enum CallAccess {
    Look,
    Read,
    /// Changes what exists.
    Change,
    Create,
    /// As the flags in this argument say.
    Open(usize),
    /// As the first word of the structure in this argument says.
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

/// Those that newer processors do without.
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

/// Records until no process of the server is left.
fn record_calls(listener: &OwnedFd, proxy_port: u16, mut record: ObservationFile) {
    loop {
        let call = match receive_notification(listener) {
            Ok(call) => call,
            Err(error) if has_ended(listener) => {
                // Nothing can be reported here: the streams are the server's.
                drop(error);
                return;
            }
            Err(_) => continue,
        };
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

/// Whether no process is left that could notify.
fn has_ended(listener: &OwnedFd) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd as _;
    let mut fds = [PollFd::new(listener.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::ZERO).is_err()
        || fds[0]
            .revents()
            .is_some_and(|found| found.intersects(PollFlags::POLLHUP | PollFlags::POLLNVAL))
}

fn observe_call(call: &CallNotification) -> Vec<ObservedAction> {
    let number = c_long::from(call.call);
    let argument = |index: usize| call.arguments.get(index).copied().unwrap_or_default();
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
            // The address of a Unix socket is not one of this kind.
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
    let argument = |index: usize| call.arguments.get(index).copied().unwrap_or_default();
    let (path_at, base) = match at {
        Cwd(index) => (index, None),
        // The descriptor is an `int`.
        Dir(index) => (index, Some(argument(index - 1) as i32)),
    };
    let pointer = argument(path_at);
    if pointer == 0 {
        return None;
    }
    let Some(text) = read_text(call.thread, pointer) else {
        return Some(vec![ObservedAction::Unreadable]);
    };
    // The descriptor itself is meant.
    if text.is_empty() {
        return None;
    }
    let path = Path::new(std::ffi::OsStr::from_bytes(&text));
    let path = match path.is_absolute() {
        true => path.to_owned(),
        false => {
            let link = match base {
                None | Some(libc::AT_FDCWD) => format!("/proc/{}/cwd", call.thread),
                Some(fd) => format!("/proc/{}/fd/{fd}", call.thread),
            };
            fs::read_link(link).ok()?.join(path)
        }
    };
    let path = lexical_path(&path);
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

fn wanted_access(call: &CallNotification, does: CallAccess) -> Option<FileAccess> {
    let argument = |index: usize| call.arguments.get(index).copied().unwrap_or_default();
    let flags = match does {
        CallAccess::Look => return Some(FileAccess::Look),
        CallAccess::Read => return Some(FileAccess::Read),
        CallAccess::Change => return Some(FileAccess::Write),
        CallAccess::Create => return Some(FileAccess::Create),
        CallAccess::Open(index) => argument(index) as i32,
        CallAccess::OpenHow(index) => {
            let flags = read_memory(call.thread, argument(index), 8)?;
            u64::from_ne_bytes(flags.try_into().ok()?) as i32
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
            // Others have no path.
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            if path.as_os_str().is_empty() {
                return None;
            }
            let path = match path.is_absolute() {
                true => path.to_owned(),
                false => fs::read_link(format!("/proc/{}/cwd", call.thread))
                    .ok()?
                    .join(path),
            };
            let path = lexical_path(&path);
            return match is_bind {
                true => Some(ObservedAction::File {
                    access: FileAccess::Create,
                    path,
                    is_folder: false,
                }),
                false => path.exists().then_some(ObservedAction::Socket(path)),
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

/// A copy of the socket that a call is made with.
#[expect(unsafe_code, reason = "no safe wrapper of pidfd_getfd is at hand")]
fn own_socket(call: &CallNotification) -> Option<OwnedFd> {
    let status = fs::read_to_string(format!("/proc/{}/status", call.thread)).ok()?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    let process: i32 = process.trim().parse().ok()?;
    let made = |fd: c_long| {
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the kernel has just made this descriptor for this process.
        Some(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // SAFETY: both calls take integers only.
    let process = made(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    let fd = call.arguments[0] as i32;
    // SAFETY: as above.
    made(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

fn read_memory(thread: u32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    memory.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// A text that ends with a zero.
fn read_text(thread: u32, at: u64) -> Option<Vec<u8>> {
    const PAGE_BYTES: u64 = 4096;
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    let mut text = Vec::new();
    while text.len() < MAX_PATH_BYTES {
        // The next page may not exist.
        let next = at + text.len() as u64;
        let mut part = vec![0; (PAGE_BYTES - next % PAGE_BYTES) as usize];
        let count = memory
            .read_at(&mut part, next)
            .ok()
            .filter(|count| *count > 0)?;
        let part = &part[..count];
        match part.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend(&part[..end]);
                return Some(text);
            }
            None => text.extend(part),
        }
    }
    None
}
