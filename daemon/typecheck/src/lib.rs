//! Checks programs against the types of the tools before they run, with TypeScript's own compiler.
//!
//! It knows `mux-process`, `mux-text` and `mux-files`, and of the sandbox the declarations that programs are written
//! against.
//!
//! The compiler is a child that speaks LSP.
//!
//! - [`find`] says which compiler, [`find_owner`] keeps one running, [`start_for_client`] holds its limits (`child/process` its process
//!   and pipes), `lsp` is the protocol, [`project`] lays the types out for it, `types_text` holds them compressed if they are
//!   long.
//! - [`verdicts`] remembers what it said, [`compare_with_pins`] decides what of that is a mistake (`judge/severity` how certain it
//!   is), `enclosing_call` finds the tool in whose arguments a place of a program is, `hints` says what a program has in place
//!   of what it looked for.
//!
//! The compiler sees the program and the types, resolves no import, and is killed after 2 s or at 1 GiB. What it says
//! is an error only if it is on a list.
//!
//! Invariant: the child sees the guest's source and no file but the types and the compiler's own library. A check that
//! cannot be made is [`CheckFailure`] and says nothing about the program.

mod compiler;
mod compiler_owner;
mod diagnostics;
mod enclosing_call;
mod find_compiler;
mod hints;
mod lsp;
mod types_folders;
mod types_text;
mod verdict_cache;

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use mux_wire::program::{PREFIX, SUFFIX, without_frame};
use tokio::{sync::Semaphore, time::timeout};

pub use self::types_text::TypesText;
use self::{
    compiler::{CheckLimits, CheckLoss},
    compiler_owner::CompilerOwner,
    types_folders::TypesFolders,
    verdict_cache::{VerdictCache, VerdictKey, VerdictLookup},
};
use mux_process::blocking_pool;

/// The version that `mux setup` installs, and the name of its folder.
pub const PINNED_TSC_VERSION: &str = "7.0.2";

/// How many programs are open in the compiler at once. More would not be faster: it takes them up one
/// after the other.
const MAX_OPEN_PROGRAMS: u32 = 4;
/// A check whose compiler ended under it is made again this often, and then alone.
const MAX_CHECK_ATTEMPTS: usize = 3;

/// One per daemon.
pub struct Checker {
    inner: Arc<CheckerInner>,
}

/// Where the compiler is, and what it may use.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// The compiler that the configuration names.
    pub compiler: Option<PathBuf>,
    /// The folder into which `mux setup` unpacks.
    pub managed: PathBuf,
    /// The `PATH` of the login shell.
    pub search_path: Option<OsString>,
    /// A folder of our own, where the types are laid out.
    pub work: PathBuf,
    /// How long one check may take. Whoever waits for its turn may wait as long again.
    pub deadline: Duration,
    /// How much memory the child may have resident, in bytes. Kept on Linux only.
    pub memory: u64,
    /// The child ends when nobody needed it for so long.
    pub idle: Duration,
}

/// A `mux.d.ts` and its name: the same hash means the same text.
#[derive(Clone, Debug)]
pub struct TypeDeclarations {
    pub hash: [u8; 32],
    pub text: TypesText,
}

/// One thing that the compiler found. Lines and columns count from 1 and point into the program as it
/// was given; columns count UTF-16 code units, as everywhere in muxd.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// TypeScript's number for it.
    pub code: u32,
    /// What is wrong, and on further lines why.
    pub message: String,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    /// What to write instead.
    pub hint: Option<String>,
    /// Server and tool, as the program spells them, if it stands in the arguments of a call.
    pub tool: Option<(String, String)>,
    /// Whether it says that there is no such tool.
    pub is_unknown: bool,
}

impl Diagnostic {
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether the parser of the sandbox should be asked, which has the last word on syntax.
    pub fn is_syntax(&self) -> bool {
        self.severity == Severity::Syntax
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Severity {
    /// The program does not parse, in the compiler's eyes.
    Syntax,
    /// Surely a mistake.
    Error,
    /// Perhaps a mistake; the program may well be right.
    Warning,
}

/// Why a program could not be checked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckFailure {
    #[error("{}", compiler_missing_text(named.as_deref()))]
    Missing {
        /// The one that the configuration names.
        named: Option<PathBuf>,
    },
    #[error(
        "{path:?} is TypeScript {found}, and 7 is needed: run `mux setup`, or set [check] tsc in config.toml"
    )]
    WrongVersion { path: PathBuf, found: String },
    #[error("the check took longer than {0:?}: give the program simpler types")]
    TooSlow(Duration),
    #[error("the check took more than {} MiB of memory: give the program simpler types", .0 >> 20)]
    TooLarge(u64),
    #[error("other checks took all the time, and this one had no turn within {0:?}: try again")]
    Busy(Duration),
    #[error("the TypeScript compiler ended: {0}; `mux setup` installs one that works")]
    Died(String),
    #[error("cannot write the types to {folder:?}: {reason}; make it writable for you")]
    Unwritable { folder: PathBuf, reason: String },
    #[error("the type checker is closed, because the daemon is ending")]
    Closed,
}

fn compiler_missing_text(named: Option<&Path>) -> String {
    match named {
        None => {
            "no TypeScript 7 compiler was found: run `mux setup`, or set [check] tsc in config.toml"
                .into()
        }
        Some(path) => format!(
            "there is no compiler {path:?}: correct [check] tsc in config.toml, or remove it and run `mux setup`"
        ),
    }
}

/// What `mux status` and `mux doctor` show.
#[derive(Clone, Debug, Default)]
pub struct CheckerStatus {
    /// The compiler that is used, or would be.
    pub compiler: Option<PathBuf>,
    /// Known once it was asked.
    pub version: Option<String>,
    /// The child, while it runs.
    pub pid: Option<u32>,
    pub rss_bytes: Option<u64>,
    /// Checks that the compiler was asked for.
    pub checks: u64,
    /// Answers that were known already, or that somebody else was waiting for.
    pub cached: u64,
    /// Why there is no checking now.
    pub problem: Option<String>,
}

impl Checker {
    pub fn new(settings: CheckSettings) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::new(CheckerInner {
                projects: TypesFolders::new(settings.work.clone()),
                verdicts: VerdictCache::default(),
                places: Semaphore::new(MAX_OPEN_PROGRAMS as usize),
                owner: OnceLock::new(),
                shared: compiler_owner::OwnerShared::new(settings.compiler.clone()),
                settings,
                checks: AtomicU64::new(0),
                cached: AtomicU64::new(0),
            }),
        })
    }

    /// Names another compiler, or with `None` leaves it to the usual places.
    pub fn set_compiler(&self, compiler: Option<PathBuf>) {
        if self.inner.shared.name(compiler) {
            self.inner.verdicts.forget_all();
        }
    }

    /// What is wrong with a program, by its line. Errors, warnings, or nothing.
    pub async fn check(
        &self,
        types: &TypeDeclarations,
        source: &str,
    ) -> Result<Arc<[Diagnostic]>, CheckFailure> {
        let inner = &self.inner;
        let key = VerdictKey::of(types, source);
        let waiting = match inner.verdicts.ask(key) {
            VerdictLookup::Known(verdict) => {
                inner.cached.fetch_add(1, Relaxed);
                return verdict;
            }
            VerdictLookup::Pending(waiting) => {
                inner.cached.fetch_add(1, Relaxed);
                waiting
            }
            VerdictLookup::Unknown(promise) => {
                let waiting = promise.subscribe();
                let (inner, types) = (Arc::clone(inner), types.clone());
                let source = source.to_owned();
                // A task of its own: whoever asked first may go away, and others may be waiting.
                tokio::spawn(async move {
                    let verdict = inner.check_uncached(&types, &source).await;
                    promise.keep(verdict);
                });
                waiting
            }
        };
        waiting.verdict().await
    }

    /// Starts the child and lets it read these types, in the background.
    pub async fn preload_types(&self, types: &TypeDeclarations) {
        let (inner, types) = (Arc::clone(&self.inner), types.clone());
        tokio::spawn(async move {
            if let Err(problem) = inner.check_uncached(&types, "").await {
                tracing::debug!(%problem, "the type checker is not warm");
            }
        });
    }

    pub fn status(&self) -> CheckerStatus {
        let inner = &self.inner;
        let mut status = inner.shared.status(&inner.settings);
        status.checks = inner.checks.load(Relaxed);
        status.cached = inner.cached.load(Relaxed);
        status
    }

    /// Resolves when no compiler runs: it was idle, or it ended and nobody has needed another.
    pub async fn wait_until_stopped(&self) {
        self.inner.shared.ended().await;
    }

    /// Ends the child. Nothing is checked afterwards.
    pub async fn close(&self) {
        self.inner.shared.close();
        if let Some(owner) = self.inner.owner.get() {
            owner.close().await;
        }
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

struct CheckerInner {
    settings: CheckSettings,
    projects: TypesFolders,
    verdicts: VerdictCache,
    places: Semaphore,
    /// Started with the first check, because that needs a runtime.
    owner: OnceLock<CompilerOwner>,
    shared: Arc<compiler_owner::OwnerShared>,
    checks: AtomicU64,
    cached: AtomicU64,
}

impl CheckerInner {
    async fn check_uncached(
        &self,
        types: &TypeDeclarations,
        source: &str,
    ) -> verdict_cache::CheckVerdict {
        let plain = without_frame(source);
        let text = format!("{PREFIX}{plain}{SUFFIX};\nexport {{}};\n");
        let folder = self.projects.folder(types).await?;
        let limits = CheckLimits {
            deadline: self.settings.deadline,
            memory: self.settings.memory,
        };
        let mut alone = may_declare_globals(&plain);
        let mut lost = String::new();
        for _ in 0..MAX_CHECK_ATTEMPTS {
            let places = if alone { MAX_OPEN_PROGRAMS } else { 1 };
            let turn = timeout(2 * limits.deadline, self.places.acquire_many(places)).await;
            let Ok(Ok(_turn)) = turn else {
                return Err(CheckFailure::Busy(2 * limits.deadline));
            };
            let compiler = self.owner().compiler().await?;
            self.checks.fetch_add(1, Relaxed);
            match compiler.diagnose(&folder, &text, limits).await {
                Ok(found) if diagnostics::has_lost_its_types(&found) => {
                    lost = "it did not find its library or the types of the tools".into();
                    self.owner().forget(&compiler);
                    self.projects.doubt(types);
                    alone = true;
                }
                Ok(found) => {
                    // What one program made it take is not given back soon.
                    if compiler.rss().is_some_and(|rss| rss > limits.memory / 2) {
                        self.owner().forget(&compiler);
                    }
                    return judge_off_thread(found, &plain, &folder, types).await;
                }
                Err(CheckLoss::Guilty(why)) => return Err(why),
                // It may have been another program's doing: in company nobody can tell.
                Err(CheckLoss::Gone(why)) => {
                    lost = why;
                    alone = true;
                }
            }
        }
        Err(CheckFailure::Died(lost))
    }

    fn owner(&self) -> &CompilerOwner {
        self.owner
            .get_or_init(|| CompilerOwner::start(self.settings.clone(), Arc::clone(&self.shared)))
    }
}

/// Off the runtime's threads: what the types say is looked for in a text that may be long.
async fn judge_off_thread(
    found: Vec<lsp::LspDiagnostic>,
    plain: &str,
    folder: &Path,
    types: &TypeDeclarations,
) -> verdict_cache::CheckVerdict {
    if found.is_empty() {
        return Ok(Arc::default());
    }
    let (plain, folder) = (plain.to_owned(), folder.to_string_lossy().into_owned());
    let text = types.text.clone();
    let judge = move || diagnostics::judge(found, &plain, &folder, &text.read());
    Ok(blocking_pool::run(judge).await.into())
}

/// Whether a program could declare something for others that are open at the same time. The wrapper
/// keeps what it declares inside; a program that closes the wrapper's brackets can write
/// `declare global`. Such a program is checked while no other is open.
fn may_declare_globals(plain: &str) -> bool {
    // An escape could spell the word.
    plain.contains("\\u")
        || plain
            .split("global")
            .skip(1)
            .any(|after| !after.starts_with("This"))
}
