//! Type-checks programs against the types of the tools before they run, with TypeScript's own compiler.
//!
//! Depends on `mux-process`, `mux-text` and `mux-files`, and on the sandbox's `mux-wire` and `mux-typegen`.
//!
//! The compiler is a child process that speaks LSP.
//!
//! - `find_compiler` finds it, `compiler_owner` keeps one running, `compiler` makes requests within limits
//!   (`compiler_process` is its process and pipes), `lsp` is the protocol. `types_folders` writes the types for it,
//!   `types_text` keeps them, compressed if they are long.
//! - `verdict_cache` caches results. `diagnostics` turns them into errors and warnings (`severity`), `hints` suggests
//!   replacements.
//! - `syntax_tree` is the tree of a program, which a worker reads if the compiler finds something. In it, `enclosing_call`
//!   finds the tool call around a position, `execution` the code that certainly executes, `value_uses` the code that fails
//!   without a value, `value_origin` the source of a value. `printed_types` reads types in messages.
//!
//! The compiler sees the program and the types, resolves no import, and is killed after 2 s or at 1 GiB. Only code that
//! is certain to fail is an error.
//!
//! Invariant: the compiler reads the program, the types and its own library, and no other file. A check that cannot be
//! made is a [`CheckFailure`] and says nothing about the program.

mod compiler;
mod compiler_owner;
mod diagnostics;
mod enclosing_call;
mod execution;
mod find_compiler;
mod hints;
mod lsp;
mod printed_types;
mod syntax_tree;
mod types_folders;
mod types_text;
mod value_origin;
mod value_uses;
mod verdict_cache;

use std::{
    ffi::OsString,
    fmt, future,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

pub use mux_messages::CheckerStatus;
use mux_wire::{
    Fault, SyntaxNode,
    program_wrapper::{WRAPPER_PREFIX, WRAPPER_SUFFIX, strip_bom_hashbang_and_fence},
};
use tokio::{sync::Semaphore, time::timeout};

use self::{
    compiler::{CheckLimits, CheckLoss, Compiler},
    compiler_owner::CompilerOwner,
    diagnostics::ProgramDiagnostics,
    syntax_tree::SyntaxTree,
    types_folders::TypesFolders,
    verdict_cache::{VerdictCache, VerdictKey},
};
pub use self::{hints::ProgramHint, types_text::TypesText};
use mux_process::blocking_pool;

/// The compiler version that `mux setup` installs, and the name of its folder.
pub const PINNED_TSC_VERSION: &str = "7.0.2";

/// The maximum number of programs open in the compiler. More would not be faster: it checks them one after another.
const MAX_OPEN_PROGRAMS: u32 = 4;
/// The maximum number of attempts if the compiler ends during a check. Retries run alone.
const MAX_CHECK_ATTEMPTS: usize = 3;

/// The type checker. There is one per daemon.
pub struct Checker {
    inner: Arc<CheckerInner>,
}

/// The location and limits of the compiler.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// The configured compiler.
    pub compiler: Option<PathBuf>,
    /// The folder that `mux setup` installs to.
    pub managed: PathBuf,
    /// The `PATH` of the login shell.
    pub search_path: Option<OsString>,
    /// A private folder for the types.
    pub work: PathBuf,
    /// The time limit of one check. A check may wait twice as long for its turn.
    pub deadline: Duration,
    /// The limit of the compiler's resident memory, in bytes. Enforced on Linux only.
    pub memory: u64,
    /// The compiler ends when it is unused for this long.
    pub idle: Duration,
}

/// The content of a `mux.d.ts` and its hash.
#[derive(Clone, Debug)]
pub struct TypeDeclarations {
    pub hash: [u8; 32],
    pub text: TypesText,
}

/// One finding of the compiler. Lines and columns count from 1 and refer to the original program. Columns count UTF-16
/// code units, as everywhere in muxd.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// TypeScript's diagnostic code.
    pub code: u32,
    /// The message, with details on further lines.
    pub message: String,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    /// The correction.
    pub hint: Option<ProgramHint>,
    /// Server and tool as written in the program, if the finding is in the arguments of a tool call.
    pub tool: Option<(String, String)>,
    /// True if the tool does not exist.
    pub is_unknown: bool,
}

impl Diagnostic {
    /// Returns true for a syntax error, about which the sandbox's parser decides.
    pub fn is_syntax(&self) -> bool {
        self.severity == Severity::Syntax
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Severity {
    /// The compiler cannot parse the program.
    Syntax,
    /// Certainly an error.
    Error,
    /// Possibly an error. The program may be right.
    Warning,
}

/// Why a program could not be checked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckFailure {
    #[error("{}", compiler_missing_text(named.as_deref()))]
    Missing {
        /// The configured compiler, if there is one.
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
    #[error("the type checker was busy with other checks for {0:?}: try again")]
    Busy(Duration),
    #[error("the TypeScript compiler ended: {0}; `mux setup` installs one that works")]
    Died(String),
    #[error("cannot write the types to {folder:?}: {reason}; make it writable for you")]
    Unwritable { folder: PathBuf, reason: String },
    #[error("no worker has parsed the program: {}", .0.message)]
    Unparsed(Fault),
    #[error("the program has `// @ts-nocheck`: without that line, its types are checked")]
    Declined,
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
            "there is no compiler {:?}: correct [check] tsc in config.toml, or remove it and run `mux setup`",
            path.to_string_lossy()
        ),
    }
}

impl Checker {
    pub fn new(settings: CheckSettings) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::new(CheckerInner {
                projects: TypesFolders::new(settings.work.clone()),
                verdicts: VerdictCache::default(),
                program_permits: Semaphore::new(MAX_OPEN_PROGRAMS as usize),
                owner: OnceLock::new(),
                shared: compiler_owner::OwnerShared::new(settings.compiler.clone()),
                settings,
                checks: AtomicU64::new(0),
                cached: AtomicU64::new(0),
            }),
        })
    }

    /// Sets the configured compiler. `None` searches the default locations.
    pub fn set_compiler(&self, compiler: Option<PathBuf>) {
        if self.inner.shared.name(compiler) {
            self.inner.verdicts.forget_all();
        }
    }

    /// Checks a program. Returns errors and warnings, sorted by line. If the compiler finds something, `syntax` gives the
    /// program's syntax tree, or the reason why it cannot. Without a tree, no finding is an error.
    pub async fn check(
        &self,
        types: &TypeDeclarations,
        source: &str,
        syntax: impl Future<Output = Result<Vec<SyntaxNode>, Fault>> + Send + 'static,
    ) -> Result<Arc<[Diagnostic]>, CheckFailure> {
        let inner = &self.inner;
        let key = VerdictKey::of(types, source);
        let (verdict, promise) = inner.verdicts.ask(key);
        match promise {
            None => _ = inner.cached.fetch_add(1, Relaxed),
            Some(promise) => {
                let inner = Arc::clone(inner);
                let types = types.clone();
                let source = source.to_owned();
                // A separate task: the first caller may go away while others wait.
                tokio::spawn(async move {
                    promise.keep(inner.check_uncached(&types, &source, syntax).await);
                });
            }
        }
        verdict.verdict().await
    }

    /// Starts the compiler and loads these types, in the background.
    pub fn preload_types(&self, types: &TypeDeclarations) {
        let inner = Arc::clone(&self.inner);
        let types = types.clone();
        tokio::spawn(async move {
            let no_tree = future::ready(Ok(Vec::new()));
            if let Err(problem) = inner.check_uncached(&types, "", no_tree).await {
                tracing::debug!(%problem, "cannot preload types");
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

    /// Resolves when no compiler runs.
    pub async fn wait_until_stopped(&self) {
        self.inner.shared.ended().await;
    }

    /// Ends the compiler. All later checks fail.
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
    program_permits: Semaphore,
    /// Started with the first check, because it needs a runtime.
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
        syntax: impl Future<Output = Result<Vec<SyntaxNode>, Fault>>,
    ) -> verdict_cache::CheckVerdict {
        let plain = strip_bom_hashbang_and_fence(source);
        if declines_check(&plain) {
            return Err(CheckFailure::Declined);
        }
        let text = format!("{WRAPPER_PREFIX}{plain}{WRAPPER_SUFFIX};\nexport {{}};\n");
        let folder = self.projects.folder(types).await?;
        let limits = CheckLimits {
            deadline: self.settings.deadline,
            memory: self.settings.memory,
        };
        let mut alone = may_declare_globals(&plain);
        let mut lost = String::new();
        for _ in 0..MAX_CHECK_ATTEMPTS {
            let permits = if alone { MAX_OPEN_PROGRAMS } else { 1 };
            let turn = timeout(
                2 * limits.deadline,
                self.program_permits.acquire_many(permits),
            )
            .await;
            let Ok(Ok(turn)) = turn else {
                return Err(CheckFailure::Busy(2 * limits.deadline));
            };
            let compiler = self.owner().compiler().await?;
            self.checks.fetch_add(1, Relaxed);
            match diagnose(&compiler, &folder, &text, limits).await {
                Ok(found) if diagnostics::has_lost_its_types(&found.found) => {
                    lost = "it did not find its library or the types of the tools".into();
                    self.owner().forget(&compiler);
                    self.projects.doubt(types);
                    alone = true;
                }
                Ok(found) => {
                    // The compiler does not release this memory soon.
                    if compiler.rss().is_some_and(|rss| rss > limits.memory / 2) {
                        self.owner().forget(&compiler);
                    }
                    drop(turn);
                    if found.found.is_empty() {
                        return Ok(Arc::default());
                    }
                    let nodes = syntax.await.map_err(CheckFailure::Unparsed)?;
                    return judge_off_thread(found, nodes, &plain, &folder, types).await;
                }
                Err(CheckLoss::Guilty(why)) => return Err(why),
                // Another program may be the cause, so the retry runs alone.
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

/// Compiles a program. If a name is unknown, a second compilation tells types from values.
async fn diagnose(
    compiler: &Compiler,
    folder: &Path,
    text: &str,
    limits: CheckLimits,
) -> Result<ProgramDiagnostics, CheckLoss> {
    let found = compiler.diagnose(folder, text, limits).await?;
    let names = diagnostics::declared_type_names(&found);
    let with_type_names = if names.is_empty() || diagnostics::has_lost_its_types(&found) {
        Vec::new()
    } else {
        let text = format!("{text}{names}");
        compiler.diagnose(folder, &text, limits).await?
    };
    Ok(ProgramDiagnostics {
        found,
        with_type_names,
    })
}

/// Processes diagnostics on a blocking thread: it searches the declarations, which may be long.
async fn judge_off_thread(
    found: ProgramDiagnostics,
    nodes: Vec<SyntaxNode>,
    plain: &str,
    folder: &Path,
    types: &TypeDeclarations,
) -> verdict_cache::CheckVerdict {
    let plain = plain.to_owned();
    let folder = folder.to_string_lossy().into_owned();
    let text = types.text.clone();
    let judge = move || {
        let tree = SyntaxTree::new(nodes);
        diagnostics::judge(&found, &plain, &tree, &folder, &text.read())
    };
    Ok(blocking_pool::run(judge).await.into())
}

/// Returns true if `// @ts-nocheck` is before the first statement, where TypeScript reads it.
fn declines_check(plain: &str) -> bool {
    let lines = plain.lines().map(str::trim);
    let comments = lines.take_while(|line| {
        line.is_empty() || ["//", "/*", "*"].iter().any(|mark| line.starts_with(mark))
    });
    let mut comments = comments.map(|line| line.trim_start_matches(['/', '*', ' ']));
    comments.any(|comment| comment.starts_with("@ts-nocheck"))
}

/// Returns true if a program could declare globals that affect other open programs. The wrapper confines declarations,
/// but a program that closes the wrapper's brackets can write `declare global`. Check such a program alone.
fn may_declare_globals(plain: &str) -> bool {
    // An escape could hide the word.
    plain.contains("\\u")
        || plain
            .split("global")
            .skip(1)
            .any(|after| !after.starts_with("This"))
}
