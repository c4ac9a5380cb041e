//! What workers ask of the kernel while they run hostile programs, as `strace` sees it.
//!
//! Invariant: from its lock-down on, a worker does not even try to make a socket, a file, a process or
//! a thread. Calls show before any filter decides on them, so that what was refused is seen too.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use mux_sandbox::{Limits, Pool, PoolSettings};
use mux_tests::{env::worker, left_out, pool::settings};

use super::{case::Case, files, limits::run};

/// Whatever makes, opens, moves or removes something outside the process, or looks into another.
const FORBIDDEN: &[&str] = &[
    // Network.
    "socket",
    "socketpair",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "sendto",
    "sendmsg",
    "sendmmsg",
    // Files.
    "open",
    "openat",
    "openat2",
    "creat",
    "memfd_create",
    "stat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "unlink",
    "unlinkat",
    "rename",
    "renameat2",
    "mkdir",
    "mkdirat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "chmod",
    "fchmodat",
    "chdir",
    "chroot",
    "mount",
    // Descriptors.
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "eventfd2",
    "epoll_create1",
    "timerfd_create",
    "signalfd4",
    "inotify_init1",
    "ioctl",
    // Processes and threads.
    "execve",
    "execveat",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "kill",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_open",
    "setuid",
    "setgid",
    "setresuid",
    "capset",
    "unshare",
    "setns",
    // The kernel itself.
    "bpf",
    "io_uring_setup",
    "userfaultfd",
    "perf_event_open",
    "keyctl",
    "add_key",
];

/// What the C library and the engine try by themselves, and go on without. The rest of a line says why it
/// is no offence: it must have been refused.
const TRIED: &[&str] = &[
    // A C library's way of asking what kind of thing standard output is.
    "newfstatat(1, \"\", ",
    // How fast the processor's counter runs, asked when it is first read.
    "openat(AT_FDCWD, \"/sys/devices/system/cpu/cpu0/tsc_freq_khz\", ",
    // Whether the C library's allocator should give memory back, asked when it first could.
    "openat(AT_FDCWD, \"/proc/sys/vm/overcommit_memory\", ",
];

/// One system call: `openat(AT_FDCWD, "/", O_RDONLY) = 3`, and what it gave.
#[derive(Debug)]
struct Call {
    text: String,
    result: String,
}

impl Call {
    fn name(&self) -> &str {
        self.text.split('(').next().unwrap_or_default()
    }

    /// Whether no worker may try this, or may have it.
    fn is_offence(&self) -> bool {
        let tried = TRIED.iter().any(|start| self.text.starts_with(start));
        // Nothing came of a call in which the process was killed.
        let refused = self.result.is_empty() || self.result.starts_with("-1 EPERM");
        FORBIDDEN.contains(&self.name()) && !(tried && refused)
    }
}

/// The calls of a trace from the lock-down on; none if there was no lock-down. Two filters are the last
/// step of it.
fn after_lockdown(trace: &str) -> Option<Vec<Call>> {
    let lines: Vec<&str> = trace.lines().collect();
    let filters = lines.iter().enumerate();
    let filters = filters.filter(|(_, line)| line.contains("SECCOMP_SET_MODE_FILTER"));
    let filters: Vec<usize> = filters.map(|(place, _)| place).collect();
    let [.., _, last] = filters[..] else {
        return None;
    };
    Some(calls(&lines[last + 1..]))
}

/// Lines are `4711  openat(AT_FDCWD, …) = 3`. A call that another thread interrupts takes two of them, the
/// second of which is `4711  <... openat resumed>…) = 3`.
fn calls(lines: &[&str]) -> Vec<Call> {
    let mut calls = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let Some((thread, text)) = line.split_once(' ') else {
            continue;
        };
        let text = text.trim_start();
        // An end or a signal, or the second half of a call.
        if ["+++", "---", "<..."]
            .iter()
            .any(|mark| text.starts_with(mark))
        {
            continue;
        }
        let whole = match text.strip_suffix("<unfinished ...>") {
            None => text,
            Some(_) => lines[place + 1..]
                .iter()
                .filter_map(|line| line.strip_prefix(thread))
                .find(|rest| rest.trim_start().starts_with("<..."))
                .unwrap_or_default(),
        };
        calls.push(Call {
            text: text.to_owned(),
            result: whole
                .rsplit_once(" = ")
                .map_or_else(String::new, |(_, result)| result.to_owned()),
        });
    }
    calls
}

/// A program that starts the worker under `strace`, with a trace in `folder` for each process. The
/// worker stays the child of whoever starts it, so that it can be killed and waited for as always.
fn traced_worker(folder: &Path) -> PathBuf {
    let path = folder.join("traced-worker");
    let script = format!(
        "#!/bin/sh\nexec strace -D -f -qq -s 0 -o {}/$$.trace {} \"$@\"\n",
        folder.display(),
        worker().display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

/// Why nothing can be traced here: `strace` is missing, or this container lets nobody trace.
fn missing() -> Option<String> {
    let mut command = Command::new("strace");
    command
        .args(["-D", "-f", "-o", "/dev/null", "true"])
        .stdin(Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(e) => Some(format!("strace: {e} (scripts/setup installs it)")),
    }
}

#[tokio::test]
async fn no_program_makes_a_worker_ask_the_kernel_for_more() {
    if let Some(why) = missing() {
        left_out("what workers ask of the kernel", &why);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::start(PoolSettings {
        worker: traced_worker(folder.path()),
        runs_per_worker: 1000,
        ..settings()
    })
    .unwrap();
    let limits = Limits {
        wall: Duration::from_secs(2),
        ..Limits::default()
    };
    // Programs that only take time or memory are slow under a tracer and ask for nothing else.
    for group in ["escape", "bridge", "state"] {
        for file in files(group) {
            // How it ends is asked elsewhere.
            drop(run(&pool, &Case::read(&file).program, limits.clone()).await);
        }
    }
    assert_eq!(run(&pool, "return 1", limits).await.unwrap(), "1");
    pool.close();

    let mut seen = 0;
    let mut offences = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trace")
        {
            continue;
        }
        let trace = fs::read(&path).unwrap();
        let trace = String::from_utf8_lossy(&trace);
        assert!(trace.contains("openat("), "the trace shows nothing");
        // One that was killed while it started has run no program.
        let Some(calls) = after_lockdown(&trace) else {
            continue;
        };
        seen += calls.len();
        offences.extend(calls.into_iter().filter(Call::is_offence));
    }
    assert!(seen > 1000, "{seen} system calls after the lock-down");
    assert!(offences.is_empty(), "{offences:#?}");
}

#[test]
fn a_trace_is_read_as_it_is_written() {
    let tsc = "openat(AT_FDCWD, \"/sys/devices/system/cpu/cpu0/tsc_freq_khz\", O_RDONLY";
    let trace = format!(
        "7  openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3\n\
         7  seccomp(SECCOMP_SET_MODE_FILTER, 0x1, {{len=9}}) = 0\n\
         7  seccomp(SECCOMP_SET_MODE_FILTER, 0x1, {{len=9}}) = 0\n\
         8  futex(0x1, FUTEX_WAIT, 0, NULL <unfinished ...>\n\
         7  openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY) = -1 EPERM (Operation not permitted)\n\
         8  <... futex resumed>) = 0\n\
         7  {tsc} <unfinished ...>\n\
         8  {tsc}) = 5\n\
         7  <... openat resumed>) = -1 EPERM (Operation not permitted)\n\
         7  socket(AF_INET, SOCK_STREAM, 0) = ?\n\
         7  --- SIGSYS {{si_signo=SIGSYS}} ---\n\
         7  +++ killed by SIGSYS +++\n"
    );
    let calls = after_lockdown(&trace).unwrap();
    let names: Vec<&str> = calls.iter().map(Call::name).collect();
    assert_eq!(names, ["futex", "openat", "openat", "openat", "socket"]);
    let offences = calls.iter().map(Call::is_offence);
    assert_eq!(
        offences.collect::<Vec<_>>(),
        [false, true, false, true, true]
    );
    assert!(after_lockdown("7  openat(AT_FDCWD, \"/\", O_RDONLY) = 3\n").is_none());
}
