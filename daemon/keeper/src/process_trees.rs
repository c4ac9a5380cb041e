//! The process trees of the keeper's children, and how they end.
//!
//! Invariant: a signal goes only to a child that was not reaped yet, or to a process that a snapshot has just shown
//! below the keeper. Neither can be a reused pid.

use std::{
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    time::{Duration, Instant},
};

use nix::{
    libc,
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

use super::{
    kept_child::{ChildExit, ExceededLimit, StopSignal, TreeLimits},
    launch_child::LaunchedChild,
    process_table::{ProcessEntry, ProcessTable, marker_of},
    wire::KeeperEvent,
};

/// How long the leftovers of a child may take after SIGTERM.
const LEFTOVER_TERM_GRACE: Duration = Duration::from_millis(500);

/// The shortest and longest interval between rounds of SIGKILL: forks race with a round, and a process stuck in the
/// kernel must not keep the keeper busy.
const INITIAL_KILL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_KILL_INTERVAL: Duration = Duration::from_secs(1);

/// How often the trees with limits are measured.
const LIMIT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct ProcessTrees(Vec<ChildTree>);

struct ChildTree {
    id: u64,
    /// The number of the daemon that owns the tree.
    daemon: u64,
    /// The pid of the main process and of its process group.
    pid: Pid,
    marker: Vec<u8>,
    /// The main process has been reaped: its pid may be reused, that of its group only once the group is empty.
    exited: bool,
    exit: Option<ExitStatus>,
    /// SIGTERM was sent to the leftovers.
    asked: bool,
    kill_at: Option<Instant>,
    kill_retry: Duration,
    limits: TreeLimits,
    /// The time of the next measurement, or `None` without limits.
    check_at: Option<Instant>,
    exceeded: Option<ExceededLimit>,
}

impl ProcessTrees {
    pub(super) fn add(&mut self, id: u64, daemon: u64, launched: &LaunchedChild, now: Instant) {
        let limits = launched.limits;
        let is_limited = limits != TreeLimits::default();
        self.0.push(ChildTree {
            id,
            daemon,
            pid: launched.pid,
            marker: launched.marker.clone(),
            exited: false,
            exit: None,
            asked: false,
            kill_at: None,
            kill_retry: INITIAL_KILL_INTERVAL,
            limits,
            check_at: is_limited.then(|| now + LIMIT_CHECK_INTERVAL),
            exceeded: None,
        });
    }

    /// Records that a child of the keeper was reaped: the main process of a tree, or an orphan.
    pub(super) fn ended(
        &mut self,
        pid: Pid,
        status: ExitStatus,
        now: Instant,
    ) -> Option<(u64, KeeperEvent)> {
        let mut running = self.0.iter_mut().filter(|child| !child.exited);
        let child = running.find(|child| child.pid == pid)?;
        child.exited = true;
        child.check_at = None;
        child.exit = Some(status);
        child.kill_at.get_or_insert(now + LEFTOVER_TERM_GRACE);
        Some((child.daemon, child.exit_event(status)))
    }

    /// Moves the child to another daemon. Returns the events for that daemon.
    pub(super) fn give(&mut self, id: u64, from: u64, to: u64) -> Vec<KeeperEvent> {
        let Some(child) = self.0.iter_mut().find(|child| child.id == id) else {
            return vec![KeeperEvent::Gone { id }];
        };
        if child.daemon != from {
            return Vec::new();
        }
        child.daemon = to;
        let pid = child.pid.as_raw().cast_unsigned();
        let exit = child.exit.map(|status| child.exit_event(status));
        std::iter::once(KeeperEvent::Given { id, pid })
            .chain(exit)
            .collect()
    }

    pub(super) fn any_of(&self, daemon: u64) -> bool {
        self.0.iter().any(|child| child.daemon == daemon)
    }

    pub(super) fn signal_all_of(&mut self, daemon: u64, ending: StopSignal, now: Instant) {
        let own = self.0.iter().filter(|child| child.daemon == daemon);
        let own: Vec<u64> = own.map(|child| child.id).collect();
        for id in own {
            self.signal(id, daemon, ending, now);
        }
    }

    /// Signals a child. Does nothing if it belongs to another daemon.
    pub(super) fn signal(&mut self, id: u64, daemon: u64, ending: StopSignal, now: Instant) {
        let is_it = |child: &ChildTree| child.id == id && child.daemon == daemon;
        let Some(index) = self.0.iter().position(is_it) else {
            return;
        };
        match ending {
            StopSignal::Term => {
                let members = self.members(&ProcessTable::read(), &self.0[index]);
                self.0[index].send(Signal::SIGTERM, &members);
            }
            // The next step kills, and repeats until no process is left.
            StopSignal::Kill => self.0[index].kill_at = Some(now),
        }
    }

    /// Performs the actions that are due, reports the trees that have ended, and returns when to call it again.
    /// `reaped` means that some process below the keeper has ended since the last step.
    pub(super) fn step(
        &mut self,
        now: Instant,
        reaped: bool,
        mut report: impl FnMut(u64, KeeperEvent),
    ) -> Option<Instant> {
        let mut snapshot = None;
        for index in 0..self.0.len() {
            if self.0[index].is_check_due(now) {
                let table = snapshot.get_or_insert_with(ProcessTable::read);
                let members = self.members(table, &self.0[index]);
                self.0[index].check_limits(&members, now);
            }
            let due = self.0[index].kill_at.is_some_and(|at| at <= now);
            let maybe_gone = reaped && self.0[index].exited;
            if !due && !maybe_gone {
                continue;
            }
            let table = snapshot.get_or_insert_with(ProcessTable::read);
            let members = self.members(table, &self.0[index]);
            self.0[index].proceed(due, &members, now);
        }
        self.0.retain(|child| {
            if child.is_gone() {
                report(child.daemon, KeeperEvent::Gone { id: child.id });
            }
            !child.is_gone()
        });
        let due = |child: &ChildTree| [child.kill_at, child.check_at].into_iter().flatten().min();
        self.0.iter().filter_map(due).min()
    }

    /// Signals everything below the keeper, of every daemon.
    pub(super) fn signal_all(&self, signal: Signal) {
        let table = ProcessTable::read();
        let everything = table.with_descendants(table.children(Pid::this()));
        for child in &self.0 {
            child.send_to_group(signal, &everything);
        }
        let in_group = |process: &ProcessEntry| self.0.iter().any(|it| it.pid == process.group);
        for process in everything.iter().filter(|process| !in_group(process)) {
            kill(process.pid, signal).ok();
        }
    }

    /// The tree of `child`: its main process, the processes that lost their parent but not their process group or
    /// marker, and everything below.
    fn members(&self, table: &ProcessTable, child: &ChildTree) -> Vec<ProcessEntry> {
        let is_main = |pid| self.0.iter().any(|other| !other.exited && other.pid == pid);
        let is_root = |process: &ProcessEntry| {
            if is_main(process.pid) {
                !child.exited && process.pid == child.pid
            } else {
                process.group == child.pid
                    || marker_of(process.pid).is_some_and(|marker| marker == child.marker)
            }
        };
        table.with_descendants(table.children(Pid::this()).filter(is_root))
    }
}

/// The size of a page of memory, in bytes.
#[expect(unsafe_code, reason = "no safe wrapper of sysconf is at hand")]
fn page_size() -> u64 {
    // SAFETY: the call takes an integer and returns one.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    size.try_into().unwrap_or(4096)
}

impl ChildTree {
    fn exit_event(&self, status: ExitStatus) -> KeeperEvent {
        let exit = ChildExit {
            code: status.code(),
            signal: status.signal(),
            exceeded: self.exceeded,
        };
        KeeperEvent::Exited { id: self.id, exit }
    }

    fn is_check_due(&self, now: Instant) -> bool {
        !self.exited && self.check_at.is_some_and(|at| at <= now)
    }

    /// Has the tree killed if it exceeds a limit.
    fn check_limits(&mut self, members: &[ProcessEntry], now: Instant) {
        self.check_at = Some(now + LIMIT_CHECK_INTERVAL);
        let tasks: u32 = members.iter().map(|process| process.threads).sum();
        let pages: u64 = members.iter().map(|process| process.pages).sum();
        let exceeded = match self.limits {
            TreeLimits {
                tasks: Some(most), ..
            } if tasks > most => ExceededLimit::Tasks,
            TreeLimits {
                memory: Some(most), ..
            } if pages * page_size() > most => ExceededLimit::Memory,
            _ => return,
        };
        self.exceeded.get_or_insert(exceeded);
        self.check_at = None;
        self.kill_at = Some(now);
    }

    fn proceed(&mut self, due: bool, members: &[ProcessEntry], now: Instant) {
        let alive = members.iter().any(|process| !process.zombie);
        if self.exited && !alive {
            self.kill_at = None;
        } else if due {
            self.send(Signal::SIGKILL, members);
            self.kill_at = Some(now + self.kill_retry);
            self.kill_retry = (self.kill_retry * 2).min(MAX_KILL_INTERVAL);
        } else if !self.asked {
            self.send(Signal::SIGTERM, members);
            self.asked = true;
        }
    }

    /// Returns true if no process is left: an exit sets `kill_at`, and only an empty tree clears it.
    fn is_gone(&self) -> bool {
        self.exited && self.kill_at.is_none()
    }

    fn send(&self, signal: Signal, members: &[ProcessEntry]) {
        self.send_to_group(signal, members);
        // Signals zombies, too: a process whose main thread ended while others run looks like one.
        for process in members.iter().filter(|process| process.group != self.pid) {
            kill(process.pid, signal).ok();
        }
    }

    /// Signals the process group. The kernel does this atomically, so forks cannot race.
    fn send_to_group(&self, signal: Signal, seen: &[ProcessEntry]) {
        if !self.exited || seen.iter().any(|process| process.group == self.pid) {
            killpg(self.pid, signal).ok();
        }
    }
}
