//! The keeper process: one thread, one loop over its socket, its signals and its clock.
//!
//! Invariant: once the daemon's end of the socket has closed, and no other daemon has taken over, the keeper accepts
//! no more requests and exits within 2 s, after every process below it.

use std::{
    io::{self, Write},
    os::fd::AsFd,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{prctl, signal::Signal},
    unistd::{chdir, setsid},
};

use mux_process::inherited_descriptors;

use super::{
    daemon_socket::DaemonSocket,
    daemons::ServedDaemons,
    keeper_guard::{ForkSide, split},
    keeper_lock::KeeperLock,
    launch_child::{LaunchRefusal, LaunchedChild, MarkerOrigin, launch},
    orphans::KeeperOrphans,
    process_trees::ProcessTrees,
    signals::{BlockedSignals, ReapOutcome, reap},
    wire::{FrameError, KeeperEvent, KeeperRequest, SpawnRequest},
};

/// Delays after the daemon's end: until SIGTERM for running trees (most servers have exited by then, because their
/// stdin closed with the daemon), until SIGKILL, and until the keeper gives up.
const CLOSE_TERM_DELAY: Duration = Duration::from_millis(300);
const CLOSE_KILL_DELAY: Duration = Duration::from_millis(1200);
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1900);

/// The interval between rounds of SIGKILL: forks race with a round.
const CLOSE_KILL_INTERVAL: Duration = Duration::from_millis(20);

struct KeeperProcess {
    signals: BlockedSignals,
    daemons: ServedDaemons,
    lock: KeeperLock,
    orphans: KeeperOrphans,
    origin: MarkerOrigin,
    trees: ProcessTrees,
    closing: Option<ClosingState>,
}

struct ClosingState {
    since: Instant,
    asked: bool,
}

/// The result of one step of closing.
enum ClosingProgress {
    Done { everything_ended: bool },
    Until(Option<Instant>),
}

/// Runs the keeper process. Standard input is its socket to the daemon.
///
/// Must be called before any thread or runtime exists: it changes process-wide state, and forks.
pub fn run_keeper(lock: &Path) -> ExitCode {
    match live(lock) {
        Ok(code) => code,
        Err(error) => {
            warn("manage the daemon's servers", &error);
            ExitCode::FAILURE
        }
    }
}

/// Runs as the keeper, and in its parent process as the guard.
fn live(lock: &Path) -> io::Result<ExitCode> {
    let signals = BlockedSignals::block()?;
    // The daemon may have inherited descriptors that do not close on exec. All of muxd's own descriptors do.
    inherited_descriptors::close_on_exec()
        .unwrap_or_else(|error| warn("list the descriptors", &error));
    // Fails only if this process already leads a session, which is the goal.
    setsid().ok();
    // Before the fork: the lock is released only when both processes have closed the file.
    let lock = KeeperLock::open(lock, Instant::now(), warn);
    // After the lock is open: its path may be relative.
    chdir("/")?;
    let keeper = std::process::id();
    if let ForkSide::Guard(code) = split()? {
        return Ok(code);
    }
    if KeeperProcess::new(keeper, signals, lock)?.run()? {
        return Ok(ExitCode::SUCCESS);
    }
    warn("end every process", &io::ErrorKind::TimedOut.into());
    Ok(ExitCode::FAILURE)
}

impl KeeperProcess {
    /// `keeper` is the pid that the daemon knows, which is the guard's.
    fn new(keeper: u32, signals: BlockedSignals, lock: KeeperLock) -> io::Result<Self> {
        prctl::set_child_subreaper(true)?;
        prctl::set_name(c"muxd-keeper")?;
        let home = lock.home();
        Ok(KeeperProcess {
            signals,
            daemons: ServedDaemons::new(DaemonSocket::from_stdin()?),
            orphans: KeeperOrphans::of(&home),
            origin: MarkerOrigin { keeper, home },
            lock,
            trees: ProcessTrees::default(),
            closing: None,
        })
    }

    /// Runs until the daemon has exited. Returns whether everything below has ended.
    fn run(mut self) -> io::Result<bool> {
        loop {
            let now = Instant::now();
            let lock_at = self.lock.wait(now, warn);
            let orphans_at = if self.lock.is_held() {
                self.orphans.end(now, warn)
            } else {
                None
            };
            if self.lock.is_settled() && orphans_at.is_none() {
                self.serve_all(now);
            }
            let (reaped, alone) = self.reap(now);
            let mut gone = Vec::new();
            let kill_at = self
                .trees
                .step(now, reaped, |daemon, event| gone.push((daemon, event)));
            for (daemon, event) in gone {
                self.daemons.send(daemon, &event);
            }
            // A send may discover that the daemon has exited, so closing comes after.
            self.daemons.iter_mut().for_each(|it| it.control.flush());
            match self.close(now, alone) {
                ClosingProgress::Done { everything_ended } => return Ok(everything_ended),
                ClosingProgress::Until(close_at) => {
                    let next = [lock_at, orphans_at, kill_at, close_at]
                        .into_iter()
                        .flatten()
                        .min();
                    self.wait(next)?;
                }
            }
        }
    }

    /// Reaps processes that have ended. Returns whether any was reaped, and whether none is left.
    fn reap(&mut self, now: Instant) -> (bool, bool) {
        let mut any = false;
        loop {
            match reap() {
                ReapOutcome::Ended(pid, status) => {
                    any = true;
                    if let Some((daemon, event)) = self.trees.ended(pid, status, now) {
                        self.daemons.send(daemon, &event);
                    }
                }
                ReapOutcome::AllRun => return (any, false),
                ReapOutcome::NoChild => return (any, true),
            }
        }
    }

    fn close(&mut self, now: Instant, alone: bool) -> ClosingProgress {
        if self.daemons.any_open() {
            let limits = (CLOSE_TERM_DELAY, CLOSE_KILL_DELAY);
            return ClosingProgress::Until(self.daemons.end_gone(&mut self.trees, now, limits));
        }
        let closing = self.closing.get_or_insert(ClosingState {
            since: now,
            asked: false,
        });
        if alone {
            return ClosingProgress::Done {
                everything_ended: true,
            };
        }
        let age = now - closing.since;
        if age >= CLOSE_TIMEOUT {
            return ClosingProgress::Done {
                everything_ended: false,
            };
        }
        if age >= CLOSE_KILL_DELAY {
            self.trees.signal_all(Signal::SIGKILL);
            return ClosingProgress::Until(Some(now + CLOSE_KILL_INTERVAL));
        }
        if age >= CLOSE_TERM_DELAY && !closing.asked {
            closing.asked = true;
            self.trees.signal_all(Signal::SIGTERM);
        }
        let next = if closing.asked {
            CLOSE_KILL_DELAY
        } else {
            CLOSE_TERM_DELAY
        };
        ClosingProgress::Until(Some(closing.since + next))
    }

    /// Sleeps until there is something to do, and reads from the daemons.
    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let mut polled = Vec::new();
        for daemon in self.daemons.iter() {
            if let Some(interest) = daemon.control.interest() {
                fds.push(PollFd::new(daemon.control.as_fd(), interest));
                polled.push(daemon.number);
            }
        }
        match poll(&mut fds, timeout(until)) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
        let seen: Vec<_> = fds.iter().skip(1).map(PollFd::revents).collect();
        self.signals.drain();
        for (number, seen) in polled.into_iter().zip(seen) {
            if let Some(control) = self.daemons.get_mut(number)
                && let Err(error) = control.receive(seen.unwrap_or(PollFlags::empty()))
            {
                // The socket is closed now. The error has no other consequence.
                warn("read from the daemon", &error);
            }
        }
        Ok(())
    }

    fn serve_all(&mut self, now: Instant) {
        for number in self.daemons.numbers() {
            if let Err(error) = self.serve(number, now) {
                warn("parse the daemon's requests", &io::Error::other(error));
                if let Some(control) = self.daemons.get_mut(number) {
                    control.close();
                }
            }
        }
    }

    fn serve(&mut self, number: u64, now: Instant) -> Result<(), FrameError> {
        while let Some(control) = self.daemons.get_mut(number)
            && let Some(request) = control.next_request()?
        {
            match request {
                // A daemon that has exited needs no new server.
                KeeperRequest::Spawn(request) if control.is_open() => self.spawn(number, request),
                KeeperRequest::Spawn(_) => {}
                KeeperRequest::Signal { id, signal } => self.trees.signal(id, number, signal, now),
                KeeperRequest::Admit {} => {
                    if let Some(socket) = control.take_fd() {
                        self.daemons.admit(socket);
                    }
                }
                KeeperRequest::Give { id } => {
                    // Without a successor, the child ends with its daemon.
                    if let Some(next) = self.daemons.successor(number) {
                        for event in self.trees.give(id, number, next) {
                            self.daemons.send(next, &event);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn spawn(&mut self, daemon: u64, request: SpawnRequest) {
        let id = request.id;
        match launch(request, &self.origin) {
            Ok(launched) => {
                self.trees.add(id, daemon, &launched, Instant::now());
                let LaunchedChild { pid, pipes, .. } = launched;
                let pid = pid.as_raw().cast_unsigned();
                self.daemons
                    .send_with(daemon, &KeeperEvent::Spawned { id, pid }, pipes.into());
            }
            Err(LaunchRefusal { kind, error }) => self.daemons.send(
                daemon,
                &KeeperEvent::SpawnFailed {
                    id,
                    kind,
                    message: error.to_string(),
                    errno: error.raw_os_error(),
                },
            ),
        }
    }
}

/// The poll timeout, rounded up: the deadline must have passed when the poll returns.
fn timeout(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else {
        return PollTimeout::NONE;
    };
    let wait = until.saturating_duration_since(Instant::now());
    let millis = wait.as_micros().div_ceil(1000);
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}

/// Writes to the stderr inherited from the daemon. This pipe may be closed, which is not an error.
pub(super) fn warn(what: &str, error: &io::Error) {
    writeln!(io::stderr(), "muxd keeper: failed to {what}: {error}").ok();
}
