//! `muxd confine PLAN PROGRAM ARGS…`: the process that becomes a server in its sandbox.
//!
//! With bubblewrap it runs twice: outside, where it becomes bubblewrap, and inside, where it applies what needs no
//! privileges. Landlock cannot come first, because it forbids mounts. Without bubblewrap the server is a child, for which
//! this process makes the calls that Landlock does not cover (`metadata_broker`).
//!
//! Invariants: it becomes the server only if every layer of the plan is active, and if the server gets the objects of
//! the plan, even if their paths lead elsewhere by now. Until then there is only one thread.

use std::{
    collections::HashSet,
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Seek as _, Write as _},
    net::TcpListener,
    os::{
        fd::{AsRawFd as _, OwnedFd, RawFd},
        unix::{ffi::OsStringExt as _, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use mux_lockdown::{
    landlock_rules::{self, LandlockAllowances},
    syscall_filters::apply_filter,
};
use mux_paths::{file_identity, opened_object::open_object};
use mux_process::inherited_descriptors;
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    libc,
    sys::{
        memfd::{MFdFlags, memfd_create},
        prctl,
        resource::{Resource, setrlimit},
        signal::{SigHandler, Signal, signal},
    },
    unistd::{ForkResult, fork},
};

use super::{
    egress_forwarder,
    granted_paths::GrantedPath,
    metadata_broker::{BrokeredFolders, answer_calls, brokered_calls},
    notified_server::{ListenerHandover, run_notified},
    plan::{BubblewrapStart, ConfinementPlan, FORWARDER_PORT, PlannedNetwork},
    server_filter::{FilterOptions, filter_programs},
    user_scope::RUNTIME_DIR_VARIABLE,
};

/// The exit code of a server that could not be started, as in a shell.
pub(super) const CANNOT_START: u8 = 126;

/// Becomes the server. `args` are those after `confine`. Returns only if that fails.
///
/// Must be called before any thread exists.
pub fn run_confined(args: impl Iterator<Item = OsString>) -> ExitCode {
    match start_server(args) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            // The daemon logs it, and shows it with the error of the start.
            writeln!(io::stderr(), "[muxd] sandbox: {problem}").ok();
            ExitCode::from(CANNOT_START)
        }
    }
}

/// Becomes the server, or starts it as a child without namespaces and returns with its exit code.
fn start_server(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let plan = args.next().and_then(|plan| plan.into_string().ok());
    let (Some(plan), Some(program)) = (plan, args.next()) else {
        return Err("muxd confine is started by muxd".into());
    };
    let mut plan = parse_plan(&plan)?;
    if let Some(start) = plan.bubblewrap.take() {
        let error = enter_namespaces(&start, &plan, program, args)?;
        return Err(format!("cannot start bubblewrap: {error}"));
    }
    if plan.own_namespaces {
        let Err(problem) = become_server(&plan, &program, args, None);
        return Err(problem);
    }
    let folders = brokered_folders(&plan)?;
    drop_capabilities()?;
    run_notified(
        |handover| become_server(&plan, &program, args, Some(handover)),
        move |listener| answer_calls(&listener, &folders),
    )
}

/// The plan, or the plan in the descriptor with this number.
fn parse_plan(text: &str) -> Result<ConfinementPlan, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot read the plan: {error}");
    let read;
    let text = match text.parse::<RawFd>() {
        Err(_) => text,
        Ok(number) => {
            read =
                fs::read_to_string(format!("/proc/self/fd/{number}")).map_err(|it| failed(&it))?;
            &*read
        }
    };
    serde_json::from_str(text).map_err(|error| failed(&error))
}

/// Data for a program that this process becomes, in a descriptor that it inherits.
fn inherited_data(data: &[u8]) -> Result<OwnedFd, String> {
    let write = || -> io::Result<OwnedFd> {
        let memory = memfd_create(c"muxd", MFdFlags::empty())?;
        let mut file = File::from(memory);
        file.write_all(data)?;
        file.rewind()?;
        Ok(file.into())
    };
    write().map_err(|error| format!("cannot pass its plan: {error}"))
}

fn become_server(
    plan: &ConfinementPlan,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
    handover: Option<ListenerHandover>,
) -> Result<Infallible, String> {
    restrict(plan)?;
    if let Some(handover) = handover {
        handover.notify_of(&brokered_calls())?;
    }
    let mut command = Command::new(program);
    if plan.runtime_dir.is_some() {
        // The variables were for the scope.
        command.env_remove(RUNTIME_DIR_VARIABLE);
        command.env_remove("INVOCATION_ID");
    }
    let error = command.args(args).exec();
    let program = Path::new(program).display();
    Err(format!("cannot start {program}: {error}"))
}

/// The folders in which the server may change and watch files. Devices are only used.
fn brokered_folders(plan: &ConfinementPlan) -> Result<BrokeredFolders, String> {
    // A folder that does not exist here is useless to the server.
    let open = |folder: &PathBuf| open_object(&folder.canonicalize().ok()?).ok();
    let own = |folders: &[PathBuf], granted: &[GrantedPath]| {
        let folders = folders.iter().filter(|folder| !folder.starts_with("/dev"));
        let mut objects = open_granted(granted)?;
        objects.extend(folders.filter_map(open));
        Ok::<_, String>(objects)
    };
    Ok(BrokeredFolders {
        read: own(&plan.read, &plan.granted_read)?,
        write: own(&plan.write, &plan.granted_write)?,
    })
}

/// Becomes bubblewrap, which starts this program once more inside.
fn enter_namespaces(
    start: &BubblewrapStart,
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
    let (program_of_start, words) = start
        .command
        .split_first()
        .ok_or("the plan does not name bubblewrap")?;
    let options: Vec<_> = start.args.iter().map(|word| format!("{word}\0")).collect();
    let options = inherited_data(options.concat().as_bytes())?;
    let inner_plan = serde_json::to_vec(plan).map_err(|error| error.to_string())?;
    let inner_plan = inherited_data(&inner_plan)?;
    let mut command = Command::new(program_of_start);
    if let Some(runtime_dir) = &plan.runtime_dir {
        command.env(RUNTIME_DIR_VARIABLE, runtime_dir);
    }
    Ok(command
        .args(words)
        .arg("--args")
        .arg(options.as_raw_fd().to_string())
        .arg("--")
        .arg(format!("/proc/self/fd/{}", own.as_raw_fd()))
        .arg("confine")
        .arg(inner_plan.as_raw_fd().to_string())
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
    let mut read_objects = Vec::new();
    let mut write_objects = Vec::new();
    if plan.own_namespaces {
        verify_visible_files(plan)?;
    } else {
        read_objects = open_granted(&plan.granted_read)?;
        write_objects = open_granted(&plan.granted_write)?;
    }
    let allowed = LandlockAllowances {
        read: plan.read.clone(),
        write: plan.write.clone(),
        read_objects,
        write_objects,
        // A network namespace has nothing that the server could reach.
        tcp: internet || plan.own_namespaces,
    };
    if landlock_rules::restrict(&allowed).is_none() && !plan.own_namespaces {
        return Err("Landlock is not active, and there are no namespaces".into());
    }
    let options = FilterOptions {
        internet: internet || plan.own_namespaces,
        unix: plan.unix_sockets,
        own_namespaces: plan.own_namespaces,
    };
    let programs = filter_programs(options).ok_or("no system call filter for this architecture")?;
    for program in programs {
        apply_filter(&program).map_err(|error| format!("cannot filter system calls: {error}"))?;
    }
    Ok(())
}

/// Compares what is mounted with what was granted: bubblewrap follows paths again, and a server with write access may
/// exchange folders meanwhile. The mount point must be right, too: a mount that a link led elsewhere covers another
/// path.
fn verify_visible_files(plan: &ConfinementPlan) -> Result<(), String> {
    let mounted = fs::read_to_string("/proc/self/mountinfo")
        .map_err(|error| format!("cannot read its mounts: {error}"))?;
    let mounted: HashSet<PathBuf> = mounted.lines().filter_map(mount_point).collect();
    for granted in plan.granted_read.iter().chain(&plan.granted_write) {
        // The sandbox has its own /dev and /proc, regardless of grants.
        if ["/dev", "/proc"]
            .iter()
            .any(|own| granted.at.starts_with(own))
        {
            continue;
        }
        let found = file_identity::of_path(&granted.at);
        if let Err(error) = &found
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            return Err(format!(
                "{} cannot be reached in the sandbox: {error}; if a program mounts it (FUSE), use its option allow_other, or remove it from the entry",
                granted.at.display()
            ));
        }
        if !mounted.contains(&granted.at) || found.ok() != Some(granted.identity) {
            return Err(changed_meanwhile(&granted.at));
        }
    }
    for hidden in &plan.hidden {
        let found = file_identity::of_path(&hidden.at);
        let is_seen = found.is_ok_and(|found| Some(found) == hidden.identity);
        if !mounted.contains(&hidden.at) || is_seen {
            return Err(changed_meanwhile(&hidden.at));
        }
    }
    Ok(())
}

/// The mount point in a line of `mountinfo`, in which blanks and backslashes are written as octal numbers.
fn mount_point(line: &str) -> Option<PathBuf> {
    const FIELD: usize = 4;
    let text = line.split(' ').nth(FIELD)?.as_bytes();
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let octal = octal.and_then(|digits| str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            path.push(byte);
            rest = &after[3..];
        } else {
            path.push(*first);
            rest = after;
        }
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Opens the granted paths, for Landlock.
fn open_granted(granted: &[GrantedPath]) -> Result<Vec<File>, String> {
    let open = |granted: &GrantedPath| {
        let object = open_object(&granted.real).ok()?;
        let (identity, _) = file_identity::of_file(&object).ok()?;
        (identity == granted.identity).then_some(object)
    };
    let open = |granted: &GrantedPath| open(granted).ok_or_else(|| changed_meanwhile(&granted.at));
    granted.iter().map(open).collect()
}

fn changed_meanwhile(path: &Path) -> String {
    format!(
        "{} changed while the server started, and is no longer the object that was granted; start the server again",
        path.display()
    )
}

#[expect(unsafe_code, reason = "the disposition of a signal is global")]
pub(super) fn set_termination(handler: SigHandler) -> Result<(), String> {
    // SAFETY: both dispositions that are set here run no code of this process.
    unsafe { signal(Signal::SIGTERM, handler) }
        .map(drop)
        .map_err(|error| format!("cannot set the disposition of SIGTERM: {error}"))
}

/// Root's capabilities, which an exec does not restore after `no_new_privs`. Other users have none.
#[expect(unsafe_code, reason = "there is no safe wrapper for capset")]
fn drop_capabilities() -> Result<(), String> {
    const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
    // The version and the thread, then effective, permitted and inheritable, in two halves.
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

/// Makes an exec close all descriptors except the standard ones.
pub(super) fn close_on_exec_above_standard() -> Result<(), String> {
    inherited_descriptors::close_on_exec()
        .map_err(|error| format!("cannot close descriptors: {error}"))
}

/// Listens before the server starts, because its first request must not be refused.
#[expect(unsafe_code, reason = "a fork is allowed only without threads")]
fn start_forwarder(socket: &Path) -> Result<(), String> {
    let listener = TcpListener::bind(("127.0.0.1", FORWARDER_PORT))
        .map_err(|error| format!("cannot listen for its connections: {error}"))?;
    // SAFETY: no thread exists yet, so the child is a whole copy of this process.
    match unsafe { fork() }.map_err(|error| format!("cannot start the forwarder: {error}"))? {
        ForkResult::Parent { .. } => Ok(()),
        ForkResult::Child => egress_forwarder::run(&listener, socket),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        let line =
            "36 35 98:0 /mnt1 /home/me/a\\040b\\134c rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(mount_point(line).unwrap(), Path::new("/home/me/a b\\c"));
        assert_eq!(mount_point("1 2 3"), None);
    }
}
