//! Keeps one compiler running while it is needed.
//!
//! Invariant: one task owns the process. Others request a [`Compiler`] from it, which may end at any time, and read
//! [`OwnerShared`].

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};
use tracing::{debug, info};

use super::{
    CheckFailure, CheckSettings, CheckerStatus,
    compiler::{CheckLimits, Compiler},
    find_compiler::{self, CompilerFinder},
};
use mux_process::process_stats;

/// The delay before the next start after repeated failures. The delay doubles each time.
const INITIAL_RESTART_DELAY: Duration = Duration::from_millis(100);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(10);
/// How long a search that found no compiler counts: every run of a program asks, and each search reads every folder of
/// the `PATH`.
const ABSENCE_KEPT: Duration = Duration::from_millis(200);

/// State of the owner task that others can read.
pub(super) struct OwnerShared {
    known: Mutex<KnownCompiler>,
    /// The process ID of the running compiler.
    pid: watch::Sender<Option<u32>>,
    closed: AtomicBool,
}

#[derive(Default)]
struct KnownCompiler {
    /// The configured compiler.
    named: Option<PathBuf>,
    found: Option<find_compiler::FoundCompiler>,
    problem: Option<String>,
}

impl OwnerShared {
    pub(super) fn new(named: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            known: Mutex::new(KnownCompiler {
                named,
                ..KnownCompiler::default()
            }),
            pid: watch::Sender::new(None),
            closed: AtomicBool::new(false),
        })
    }

    /// Sets the configured compiler. Returns whether it has changed.
    pub(super) fn name(&self, named: Option<PathBuf>) -> bool {
        let mut known = self.known.lock();
        let changed = known.named != named;
        if changed {
            *known = KnownCompiler {
                named,
                ..KnownCompiler::default()
            };
        }
        changed
    }

    pub(super) fn status(&self, settings: &CheckSettings) -> CheckerStatus {
        let pid = *self.pid.borrow();
        let mut status = CheckerStatus {
            pid,
            rss_bytes: pid.and_then(process_stats::resident_bytes),
            ..CheckerStatus::default()
        };
        let known = self.known.lock();
        status.problem.clone_from(&known.problem);
        if let Some(found) = &known.found {
            status.compiler = Some(found.path.clone());
            status.version = Some(found.version.clone());
            return status;
        }
        // No compiler has been started yet: report the first candidate.
        match find_compiler::candidates(known.named.as_deref(), settings) {
            Ok(candidates) => status.compiler = candidates.into_iter().next(),
            Err(missing) => {
                status.problem.get_or_insert_with(|| missing.to_string());
            }
        }
        status
    }

    pub(super) async fn ended(&self) {
        // `self` has the sender, so this cannot fail.
        drop(self.pid.subscribe().wait_for(Option::is_none).await);
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    fn named(&self) -> Option<PathBuf> {
        let known = self.known.lock();
        known.named.clone()
    }

    fn learn(&self, found: Option<find_compiler::FoundCompiler>, problem: Option<String>) {
        let mut known = self.known.lock();
        known.found = found.or(known.found.take());
        known.problem = problem;
    }
}

type CompilerReply = oneshot::Sender<Result<Arc<Compiler>, CheckFailure>>;

enum OwnerRequest {
    Compiler(CompilerReply),
    /// Do not hand out the compiler with this process ID any more.
    Forget(u32),
    Close(oneshot::Sender<()>),
}

/// A handle to the owner task.
pub(super) struct CompilerOwner(mpsc::UnboundedSender<OwnerRequest>);

impl CompilerOwner {
    pub(super) fn start(settings: CheckSettings, shared: Arc<OwnerShared>) -> Self {
        let (orders, received) = mpsc::unbounded_channel();
        let task = OwnerTask {
            finder: CompilerFinder::default(),
            settings,
            shared,
            running: None,
            failures: 0,
            refusal: None,
        };
        tokio::spawn(task.live(received));
        Self(orders)
    }

    /// A running compiler. Starts one if needed.
    pub(super) async fn compiler(&self) -> Result<Arc<Compiler>, CheckFailure> {
        let (reply, answer) = oneshot::channel();
        drop(self.0.send(OwnerRequest::Compiler(reply)));
        answer.await.unwrap_or(Err(CheckFailure::Closed))
    }

    /// Stops handing out this compiler. The compiler ends with its last user.
    pub(super) fn forget(&self, compiler: &Compiler) {
        drop(self.0.send(OwnerRequest::Forget(compiler.pid)));
    }

    pub(super) async fn close(&self) {
        let (reply, done) = oneshot::channel();
        drop(self.0.send(OwnerRequest::Close(reply)));
        // An error means that the owner was already closed.
        drop(done.await);
    }
}

struct OwnerTask {
    settings: CheckSettings,
    shared: Arc<OwnerShared>,
    finder: CompilerFinder,
    running: Option<RunningCompiler>,
    /// The number of consecutive compilers that never answered a check.
    failures: u32,
    refusal: Option<StartRefusal>,
}

/// Until when no compiler is searched and started, and the failure to report until then.
struct StartRefusal {
    until: Instant,
    /// The configured compiler. Other compilers are not refused.
    named: Option<PathBuf>,
    why: CheckFailure,
}

struct RunningCompiler {
    compiler: Arc<Compiler>,
    named: Option<PathBuf>,
    used: Instant,
}

impl OwnerTask {
    async fn live(mut self, mut orders: mpsc::UnboundedReceiver<OwnerRequest>) {
        loop {
            let idle = self.running.as_ref().map(|r| r.used + self.settings.idle);
            let over = self.running.as_ref().map(|r| r.compiler.over());
            tokio::select! {
                order = orders.recv() => match order {
                    Some(OwnerRequest::Compiler(reply)) => drop(reply.send(self.compiler().await)),
                    Some(OwnerRequest::Forget(pid)) => {
                        if self.running.as_ref().is_some_and(|r| r.compiler.pid == pid) {
                            self.running = None;
                            self.shared.pid.send_replace(None);
                        }
                    }
                    Some(OwnerRequest::Close(reply)) => {
                        self.end("the daemon is ending").await;
                        let _asker_may_be_gone = reply.send(());
                        return;
                    }
                    None => return self.end("the type checker was dropped").await,
                },
                () = at(idle) => self.rest().await,
                () = until(over) => self.bury(),
            }
        }
    }

    async fn compiler(&mut self) -> Result<Arc<Compiler>, CheckFailure> {
        if self.shared.closed.load(Relaxed) {
            return Err(CheckFailure::Closed);
        }
        let named = self.shared.named();
        if let Some(running) = &mut self.running {
            if running.compiler.is_over() {
                self.bury();
            } else if running.named == named {
                running.used = Instant::now();
                return Ok(Arc::clone(&running.compiler));
            } else {
                self.end("another compiler is configured").await;
            }
        }
        if let Some(refusal) = &self.refusal
            && Instant::now() < refusal.until
            && refusal.named == named
        {
            return Err(refusal.why.clone());
        }
        let began = Instant::now();
        let found = match self.finder.find(named.as_deref(), &self.settings).await {
            Ok(found) => found,
            Err(problem) => {
                self.shared.learn(None, Some(problem.to_string()));
                if matches!(problem, CheckFailure::Missing { .. }) {
                    self.refuse(ABSENCE_KEPT, problem.clone());
                }
                return Err(problem);
            }
        };
        match self.start(&found).await {
            Ok(compiler) => {
                info!(compiler = %found.path.display(), version = found.version, pid = compiler.pid,
                    took = ?began.elapsed(), "type checker started");
                self.shared.learn(Some(found), None);
                self.shared.pid.send_replace(Some(compiler.pid));
                let compiler = Arc::new(compiler);
                self.running = Some(RunningCompiler {
                    compiler: Arc::clone(&compiler),
                    named,
                    used: Instant::now(),
                });
                Ok(compiler)
            }
            Err(problem) => {
                self.failed(problem.clone());
                Err(problem)
            }
        }
    }

    async fn start(&self, found: &find_compiler::FoundCompiler) -> Result<Compiler, CheckFailure> {
        let limits = CheckLimits {
            deadline: self.settings.deadline,
            memory: self.settings.memory,
        };
        let path = self.settings.search_path.as_deref();
        let path = path.filter(|_| find_compiler::is_script(&found.path));
        Compiler::start(&found.path, path, &self.settings.work, limits).await
    }

    /// Removes a compiler that has ended. The next one starts immediately, unless this one ended by itself without
    /// ever answering a check.
    fn bury(&mut self) {
        self.shared.pid.send_replace(None);
        let Some(running) = self.running.take() else {
            return;
        };
        debug!(pid = running.compiler.pid, "type checker ended");
        if running.compiler.has_answered() || running.compiler.was_killed() {
            self.failures = 0;
            self.refusal = None;
        } else {
            let why = running.compiler.why();
            self.failed(CheckFailure::Died(format!("it never answered: {why}")));
        }
    }

    fn failed(&mut self, problem: CheckFailure) {
        self.failures += 1;
        self.shared.learn(None, Some(problem.to_string()));
        // The first failure may be accidental.
        if self.failures > 1 {
            let pause = INITIAL_RESTART_DELAY.saturating_mul(1 << self.failures.min(10));
            self.refuse(pause.min(MAX_RESTART_DELAY), problem);
        }
    }

    fn refuse(&mut self, pause: Duration, why: CheckFailure) {
        self.refusal = Some(StartRefusal {
            until: Instant::now() + pause,
            named: self.shared.named(),
            why,
        });
    }

    async fn rest(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        if Arc::strong_count(&running.compiler) > 1 {
            running.used = Instant::now();
        } else {
            self.end("it was idle").await;
        }
    }

    async fn end(&mut self, why: &str) {
        if let Some(running) = self.running.take() {
            running.compiler.kill(why);
            running.compiler.over().cancelled().await;
            self.shared.pid.send_replace(None);
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

async fn until(over: Option<tokio_util::sync::CancellationToken>) {
    match over {
        Some(over) => over.cancelled().await,
        None => std::future::pending().await,
    }
}
