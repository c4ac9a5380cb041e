//! The system calls of workers that run hostile programs, recorded by `strace`.
//!
//! Invariant: after its lock-down, a worker does not even try to create a socket, a file, a process or a thread.
//! `strace` records calls before the filter rejects them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use mux_sandbox::{Pool, PoolSettings, ProgramLimits};
use mux_tests::{env::worker, left_out, pool::settings};

use super::{case::Case, files, limits::run};

/// System calls that create, open, move or remove something outside the process, or access another process.
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

/// Calls that the C library and the engine make by themselves and do not depend on. These calls must have been
/// refused.
const TRIED: &[&str] = &[
    // The C library checks the type of standard output.
    "newfstatat(1, \"\", ",
    // The frequency of the CPU's time stamp counter, read once.
    "openat(AT_FDCWD, \"/sys/devices/system/cpu/cpu0/tsc_freq_khz\", ",
    // The number of processors, which a thread may ask for late.
    "openat(AT_FDCWD, \"/sys/devices/system/cpu/online\", ",
    "openat(AT_FDCWD, \"/proc/stat\", ",
    // The C library's allocator checks whether it should return memory.
    "openat(AT_FDCWD, \"/proc/sys/vm/overcommit_memory\", ",
];

/// One system call, such as `openat(AT_FDCWD, "/", O_RDONLY) = 3`, and its result.
#[derive(Debug)]
struct Call {
    text: String,
    result: String,
}

impl Call {
    fn name(&self) -> &str {
        self.text.split('(').next().unwrap_or_default()
    }

    /// Returns true if a worker must not make this call.
    fn is_offence(&self) -> bool {
        let tried = TRIED.iter().any(|start| self.text.starts_with(start));
        // A call in which the process was killed has no result.
        let refused = self.result.is_empty() || self.result.starts_with("-1 EPERM");
        FORBIDDEN.contains(&self.name()) && !(tried && refused)
    }
}

/// The calls of a trace after the lock-down, whose last step installs two filters. `None` if there was no lock-down.
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

/// Parses lines such as `4711  openat(AT_FDCWD, …) = 3`. A call that another thread interrupts has a second line, such
/// as `4711  <... openat resumed>…) = 3`.
fn calls(lines: &[&str]) -> Vec<Call> {
    let mut calls = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let Some((thread, text)) = line.split_once(' ') else {
            continue;
        };
        let text = text.trim_start();
        // The end of a process, a signal, or the second line of a call.
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

/// Writes a program that starts the worker under `strace`, with a trace in `folder` for each process. The worker is
/// still the child of its starter (`-D`), which can kill and reap it as usual.
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

/// The reason why tracing is impossible here: `strace` is missing, or tracing is not permitted.
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
async fn workers_make_no_forbidden_system_calls() {
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
    let limits = ProgramLimits {
        wall: Duration::from_secs(2),
        ..ProgramLimits::default()
    };
    // The other groups only use time or memory, and are slow under a tracer.
    for group in ["escape", "bridge", "state"] {
        for file in files(group) {
            // Other tests check its outcome.
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
        // A worker that was killed during its start has run no program.
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
fn trace_with_interrupted_calls_is_parsed() {
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
