//! The keeper process: one thread, one loop over its socket, its signals and its clock.
//!
//! Invariant: once the daemon's end of the socket has closed, and no other daemon has taken over, the
//! keeper takes on nothing more and is gone within 2 s, and every process below it before that.

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

use super::{
    daemon_socket::DaemonSocket,
    daemons::ServedDaemons,
    keeper_guard::{ForkSide, split},
    keeper_lock::KeeperLock,
    launch_child::{
        LaunchRefusal, LaunchedChild, MarkerOrigin, hide_inherited_descriptors, launch,
    },
    orphans::KeeperOrphans,
    process_trees::ProcessTrees,
    signals::{BlockedSignals, ReapOutcome, reap},
    wire::{FrameError, KeeperEvent, KeeperRequest, SpawnRequest},
};

/// After the daemon's end: when what still runs gets SIGTERM (its stdin has closed with the daemon,
/// and most servers end by that), when SIGKILL, and when the keeper gives up.
const CLOSE_TERM_DELAY: Duration = Duration::from_millis(300);
const CLOSE_KILL_DELAY: Duration = Duration::from_millis(1200);
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1900);

/// Between two rounds of SIGKILL: forks race with a round.
const CLOSE_KILL_INTERVAL: Duration = Duration::from_millis(20);

struct KeeperProcess {
    signals: BlockedSignals,
    masters: ServedDaemons,
    lock: KeeperLock,
    remains: KeeperOrphans,
    origin: MarkerOrigin,
    trees: ProcessTrees,
    closing: Option<ClosingState>,
}

struct ClosingState {
    since: Instant,
    asked: bool,
}

/// What a step of closing has come to.
enum ClosingProgress {
    Done { everything_ended: bool },
    Until(Option<Instant>),
}

/// The whole life of a keeper process.  Standard input is its socket to the daemon.
///
/// To be called before any thread or runtime exists: it changes what belongs to the whole process,
/// and forks.
pub fn run_keeper(lock: &Path) -> ExitCode {
    match live(lock) {
        Ok(code) => code,
        Err(error) => {
            warn("keep the daemon's servers", &error);
            ExitCode::FAILURE
        }
    }
}

/// As the keeper, and beside it as its guard.
fn live(lock: &Path) -> io::Result<ExitCode> {
    let signals = BlockedSignals::block()?;
    hide_inherited_descriptors().unwrap_or_else(|error| warn("list the descriptors", &error));
    // Fails only where we lead a session already, which is what it is for.
    setsid().ok();
    // Before the fork: what is open twice is locked until both have closed it.
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
    /// `keeper` is how the daemon knows it, which is by its guard.
    fn new(keeper: u32, signals: BlockedSignals, lock: KeeperLock) -> io::Result<Self> {
        prctl::set_child_subreaper(true)?;
        prctl::set_name(c"muxd-keeper")?;
        let home = lock.home();
        Ok(KeeperProcess {
            signals,
            masters: ServedDaemons::new(DaemonSocket::from_stdin()?),
            remains: KeeperOrphans::of(&home),
            origin: MarkerOrigin { keeper, home },
            lock,
            trees: ProcessTrees::default(),
            closing: None,
        })
    }

    /// Until the daemon has gone; answers whether everything below has ended.
    fn run(mut self) -> io::Result<bool> {
        loop {
            let now = Instant::now();
            let lock_at = self.lock.wait(now, warn);
            let remains_at = match self.lock.is_held() {
                true => self.remains.end(now, warn),
                false => None,
            };
            if self.lock.is_settled() && remains_at.is_none() {
                self.serve_all(now);
            }
            let (reaped, alone) = self.reap(now);
            let mut gone = Vec::new();
            let kill_at = self
                .trees
                .step(now, reaped, |master, event| gone.push((master, event)));
            for (master, event) in gone {
                self.masters.say(master, &event);
            }
            // Sending may find out that the daemon has gone, so what follows from that comes after.
            self.masters.iter_mut().for_each(|it| it.control.flush());
            match self.close(now, alone) {
                ClosingProgress::Done { everything_ended } => return Ok(everything_ended),
                ClosingProgress::Until(close_at) => {
                    let next = [lock_at, remains_at, kill_at, close_at]
                        .into_iter()
                        .flatten()
                        .min();
                    self.wait(next)?;
                }
            }
        }
    }

    /// Whether any process was reaped, and whether none is left.
    fn reap(&mut self, now: Instant) -> (bool, bool) {
        let mut any = false;
        loop {
            match reap() {
                ReapOutcome::Ended(pid, status) => {
                    any = true;
                    if let Some((master, event)) = self.trees.ended(pid, status, now) {
                        self.masters.say(master, &event);
                    }
                }
                ReapOutcome::AllRun => return (any, false),
                ReapOutcome::NoChild => return (any, true),
            }
        }
    }

    fn close(&mut self, now: Instant, alone: bool) -> ClosingProgress {
        if self.masters.any_open() {
            let limits = (CLOSE_TERM_DELAY, CLOSE_KILL_DELAY);
            return ClosingProgress::Until(self.masters.end_gone(&mut self.trees, now, limits));
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

    /// Sleeps until something is there to do, and reads what came from the daemon.
    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let mut polled = Vec::new();
        for master in self.masters.iter() {
            if let Some(interest) = master.control.interest() {
                fds.push(PollFd::new(master.control.as_fd(), interest));
                polled.push(master.number);
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
            if let Some(control) = self.masters.get_mut(number)
                && let Err(error) = control.receive(seen.unwrap_or(PollFlags::empty()))
            {
                // The control is closed by it, which is all that follows from a broken socket.
                warn("hear the daemon", &error);
            }
        }
        Ok(())
    }

    fn serve_all(&mut self, now: Instant) {
        for number in self.masters.numbers() {
            if let Err(error) = self.serve(number, now) {
                warn("understand the daemon", &io::Error::other(error));
                if let Some(control) = self.masters.get_mut(number) {
                    control.close();
                }
            }
        }
    }

    fn serve(&mut self, number: u64, now: Instant) -> Result<(), FrameError> {
        while let Some(control) = self.masters.get_mut(number)
            && let Some(request) = control.next_request()?
        {
            match request {
                // A daemon that has gone has no use for a new server.
                KeeperRequest::Spawn(request) if control.is_open() => self.spawn(number, request),
                KeeperRequest::Spawn(_) => {}
                KeeperRequest::Signal { id, signal } => self.trees.signal(id, number, signal, now),
                KeeperRequest::Admit {} => {
                    if let Some(socket) = control.take_fd() {
                        self.masters.admit(socket);
                    }
                }
                KeeperRequest::Give { id } => {
                    // Without anybody who takes it, it ends with the one whose it is.
                    if let Some(next) = self.masters.successor(number) {
                        for event in self.trees.give(id, number, next) {
                            self.masters.say(next, &event);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn spawn(&mut self, master: u64, request: SpawnRequest) {
        let id = request.id;
        match launch(request, &self.origin) {
            Ok(launched) => {
                self.trees.add(id, master, &launched);
                let LaunchedChild { pid, pipes, .. } = launched;
                let pid = pid.as_raw().cast_unsigned();
                self.masters
                    .send(master, &KeeperEvent::Spawned { id, pid }, pipes.into());
            }
            Err(LaunchRefusal { kind, error }) => self.masters.say(
                master,
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

/// Rounded up, so that a deadline has passed when the poll returns.
fn timeout(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else {
        return PollTimeout::NONE;
    };
    let wait = until.saturating_duration_since(Instant::now());
    let millis = wait.as_micros().div_ceil(1000);
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}

/// To the stderr that the daemon gave us.  It may be closed by now, which is no reason to end.
pub(super) fn warn(what: &str, error: &io::Error) {
    writeln!(io::stderr(), "muxd keeper: failed to {what}: {error}").ok();
}
