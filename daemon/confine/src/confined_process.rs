//! `muxd confine PLAN PROGRAM ARGS…`: the process that becomes a server in its sandbox.
//!
//! With bubblewrap it runs twice: outside, where it becomes bubblewrap, and inside, where it applies what needs no
//! privileges. Landlock cannot come first, because it forbids mounts.
//!
//! Invariant: it becomes the server only if every layer of the plan is in force. There is one thread until then.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs::{self, File},
    io::{self, Write as _},
    net::TcpListener,
    os::{
        fd::{AsRawFd as _, RawFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::{Command, ExitCode},
};

use mux_lockdown::{
    landlock_rules::{self, LandlockAllowances},
    syscall_filters::apply_filter,
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
    libc,
    sys::{
        prctl,
        resource::{Resource, setrlimit},
        signal::{SigHandler, Signal, signal},
    },
    unistd::{ForkResult, fork},
};

use super::{
    egress_forwarder,
    plan::{ConfinementPlan, FORWARDER_PORT, PlannedNetwork},
    server_filter::{FilterTerms, filter_programs},
    user_scope::RUNTIME_DIR_VARIABLE,
};

/// The exit code of a server that could not be started, as of a shell.
pub(super) const CANNOT_START: u8 = 126;

/// Becomes the server. `args` are those after `confine`. Returns only if that fails.
///
/// Must be called before any thread exists.
pub fn run_confined(args: impl Iterator<Item = OsString>) -> ExitCode {
    let Err(problem) = become_server(args);
    // The daemon logs it, and shows it with the error of the start.
    writeln!(io::stderr(), "[muxd] sandbox: {problem}").ok();
    ExitCode::from(CANNOT_START)
}

fn become_server(mut args: impl Iterator<Item = OsString>) -> Result<Infallible, String> {
    let plan = args.next().and_then(|plan| plan.into_string().ok());
    let (Some(plan), Some(program)) = (plan, args.next()) else {
        return Err("muxd confine is started by muxd".into());
    };
    let mut plan: ConfinementPlan =
        serde_json::from_str(&plan).map_err(|error| format!("cannot parse the plan: {error}"))?;
    let error = match plan.bubblewrap.take() {
        Some(words) => enter_namespaces(&words, &plan, program, args)?,
        None => {
            restrict(&plan)?;
            let program = Path::new(&program);
            let mut command = Command::new(program);
            if plan.runtime_dir.is_some() {
                // They were for the scope.
                command.env_remove(RUNTIME_DIR_VARIABLE);
                command.env_remove("INVOCATION_ID");
            }
            let error = command.args(args).exec();
            return Err(format!("cannot start {}: {error}", program.display()));
        }
    };
    Err(format!("cannot start bubblewrap: {error}"))
}

/// Becomes bubblewrap, which starts this program once more inside.
fn enter_namespaces(
    words: &[String],
    plan: &ConfinementPlan,
    program: OsString,
    args: impl Iterator<Item = OsString>,
) -> Result<io::Error, String> {
    // The file need not be visible inside, and may have been replaced by an update.
    let own = File::open("/proc/self/exe").map_err(|error| format!("cannot open muxd: {error}"))?;
    fcntl(&own, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|error| format!("cannot keep muxd open: {error}"))?;
    // bubblewrap's own process must not end before the server has had its time to end. The server gets the default
    // back below.
    set_termination(SigHandler::SigIgn)?;
    let (bubblewrap, words) = words.split_first().ok_or("the plan names no bubblewrap")?;
    let mut command = Command::new(bubblewrap);
    if let Some(runtime_dir) = &plan.runtime_dir {
        command.env(RUNTIME_DIR_VARIABLE, runtime_dir);
    }
    let plan = serde_json::to_string(plan).map_err(|error| error.to_string())?;
    Ok(command
        .args(words)
        .arg("--")
        .arg(format!("/proc/self/fd/{}", own.as_raw_fd()))
        .arg("confine")
        .arg(plan)
        .arg(program)
        .args(args)
        .exec())
}

/// Applies the layers that need no privileges, in the order in which one does not forbid the next.
fn restrict(plan: &ConfinementPlan) -> Result<(), String> {
    set_termination(SigHandler::SigDfl)?;
    if let PlannedNetwork::Proxy(socket) = &plan.network {
        start_forwarder(socket)?;
    }
    let limit = |resource, value: u64, what: &str| {
        setrlimit(resource, value, value).map_err(|error| format!("cannot limit {what}: {error}"))
    };
    limit(Resource::RLIMIT_CORE, 0, "core files")?;
    if let Some(memory) = plan.memory {
        limit(Resource::RLIMIT_DATA, memory, "memory")?;
    }
    if let Some(processes) = plan.processes {
        limit(Resource::RLIMIT_NPROC, processes.into(), "processes")?;
    }
    prctl::set_no_new_privs().map_err(|error| format!("cannot give up privileges: {error}"))?;
    drop_capabilities()?;
    close_on_exec_above_standard()?;
    let internet = plan.network == PlannedNetwork::Any;
    let allowed = LandlockAllowances {
        read: plan.read.clone(),
        write: plan.write.clone(),
        // A network of its own has nothing that it could reach.
        tcp: internet || plan.own_namespaces,
    };
    if landlock_rules::restrict(&allowed).is_none() && !plan.own_namespaces {
        return Err("Landlock is not in force, and there are no namespaces".into());
    }
    let terms = FilterTerms {
        internet: internet || plan.own_namespaces,
        unix: plan.unix_sockets,
        own_namespaces: plan.own_namespaces,
    };
    let programs = filter_programs(terms).ok_or("no system call filter for this processor")?;
    for program in programs {
        apply_filter(&program).map_err(|error| format!("cannot filter system calls: {error}"))?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the disposition of a signal is global")]
pub(super) fn set_termination(handler: SigHandler) -> Result<(), String> {
    // SAFETY: both dispositions that are set here run no code of this process.
    unsafe { signal(Signal::SIGTERM, handler) }
        .map(drop)
        .map_err(|error| format!("cannot set the disposition of SIGTERM: {error}"))
}

/// Those of root, which an exec does not give back after `no_new_privs`. Other users have none.
#[expect(unsafe_code, reason = "no safe wrapper of capset is at hand")]
fn drop_capabilities() -> Result<(), String> {
    const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
    // The version and the thread; then effective, permitted and inheritable, in two halves.
    let header = [CAPABILITY_VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: the call reads both arrays, which have the sizes of this version.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    match done {
        0 => Ok(()),
        _ => Err(format!(
            "cannot drop capabilities: {}",
            io::Error::last_os_error()
        )),
    }
}

/// Has an exec close all descriptors but the standard ones.
#[expect(unsafe_code, reason = "no safe wrapper of close_range is at hand")]
pub(super) fn close_on_exec_above_standard() -> Result<(), String> {
    // SAFETY: the call takes three integers, and closes nothing now.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3_u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    let closed = match Errno::result(done) {
        // Before Linux 5.9, and before 5.11 without the flag.
        Err(Errno::ENOSYS | Errno::EINVAL) => close_listed_on_exec(),
        other => other.map(drop).map_err(io::Error::from),
    };
    closed.map_err(|error| format!("cannot close descriptors: {error}"))
}

/// Does the same one by one.
fn close_listed_on_exec() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        if let Some(number) = name.to_str().and_then(|name| name.parse::<RawFd>().ok())
            && number > 2
        {
            set_close_on_exec(number)?;
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the descriptors have no owner in this program")]
fn set_close_on_exec(number: RawFd) -> io::Result<()> {
    // SAFETY: the call takes integers, and closes nothing now.
    let done = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    Errno::result(done).map(drop).map_err(io::Error::from)
}

/// Listens before the server starts, so that its first request is not refused.
#[expect(
    unsafe_code,
    reason = "a fork may only be made where there are no threads"
)]
fn start_forwarder(socket: &Path) -> Result<(), String> {
    let listener = TcpListener::bind(("127.0.0.1", FORWARDER_PORT))
        .map_err(|error| format!("cannot listen for its connections: {error}"))?;
    // SAFETY: no thread exists yet, so the child is a whole copy of this process.
    match unsafe { fork() }.map_err(|error| format!("cannot start the forwarder: {error}"))? {
        ForkResult::Parent { .. } => Ok(()),
        ForkResult::Child => egress_forwarder::run(&listener, socket),
    }
}
