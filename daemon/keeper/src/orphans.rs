//! Ends the processes that the last keeper of this home left behind, if it was killed together with its guard.
//!
//! Invariant: orphans are searched only while the lock is held, which means that no keeper of the home is
//! alive. The home's marker identifies them, so no unrelated process is touched.

use std::{
    io,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::process_table::{ProcessTable, is_of_home, marker_of};

/// How long this may delay servers. Processes that outlive SIGKILL this long are stuck in the kernel.
const ORPHAN_KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval between rounds of SIGKILL: forks race with a round.
const ORPHAN_KILL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) struct KeeperOrphans {
    home: String,
    until: Option<Instant>,
    over: bool,
}

impl KeeperOrphans {
    pub(super) fn of(home: &str) -> Self {
        KeeperOrphans {
            home: home.to_owned(),
            until: None,
            over: false,
        }
    }

    /// Kills all orphans. Returns when to call it again, or `None` once none is left.
    pub(super) fn end(&mut self, now: Instant, warn: impl Fn(&str, &io::Error)) -> Option<Instant> {
        if self.over {
            return None;
        }
        let until = *self.until.get_or_insert(now + ORPHAN_KILL_TIMEOUT);
        let table = ProcessTable::read();
        let marked = table.unrelated_to(Pid::this()).filter(|process| {
            marker_of(process.pid).is_some_and(|marker| is_of_home(&marker, &self.home))
        });
        let left = table.with_descendants(marked);
        if left.is_empty() {
            self.over = true;
            return None;
        }
        if now >= until {
            self.over = true;
            warn(
                "end the processes of an earlier keeper",
                &io::ErrorKind::TimedOut.into(),
            );
            return None;
        }
        for process in left {
            kill(process.pid, Signal::SIGKILL).ok();
        }
        Some(now + ORPHAN_KILL_INTERVAL)
    }
}
