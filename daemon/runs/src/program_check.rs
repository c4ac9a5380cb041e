//! Checks a program before it runs: its syntax in a worker, its types with the type checker.
//!
//! Invariant: a program that cannot be checked runs unchecked, and the caller learns why.

mod diagnostic_report;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use self::diagnostic_report::HintScope;
use futures::future::join_all;
use mux_sandbox::{Pool, ProgramLimits, QueueKey};
use mux_typegen::names::spell;
use mux_wire::Fault;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::timeout;
use tracing::debug;

use mux_catalog::{CatalogReader, Scope, TypeTextAudience};
use mux_settings::{CheckMode, CheckModes};
use mux_typecheck::{CheckFailure, Checker, CheckerStatus, Diagnostic, TypeDeclarations};
use mux_upstream::{CallerIdentity, Server, Upstreams};

/// How long a server that a program names may take to list its tools, if they are not known yet.
const PROGRAM_LIST_TOOLS_TIMEOUT: Duration = Duration::from_secs(5);
const CHECK_OFF: &str = "the check is off: `[check] mode` in config.toml turns it on";

/// A caller as the catalog and the sessions know it: visible tools, and the identity for sessions.
#[derive(Clone, Debug)]
pub struct ToolViewer {
    pub scope: Arc<Scope>,
    pub identity: CallerIdentity,
    pub reader: CatalogReader,
}

/// The findings of checking a program.
#[derive(Clone, Debug, Default)]
pub struct CheckFindings {
    /// Any of these keeps the program from running.
    pub errors: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// The reason the types were not checked. `None` if they were, or if the check was not requested.
    pub unchecked: Option<String>,
}

pub struct ProgramChecker {
    upstreams: Arc<Upstreams>,
    pool: Pool,
    checker: Arc<Checker>,
    modes: Mutex<CheckModes>,
}

impl ProgramChecker {
    pub fn new(upstreams: Arc<Upstreams>, pool: Pool, checker: Arc<Checker>) -> Self {
        Self {
            upstreams,
            pool,
            checker,
            modes: Mutex::default(),
        }
    }

    pub fn set_checks(&self, modes: CheckModes) {
        self.checker.set_compiler(modes.compiler.clone());
        *self.checks() = modes;
    }

    pub fn status(&self) -> CheckerStatus {
        self.checker.status()
    }

    /// Stops the type checker.
    pub async fn close(&self) {
        self.checker.close().await;
    }

    /// The declarations against which a program with this scope is checked.
    pub async fn types(&self, scope: &Scope, reader: &CatalogReader) -> TypeDeclarations {
        let known = self.upstreams.known_visible(scope);
        let catalog = self.upstreams.catalog();
        catalog
            .declare_types(&known, TypeTextAudience::Checker, reader)
            .await
    }

    /// Starts the type checker ahead of the first check.
    pub async fn warm_checker(&self) {
        if self.checks().any() {
            let types = self.types(&Scope::default(), &CatalogReader::user()).await;
            self.checker.preload_types(&types);
        }
    }

    /// Checks the types of a program that is about to run. The worker reports its syntax errors.
    pub(crate) async fn check_before_run(
        &self,
        source: &str,
        agent: Option<&str>,
        hints: HintScope,
        viewer: &ToolViewer,
        turn: &QueueKey,
    ) -> CheckFindings {
        let strictness = self.checks().of(agent);
        if strictness == CheckMode::Off {
            return CheckFindings::not_checked(&CHECK_OFF);
        }
        let mut found = self.check_types(source, hints, viewer, turn).await;
        // The compiler and V8 disagree about the syntax of some programs: V8 decides.
        if found.syntax {
            let limits = ProgramLimits::default();
            let parsed = self.pool.check(source.to_owned(), turn, &limits).await;
            if parsed.is_ok_and(|parsed| !parsed.errors.is_empty()) {
                return CheckFindings::default();
            }
        }
        found.inspection.downgrade_errors(strictness);
        found.inspection
    }

    /// Checks the syntax and the types of a program.
    pub async fn check_program(
        &self,
        source: String,
        agent: Option<&str>,
        viewer: &ToolViewer,
        turn: &QueueKey,
        limits: &ProgramLimits,
    ) -> Result<CheckFindings, Fault> {
        let strictness = self.checks().of(agent);
        let parsed = self.pool.check(source.clone(), turn, limits).await?;
        let mut inspection = match strictness {
            // A program that does not parse has no types.
            _ if !parsed.errors.is_empty() => CheckFindings::default(),
            CheckMode::Off => CheckFindings::not_checked(&CHECK_OFF),
            _ => {
                let checked = self.check_types(&source, HintScope::All, viewer, turn);
                checked.await.inspection
            }
        };
        inspection.downgrade_errors(strictness);
        inspection.add_parser_findings(parsed);
        Ok(inspection)
    }

    async fn check_types(
        &self,
        source: &str,
        hints: HintScope,
        viewer: &ToolViewer,
        turn: &QueueKey,
    ) -> CompilerFindings {
        let mut found = self.run_compiler(source, viewer, turn).await;
        // Without a type checker there is no need to list tools.
        if found.is_ok() && self.list_named_servers(source, viewer).await {
            found = self.run_compiler(source, viewer, turn).await;
        }
        match found {
            Ok(diagnostics) => self.report_diagnostics(&diagnostics, viewer, hints),
            Err(unchecked) => {
                debug!(%unchecked, "a program runs unchecked");
                CompilerFindings {
                    inspection: CheckFindings::not_checked(&unchecked),
                    syntax: false,
                }
            }
        }
    }

    /// The compiler's diagnostics for a program, with the tools known now.
    async fn run_compiler(
        &self,
        source: &str,
        viewer: &ToolViewer,
        turn: &QueueKey,
    ) -> Result<Arc<[Diagnostic]>, CheckFailure> {
        let began = Instant::now();
        let types = self.types(&viewer.scope, &viewer.reader).await;
        let pool = self.pool.clone();
        let text = source.to_owned();
        let turn = turn.clone();
        let syntax = async move {
            let parsed = pool.check(text, &turn, &ProgramLimits::default()).await;
            parsed.map(|parsed| parsed.tree)
        };
        let found = self.checker.check(&types, source, syntax).await;
        self.upstreams.metrics().count_check(began.elapsed());
        found
    }

    fn report_diagnostics(
        &self,
        diagnostics: &[Diagnostic],
        viewer: &ToolViewer,
        hints: HintScope,
    ) -> CompilerFindings {
        let mut inspection = CheckFindings::default();
        let tools = diagnostics.iter().filter(|found| !found.is_syntax());
        for diagnostic in tools {
            let upstreams = &self.upstreams;
            diagnostic_report::add(&mut inspection, diagnostic, upstreams, viewer, hints);
        }
        CompilerFindings {
            syntax: diagnostics.iter().any(mux_typecheck::Diagnostic::is_syntax),
            inspection,
        }
    }

    /// Lists the tools of servers that the program names and whose tools are unknown: the program would have to wait
    /// for them anyway. Returns true if any server answered.
    async fn list_named_servers(&self, source: &str, viewer: &ToolViewer) -> bool {
        let named = |server: &Arc<Server>| {
            let name = server.name();
            server.definition().is_ok()
                && server.tools().is_none()
                && (contains_word(source, name) || contains_word(source, &spell(name)))
        };
        let servers = self.upstreams.visible_servers(&viewer.scope);
        let unlisted = servers.into_iter().filter(named);
        let asked = unlisted.map(|server| async move {
            // Tools of an unreachable server stay unknown. A call reports why.
            let session = timeout(PROGRAM_LIST_TOOLS_TIMEOUT, server.session(&viewer.identity));
            matches!(session.await, Ok(Ok(_)))
        });
        join_all(asked).await.contains(&true)
    }

    fn checks(&self) -> MutexGuard<'_, CheckModes> {
        self.modes.lock()
    }
}

/// Returns true if the text contains the word and no other letter, digit, `_` or `$` touches it.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
    })
}

struct CompilerFindings {
    inspection: CheckFindings,
    /// Set if the compiler found syntax errors.
    syntax: bool,
}

impl CheckFindings {
    fn not_checked(reason: &impl ToString) -> Self {
        Self {
            unchecked: Some(reason.to_string()),
            ..Self::default()
        }
    }

    /// Turns errors into warnings in [`CheckMode::Warn`].
    fn downgrade_errors(&mut self, strictness: CheckMode) {
        if strictness == CheckMode::Warn {
            self.warnings.splice(..0, self.errors.drain(..));
        }
    }

    /// Adds the parser's findings. At a location with a finding of the compiler, the parser's warning is dropped.
    fn add_parser_findings(&mut self, parsed: mux_sandbox::ProgramFindings) {
        let is_reported = |fault: &Fault| {
            let mut known = self.errors.iter().chain(&self.warnings);
            known.any(|other| (other.line, other.column) == (fault.line, fault.column))
        };
        let mut warnings = parsed.warnings;
        warnings.retain(|warning| !is_reported(warning));
        self.warnings.extend(warnings);
        self.warnings
            .sort_by_key(|warning| (warning.line, warning.column));
        self.errors.splice(..0, parsed.errors);
    }

    /// The fault of a rejected run: the first error, with the others in its details.
    pub fn refusal(&self) -> Option<Fault> {
        diagnostic_report::refusal(&self.errors)
    }
}
