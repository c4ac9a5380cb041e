//! The guard: the keeper's parent process, which only waits for the keeper to exit.
//!
//! A keeper that is killed together with the daemon cannot end its children, and processes that left their parent would
//! live on. The guard is the next subreaper above it, so it inherits these orphans.
//!
//! Invariant: the guard outlives the keeper, and holds its lock until everything below has ended.

use std::{
    io,
    process::ExitCode,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    libc,
    sys::{
        prctl,
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, close, fork},
};

use super::process_table::ProcessTable;

/// How long the processes of a dead keeper may take to end after SIGKILL.
const LEFTOVER_KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval between rounds of SIGKILL: forks race with a round.
const LEFTOVER_KILL_INTERVAL: Duration = Duration::from_millis(10);

/// Which of the two processes this is.
pub(super) enum ForkSide {
    Keeper,
    /// The keeper has exited. The guard exits with this code.
    Guard(ExitCode),
}

/// Forks the keeper, and returns in the guard once the keeper has exited.
///
/// Signals must be blocked already: the guard handles none.
#[expect(
    unsafe_code,
    reason = "a fork may only be made where there are no threads"
)]
pub(super) fn split() -> io::Result<ForkSide> {
    prctl::set_child_subreaper(true)?;
    // SAFETY: no thread exists yet, so the child is a whole copy of this process.
    match unsafe { fork() }? {
        ForkResult::Child => Ok(ForkSide::Keeper),
        ForkResult::Parent { child } => Ok(ForkSide::Guard(wait_for(child))),
    }
}

fn wait_for(keeper: Pid) -> ExitCode {
    prctl::set_name(c"muxd-guard").ok();
    // Only the keeper may hold the daemon's socket. Otherwise the daemon would not see it close.
    close(libc::STDIN_FILENO).ok();
    let ended = loop {
        match waitpid(keeper, None) {
            Err(nix::errno::Errno::EINTR) => {}
            ended => break ended,
        }
    };
    if let Ok(WaitStatus::Exited(_, 0)) = ended {
        return ExitCode::SUCCESS;
    }
    end_all();
    ExitCode::FAILURE
}

/// Kills and reaps everything below this process.
fn end_all() {
    let until = Instant::now() + LEFTOVER_KILL_TIMEOUT;
    while Instant::now() < until {
        let table = ProcessTable::read();
        for process in table.with_descendants(table.children(Pid::this())) {
            kill(process.pid, Signal::SIGKILL).ok();
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                // Some are still running.
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) => {}
                Err(_) => return,
            }
        }
        sleep(LEFTOVER_KILL_INTERVAL);
    }
}
