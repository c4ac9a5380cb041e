//! The keeper process of systems other than Linux: it ends the process groups of a daemon that was killed.
//!
//! The daemon writes each process group that it starts (`+PID`) or that has ended (`-PID`) to the guard's standard
//! input, one per line. When the daemon's end of the pipe closes, the guard ends the remaining groups.
//!
//! Invariant: the guard holds the lock until the groups have ended, and the next daemon starts no server before its
//! own guard has the lock.

use std::{
    collections::HashSet,
    io::BufRead,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};
#[cfg(not(target_os = "linux"))]
use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    time::timeout,
};

use mux_process::descriptor_limits;

use super::error::KeeperError;
#[cfg(not(target_os = "linux"))]
use super::keeper_lock::KeeperLock;

/// How long a new guard may take until it has the lock. It waits up to 3 s for the lock.
const GUARD_START_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a guard may take to exit after the last group has ended.
const GUARD_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the groups of a killed daemon may take to end after SIGTERM, and after SIGKILL.
const GROUP_END_TIMEOUT: Duration = Duration::from_millis(500);
/// The interval between looks at a group: only its parent is told when its processes end.
const GROUP_LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The line that the guard writes to its standard output when it has the lock.
const READY: &str = "ready\n";

/// The daemon's side.
pub(super) struct GroupGuard {
    process: Child,
    input: ChildStdin,
}

impl GroupGuard {
    /// Starts `exe keeper LOCK`.
    pub(super) async fn start(exe: &Path, lock: &Path) -> Result<Self, KeeperError> {
        let failed = |source| KeeperError::Start {
            exe: exe.to_owned(),
            source,
        };
        let mut command = Command::new(exe);
        command
            .arg0("muxd")
            .arg("keeper")
            .arg(std::path::absolute(lock).map_err(failed)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Signals to the daemon's group, as from a terminal, are not for the guard.
            .process_group(0);
        descriptor_limits::give_back(&mut command);
        let mut process = command.spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(KeeperError::Gone);
        };
        let mut line = String::new();
        let mut output = BufReader::new(output);
        let ready = timeout(GUARD_START_TIMEOUT, output.read_line(&mut line)).await;
        match ready {
            Ok(_) if line == READY => Ok(Self { process, input }),
            Ok(_) => Err(KeeperError::Stillborn(
                process.wait().await.map_err(failed)?,
            )),
            Err(_) => {
                process.kill().await.ok();
                Err(KeeperError::Silent(GUARD_START_TIMEOUT))
            }
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// A failure means that the guard has exited, which [`exited`](Self::exited) reports.
    pub(super) async fn add(&mut self, group: Pid) {
        self.input
            .write_all(format!("+{group}\n").as_bytes())
            .await
            .ok();
    }

    /// See [`add`](Self::add).
    pub(super) async fn remove(&mut self, group: Pid) {
        self.input
            .write_all(format!("-{group}\n").as_bytes())
            .await
            .ok();
    }

    /// Resolves when the guard has exited. Cancel-safe.
    pub(super) async fn exited(&mut self) {
        self.process.wait().await.ok();
    }

    /// Makes the guard end the remaining groups, and waits until the guard has exited.
    pub(super) async fn close(self) {
        let Self { mut process, input } = self;
        drop(input);
        timeout(GUARD_CLOSE_TIMEOUT, process.wait()).await.ok();
    }
}

/// The guard process, `muxd keeper LOCK`.
#[cfg(not(target_os = "linux"))]
pub fn run_keeper(lock: &Path) -> ExitCode {
    use nix::sys::signal::SigSet;
    // The daemon decides when to end, and its end is seen on the pipe.
    let signals = [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGPIPE,
        Signal::SIGQUIT,
        Signal::SIGTERM,
    ];
    if signals
        .into_iter()
        .collect::<SigSet>()
        .thread_block()
        .is_err()
    {
        return ExitCode::FAILURE;
    }
    let warn = |what: &str, error: &io::Error| {
        // An error here cannot be reported anywhere.
        drop(writeln!(
            io::stderr(),
            "muxd keeper: cannot {what}: {error}"
        ));
    };
    let mut lock = KeeperLock::open(lock, Instant::now(), warn);
    while let Some(next) = lock.wait(Instant::now(), warn) {
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let mut output = io::stdout();
    if output
        .write_all(READY.as_bytes())
        .and_then(|()| output.flush())
        .is_err()
    {
        return ExitCode::FAILURE;
    }
    end_groups(read_groups(io::stdin().lock()));
    drop(lock);
    ExitCode::SUCCESS
}

/// The groups that are left at the end of the input.
fn read_groups(input: impl BufRead) -> HashSet<Pid> {
    let mut groups = HashSet::new();
    for line in input.lines().map_while(Result::ok) {
        let Some((change, pid)) = line.split_at_checked(1) else {
            continue;
        };
        // Never the group of the guard itself (0), or that of the first process.
        let Some(group) = pid.parse().ok().filter(|pid| *pid > 1).map(Pid::from_raw) else {
            continue;
        };
        match change {
            "+" => groups.insert(group),
            _ => groups.remove(&group),
        };
    }
    groups
}

fn end_groups(mut groups: HashSet<Pid>) {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // An error means that the group is empty.
        groups.retain(|group| killpg(*group, signal).is_ok());
        let until = Instant::now() + GROUP_END_TIMEOUT;
        while !groups.is_empty() && Instant::now() < until {
            thread::sleep(GROUP_LOOK_INTERVAL);
            groups.retain(|group| killpg(*group, None).is_ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        os::unix::process::{CommandExt as _, ExitStatusExt as _},
    };

    use super::*;

    /// A process group whose process ignores SIGTERM.
    fn stubborn() -> std::process::Child {
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", "trap '' TERM; echo ready; while :; do read x; done"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        child
    }

    #[test]
    fn groups_that_are_left_at_the_end_of_the_input_are_killed() {
        let mut left = stubborn();
        let mut ended = stubborn();
        let said = format!(
            "+{}\n+{}\nodd\n+0\n-{}\n",
            left.id(),
            ended.id(),
            ended.id()
        );
        let groups = read_groups(said.as_bytes());
        assert_eq!(groups.len(), 1);
        end_groups(groups);
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(ended.try_wait().unwrap().is_none());
        ended.kill().unwrap();
        ended.wait().unwrap();
    }

    #[tokio::test]
    async fn program_that_is_no_guard_is_reported() {
        let error = GroupGuard::start(Path::new("/bin/true"), Path::new("/")).await;
        assert!(matches!(error, Err(KeeperError::Stillborn(_))));
        let error = GroupGuard::start(Path::new("/nowhere/muxd"), Path::new("/")).await;
        assert!(matches!(error, Err(KeeperError::Start { .. })));
    }
}
