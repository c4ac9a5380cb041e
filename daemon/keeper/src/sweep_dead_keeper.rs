//! Ends the processes of a killed keeper, in the daemon.
//!
//! Invariant: only orphans of the dead keeper are touched. These orphans became children of the daemon (a subreaper)
//! and are recognized by their process group or by the keeper's marker.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};
use tokio::{task::spawn_blocking, time::sleep};
use tracing::warn;

use super::process_table::{ProcessTable, is_of_keeper, marker_of};

/// How long the sweep takes at most. A process that outlives SIGKILL this long is stuck in the kernel.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval between rounds of SIGKILL: forks race with a round.
const SWEEP_INTERVAL: Duration = Duration::from_millis(20);

struct DeadKeeperSweep {
    keeper: u32,
    /// The process groups of the keeper and its children.
    groups: HashSet<Pid>,
    /// Processes that were killed: a zombie has no readable marker.
    killed: HashSet<Pid>,
}

/// Kills and reaps the remaining processes of `keeper`, which must have been waited for: only then are its orphans
/// our children.
pub(super) async fn sweep(keeper: u32, children: impl Iterator<Item = u32>) {
    let mut sweep = DeadKeeperSweep {
        keeper,
        // Includes the keeper's own, in case its guard was killed.
        groups: children
            .chain([keeper])
            .map(|pid| Pid::from_raw(pid.cast_signed()))
            .collect(),
        killed: HashSet::new(),
    };
    let until = Instant::now() + SWEEP_TIMEOUT;
    while Instant::now() < until {
        let round = spawn_blocking(move || {
            let left = sweep.round();
            (sweep, left)
        });
        // Fails only while the runtime is shutting down.
        let Ok((again, left)) = round.await else {
            return;
        };
        if !left {
            return;
        }
        sweep = again;
        sleep(SWEEP_INTERVAL).await;
    }
    warn!(keeper, limit = ?SWEEP_TIMEOUT, "processes of a dead keeper did not exit after SIGKILL");
}

impl DeadKeeperSweep {
    /// Runs one round. Returns whether any process was found.
    fn round(&mut self) -> bool {
        let table = ProcessTable::read();
        let me = Pid::this();
        let orphans = table.children(me).filter(|process| {
            self.groups.contains(&process.group)
                || self.killed.contains(&process.pid)
                || marker_of(process.pid).is_some_and(|it| is_of_keeper(&it, self.keeper))
        });
        let left = table.with_descendants(orphans);
        for process in &left {
            if self.groups.contains(&process.group) {
                killpg(process.group, Signal::SIGKILL).ok();
            }
            kill(process.pid, Signal::SIGKILL).ok();
            self.killed.insert(process.pid);
            if process.zombie && process.parent == me {
                // tokio reaps only the processes that it started itself.
                waitpid(process.pid, Some(WaitPidFlag::WNOHANG)).ok();
            }
        }
        !left.is_empty()
    }
}
