//! What is wrong with a program, found before it runs: its syntax in a worker, its types with the checker.
//!
//! Invariant: a program that cannot be checked runs all the same, and whoever asked is told why it was not.

mod diagnostic_report;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::future::join_all;
use mux_sandbox::{Limits, Pool, Turn};
use mux_typegen::names::spell;
use mux_wire::Fault;
use tokio::time::timeout;
use tracing::debug;

use mux_catalog::{Scope, TypeTextAudience};
use mux_settings::{CheckMode, CheckModes};
use mux_typecheck::{CheckFailure, Checker, CheckerStatus, Diagnostic, TypeDeclarations};
use mux_upstream::{CallerIdentity, Server, Upstreams};

/// A server whose tools nobody knows yet, and which a program names, gets so long to list them.
const PROGRAM_LIST_TOOLS_TIMEOUT: Duration = Duration::from_secs(5);

/// What was found in a program.
#[derive(Clone, Debug, Default)]
pub struct CheckFindings {
    /// Any of them keeps it from running.
    pub errors: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// Why its types were not looked at, unless nobody wanted them to be.
    pub unchecked: Option<String>,
}

pub struct ProgramChecker {
    upstreams: Arc<Upstreams>,
    pool: Pool,
    checker: Arc<Checker>,
    terms: Mutex<CheckModes>,
}

impl ProgramChecker {
    pub fn new(upstreams: Arc<Upstreams>, pool: Pool, checker: Arc<Checker>) -> Self {
        Self {
            upstreams,
            pool,
            checker,
            terms: Mutex::default(),
        }
    }

    pub fn set_checks(&self, terms: CheckModes) {
        self.checker.set_compiler(terms.compiler.clone());
        *self.checks() = terms;
    }

    pub fn status(&self) -> CheckerStatus {
        self.checker.status()
    }

    /// Ends the checker.
    pub async fn close(&self) {
        self.checker.close().await;
    }

    /// What a program of somebody who sees so much is checked against now.
    pub async fn types(&self, scope: &Scope) -> TypeDeclarations {
        let known = self.upstreams.known_visible(scope);
        let catalog = self.upstreams.catalog();
        catalog
            .declare_types(&known, TypeTextAudience::Checker)
            .await
    }

    /// Has the checker ready before somebody needs it.
    pub async fn warm_checker(&self) {
        if self.checks().any() {
            let types = self.types(&Scope::default()).await;
            self.checker.preload_types(&types).await;
        }
    }

    /// The types of a program that is about to run. Its syntax is the worker's to judge.
    pub async fn check_before_run(
        &self,
        source: &str,
        agent: Option<&str>,
        (scope, whose): (&Scope, &CallerIdentity),
        turn: &Turn,
    ) -> CheckFindings {
        let strictness = self.checks().of(agent);
        if strictness == CheckMode::Off {
            return CheckFindings::default();
        }
        let mut found = self.check_types(source, scope, whose).await;
        // The compiler and the engine are not of one mind about every program.
        if found.syntax {
            let limits = Limits::default();
            let parsed = self.pool.check(source.to_owned(), turn, &limits).await;
            if parsed.is_ok_and(|parsed| !parsed.errors.is_empty()) {
                return CheckFindings::default();
            }
        }
        found.inspection.downgrade_errors(strictness);
        found.inspection
    }

    /// Everything that is wrong with a program.
    pub async fn check_program(
        &self,
        source: String,
        agent: Option<&str>,
        (scope, whose): (&Scope, &CallerIdentity),
        turn: &Turn,
        limits: &Limits,
    ) -> Result<CheckFindings, Fault> {
        let strictness = self.checks().of(agent);
        let parsed = self.pool.check(source.clone(), turn, limits).await?;
        let mut inspection = match strictness {
            // What does not parse has no types.
            _ if !parsed.errors.is_empty() => CheckFindings::default(),
            CheckMode::Off => CheckFindings {
                unchecked: Some("check is off in the configuration".into()),
                ..CheckFindings::default()
            },
            _ => self.check_types(&source, scope, whose).await.inspection,
        };
        inspection.downgrade_errors(strictness);
        inspection.add_parser_findings(parsed);
        Ok(inspection)
    }

    async fn check_types(
        &self,
        source: &str,
        scope: &Scope,
        whose: &CallerIdentity,
    ) -> CompilerFindings {
        let mut found = self.run_compiler(source, scope).await;
        // Whoever has no checker needs no types.
        if found.is_ok() && self.list_unlisted_servers(source, scope, whose).await {
            found = self.run_compiler(source, scope).await;
        }
        match found {
            Ok(diagnostics) => self.report_diagnostics(&diagnostics, scope),
            Err(unchecked) => {
                debug!(%unchecked, "a program runs unchecked");
                CompilerFindings {
                    inspection: CheckFindings {
                        unchecked: Some(unchecked.to_string()),
                        ..CheckFindings::default()
                    },
                    syntax: false,
                }
            }
        }
    }

    /// What the compiler says of a program, with the tools that are known.
    async fn run_compiler(
        &self,
        source: &str,
        scope: &Scope,
    ) -> Result<Arc<[Diagnostic]>, CheckFailure> {
        let began = Instant::now();
        let found = self.checker.check(&self.types(scope).await, source).await;
        self.upstreams.metrics().count_check(began.elapsed());
        found
    }

    fn report_diagnostics(&self, diagnostics: &[Diagnostic], scope: &Scope) -> CompilerFindings {
        let mut inspection = CheckFindings::default();
        let tools = diagnostics.iter().filter(|found| !found.is_syntax());
        for diagnostic in tools {
            diagnostic_report::add(&mut inspection, diagnostic, &self.upstreams, scope);
        }
        CompilerFindings {
            syntax: diagnostics.iter().any(|found| found.is_syntax()),
            inspection,
        }
    }

    /// Servers that the program names, and whose tools nobody knows, are asked for them: the program would
    /// have to wait for them anyway. Whether any of them told.
    async fn list_unlisted_servers(
        &self,
        source: &str,
        scope: &Scope,
        whose: &CallerIdentity,
    ) -> bool {
        let named = |server: &Arc<Server>| {
            let name = server.name();
            server.definition().is_ok()
                && server.tools().is_none()
                && (source.contains(name) || source.contains(spell(name).as_ref()))
        };
        let unknown: Vec<_> = self
            .upstreams
            .visible_servers(scope)
            .into_iter()
            .filter(named)
            .collect();
        let asked = unknown.iter().map(|server| async {
            // One that cannot be reached stays unknown, and a call says why.
            matches!(
                timeout(PROGRAM_LIST_TOOLS_TIMEOUT, server.session(whose)).await,
                Ok(Ok(_))
            )
        });
        join_all(asked).await.contains(&true)
    }

    fn checks(&self) -> MutexGuard<'_, CheckModes> {
        self.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct CompilerFindings {
    inspection: CheckFindings,
    /// The compiler could not parse all of it.
    syntax: bool,
}

impl CheckFindings {
    /// Where errors only warn, nothing keeps a program from running.
    fn downgrade_errors(&mut self, strictness: CheckMode) {
        if strictness == CheckMode::Warn {
            self.warnings.splice(..0, self.errors.drain(..));
        }
    }

    /// What the parser found, beside the types. Of one place the compiler knows more.
    fn add_parser_findings(&mut self, parsed: mux_sandbox::Checked) {
        let told = |fault: &Fault| {
            let mut known = self.errors.iter().chain(&self.warnings);
            known.any(|other| (other.line, other.column) == (fault.line, fault.column))
        };
        let mut warnings = parsed.warnings;
        warnings.retain(|warning| !told(warning));
        self.warnings.extend(warnings);
        self.warnings
            .sort_by_key(|warning| (warning.line, warning.column));
        self.errors.splice(..0, parsed.errors);
    }

    /// What a run that is refused ends with: the first error, with all of them in its details.
    pub fn refusal(&self) -> Option<Fault> {
        diagnostic_report::refusal(&self.errors)
    }
}
