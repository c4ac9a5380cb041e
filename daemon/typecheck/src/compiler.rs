//! One compiler process, from its start to its end.
//!
//! Invariant: dropping a [`Compiler`] kills its process group. A check that takes too long or too much memory kills the
//! process, because a busy compiler cannot be stopped otherwise. If the daemon dies, the end of its input ends the
//! compiler, even while it is busy.

mod compiler_process;

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::{interval, sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(super) use self::compiler_process::command;
use self::compiler_process::{CompilerProcess, LspAnswer, PendingRequests};
use super::{
    CheckFailure,
    lsp::{self, DiagnosticReport, LspDiagnostic},
};
use mux_process::process_stats;

/// A start may take this many times longer than a check.
const START_TIMEOUT_FACTOR: u32 = 5;
/// How often the memory of a busy compiler is checked. A compiler that allocates as fast as it can takes some ten MiB
/// in that time.
const MEMORY_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The limits of one check.
#[derive(Clone, Copy)]
pub(super) struct CheckLimits {
    pub(super) deadline: Duration,
    pub(super) memory: u64,
}

/// Why a check has no result.
pub(super) enum CheckLoss {
    /// The checked program is the cause.
    Guilty(CheckFailure),
    /// The process ended. The checked program may not be the cause.
    Gone(String),
}

/// A running compiler that accepts requests.
pub(super) struct Compiler {
    pub(super) pid: u32,
    outbox: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Mutex<PendingRequests>>,
    /// The number of checks that were started, and of those still running.
    begun: AtomicU64,
    going_on: AtomicU64,
    /// The folders whose types the compiler has loaded.
    loaded: Mutex<HashSet<PathBuf>>,
    /// True if the compiler has ever answered a check.
    answered: AtomicBool,
    /// Why the process was killed or has ended.
    why: Arc<OnceLock<String>>,
    end: CancellationToken,
    over: CancellationToken,
    _killed_on_drop: DropGuard,
}

impl Compiler {
    /// Starts a process and waits until it is ready.
    pub(super) async fn start(
        program: &Path,
        path: Option<&OsStr>,
        work: &Path,
        limits: CheckLimits,
    ) -> Result<Self, CheckFailure> {
        let named = program.to_string_lossy();
        let died = |error: std::io::Error| CheckFailure::Died(format!("{named:?}: {error}"));
        let mut command = command(program, path);
        // The garbage collector works harder before the limit is reached.
        let hurry = limits.memory / 4 * 3;
        let mut child = command
            .args(["--lsp", "--stdio"])
            .env("GOMEMLIMIT", hurry.to_string())
            .current_dir(work)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(died)?;
        let pid = child.id().unwrap_or_default();
        let (outbox, letters) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(PendingRequests {
            next: 0,
            askers: Some(HashMap::new()),
        }));
        let end = CancellationToken::new();
        let over = CancellationToken::new();
        let why = Arc::<OnceLock<String>>::default();
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(CheckFailure::Died("it has no pipes".into()));
        };
        let process = CompilerProcess {
            child,
            pid,
            waiting: Arc::clone(&waiting),
            why: Arc::clone(&why),
            end: end.clone(),
            _over: over.clone().drop_guard(),
        };
        tokio::spawn(process.live(stdin, letters, stdout, stderr, outbox.clone()));
        let compiler = Self {
            pid,
            outbox,
            waiting,
            begun: AtomicU64::new(0),
            going_on: AtomicU64::new(0),
            loaded: Mutex::default(),
            answered: AtomicBool::new(false),
            why,
            _killed_on_drop: end.clone().drop_guard(),
            end,
            over,
        };
        let within = START_TIMEOUT_FACTOR * limits.deadline;
        match timeout(
            within,
            compiler.ask("initialize", lsp::initialize_params(work)),
        )
        .await
        {
            Ok(Ok(_)) => {
                compiler.tell("initialized", &json!({}));
                Ok(compiler)
            }
            Ok(Err(why)) => Err(CheckFailure::Died(why)),
            Err(_) => Err(CheckFailure::Died(format!(
                "it did not respond within {within:?}"
            ))),
        }
    }

    /// Diagnoses a program against the types in `folder`, which has a `tsconfig.json`.
    pub(super) async fn diagnose(
        &self,
        folder: &Path,
        text: &str,
        limits: CheckLimits,
    ) -> Result<Vec<LspDiagnostic>, CheckLoss> {
        self.load(folder, limits).await?;
        self.open(folder, text, limits).await
    }

    /// Loads the types before the first program. Their size therefore does not count against the program's limits.
    async fn load(&self, folder: &Path, limits: CheckLimits) -> Result<(), CheckLoss> {
        let is_loaded = {
            let loaded = self.loaded.lock();
            loaded.contains(folder)
        };
        if is_loaded {
            return Ok(());
        }
        let deadline = START_TIMEOUT_FACTOR * limits.deadline;
        let longer = CheckLimits { deadline, ..limits };
        match self.open(folder, "export {};\n", longer).await {
            Ok(_) => {
                let mut loaded = self.loaded.lock();
                loaded.insert(folder.to_owned());
                Ok(())
            }
            Err(CheckLoss::Guilty(limit)) => {
                let why = format!("it could not read the types: {limit}");
                Err(CheckLoss::Guilty(CheckFailure::Died(why)))
            }
            Err(gone) => Err(gone),
        }
    }

    async fn open(
        &self,
        folder: &Path,
        text: &str,
        limits: CheckLimits,
    ) -> Result<Vec<LspDiagnostic>, CheckLoss> {
        let check = OpenCheck::begin(self);
        let uri = lsp::file_uri(&folder.join(format!("s-{}.ts", check.number)));
        let document =
            json!({ "uri": uri, "languageId": "typescript", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        let asked = self.ask(
            "textDocument/diagnostic",
            json!({ "textDocument": { "uri": uri } }),
        );
        tokio::pin!(asked);
        let deadline = sleep(limits.deadline);
        tokio::pin!(deadline);
        let mut tick = interval(MEMORY_CHECK_INTERVAL);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut asked => break answer,
                () = &mut deadline => {
                    return Err(check.breaks(CheckFailure::TooSlow(limits.deadline)));
                }
                _ = tick.tick() => {
                    if self.rss().is_some_and(|rss| rss > limits.memory) {
                        return Err(check.breaks(CheckFailure::TooLarge(limits.memory)));
                    }
                }
            }
        };
        self.tell(
            "textDocument/didClose",
            &json!({ "textDocument": { "uri": uri } }),
        );
        let report = answer.and_then(|answer| {
            serde_json::from_str::<DiagnosticReport>(answer.get())
                .map_err(|error| format!("its response is invalid: {error}"))
        });
        match report {
            Ok(report) => {
                self.answered.store(true, Relaxed);
                Ok(report.items)
            }
            Err(why) => {
                // An LSP error may mean corrupt state: restart the compiler.
                self.kill(&why);
                Err(CheckLoss::Gone(why))
            }
        }
    }

    /// The resident memory of the process in bytes, where the system provides it.
    pub(super) fn rss(&self) -> Option<u64> {
        process_stats::resident_bytes(self.pid)
    }

    /// Why the process has ended.
    pub(super) fn why(&self) -> String {
        let why = self.why.get().map(String::as_str);
        why.unwrap_or("unknown reason").to_owned()
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Relaxed)
    }

    pub(super) fn was_killed(&self) -> bool {
        self.end.is_cancelled()
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_cancelled() || self.over.is_cancelled()
    }

    /// Cancelled when the process has exited.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    pub(super) fn kill(&self, why: &str) {
        // The first reason is the cause of later ones.
        drop(self.why.set(why.to_owned()));
        self.end.cancel();
    }

    fn tell(&self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        // If the process has ended, the next request fails.
        drop(self.outbox.send(lsp::encode_message(&message)));
    }

    async fn ask(&self, method: &str, params: Value) -> LspAnswer {
        let (reply, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting.lock();
            waiting.next += 1;
            let id = waiting.next;
            if let Some(askers) = &mut waiting.askers {
                askers.insert(id, reply);
            }
            id
        };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        drop(self.outbox.send(lsp::encode_message(&message)));
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.why()),
        }
    }
}

/// A program that is open in the compiler.
struct OpenCheck<'a> {
    compiler: &'a Compiler,
    number: u64,
    had_company: bool,
}

impl<'a> OpenCheck<'a> {
    fn begin(compiler: &'a Compiler) -> Self {
        Self {
            compiler,
            number: compiler.begun.fetch_add(1, Relaxed),
            had_company: compiler.going_on.fetch_add(1, Relaxed) > 0,
        }
    }

    /// Kills the compiler because of a limit. The program is the cause if no other one was open meanwhile.
    fn breaks(&self, limit: CheckFailure) -> CheckLoss {
        let had_company = self.had_company || self.compiler.begun.load(Relaxed) != self.number + 1;
        self.compiler.kill(&limit.to_string());
        if had_company {
            CheckLoss::Gone(limit.to_string())
        } else {
            CheckLoss::Guilty(limit)
        }
    }
}

impl Drop for OpenCheck<'_> {
    fn drop(&mut self) {
        self.compiler.going_on.fetch_sub(1, Relaxed);
    }
}
