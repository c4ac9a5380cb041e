//! What is wrong with a program, found before it runs: its syntax in a worker, its types with the checker.
//!
//! Invariant: a program that cannot be checked runs all the same, and whoever asked is told why it was not.

mod report;

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

use mux_catalog::{Scope, Wording};
use mux_settings::{Checks, Strictness};
use mux_typecheck::{Checker, CheckerStatus, Diagnostic, Types, Unchecked};
use mux_upstream::{Server, Upstreams, Whose};

/// A server whose tools nobody knows yet, and which a program names, gets so long to list them.
const FIRST_LIST: Duration = Duration::from_secs(5);

/// What was found in a program.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Any of them keeps it from running.
    pub errors: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// Why its types were not looked at, unless nobody wanted them to be.
    pub unchecked: Option<String>,
}

pub struct Inspector {
    upstreams: Arc<Upstreams>,
    pool: Pool,
    checker: Arc<Checker>,
    terms: Mutex<Checks>,
}

impl Inspector {
    pub fn new(upstreams: Arc<Upstreams>, pool: Pool, checker: Arc<Checker>) -> Self {
        Self {
            upstreams,
            pool,
            checker,
            terms: Mutex::default(),
        }
    }

    pub fn set_terms(&self, terms: Checks) {
        self.checker.set_compiler(terms.compiler.clone());
        *self.terms() = terms;
    }

    pub fn status(&self) -> CheckerStatus {
        self.checker.status()
    }

    /// Ends the checker.
    pub async fn close(&self) {
        self.checker.close().await;
    }

    /// What a program of somebody who sees so much is checked against now.
    pub async fn types(&self, scope: &Scope) -> Types {
        let known = self.upstreams.known_seen(scope);
        let catalog = self.upstreams.catalog();
        catalog.types(&known, Wording::Checker).await
    }

    /// Has the checker ready before somebody needs it.
    pub async fn warm(&self) {
        if self.terms().any() {
            let types = self.types(&Scope::default()).await;
            self.checker.warm(&types).await;
        }
    }

    /// The types of a program that is about to run. Its syntax is the worker's to judge.
    pub async fn before_run(
        &self,
        source: &str,
        agent: Option<&str>,
        (scope, whose): (&Scope, &Whose),
        turn: &Turn,
    ) -> Inspection {
        let strictness = self.terms().of(agent);
        if strictness == Strictness::Off {
            return Inspection::default();
        }
        let mut found = self.checked(source, scope, whose).await;
        // The compiler and the engine are not of one mind about every program.
        if found.syntax {
            let limits = Limits::default();
            let parsed = self.pool.check(source.to_owned(), turn, &limits).await;
            if parsed.is_ok_and(|parsed| !parsed.errors.is_empty()) {
                return Inspection::default();
            }
        }
        found.inspection.soften(strictness);
        found.inspection
    }

    /// Everything that is wrong with a program.
    pub async fn all(
        &self,
        source: String,
        agent: Option<&str>,
        (scope, whose): (&Scope, &Whose),
        turn: &Turn,
        limits: &Limits,
    ) -> Result<Inspection, Fault> {
        let strictness = self.terms().of(agent);
        let parsed = self.pool.check(source.clone(), turn, limits).await?;
        let mut inspection = match strictness {
            // What does not parse has no types.
            _ if !parsed.errors.is_empty() => Inspection::default(),
            Strictness::Off => Inspection {
                unchecked: Some("check is off in the configuration".into()),
                ..Inspection::default()
            },
            _ => self.checked(&source, scope, whose).await.inspection,
        };
        inspection.soften(strictness);
        inspection.add(parsed);
        Ok(inspection)
    }

    async fn checked(&self, source: &str, scope: &Scope, whose: &Whose) -> Checked {
        let mut found = self.examine(source, scope).await;
        // Whoever has no checker needs no types.
        if found.is_ok() && self.learn_lists(source, scope, whose).await {
            found = self.examine(source, scope).await;
        }
        match found {
            Ok(diagnostics) => self.report(&diagnostics, scope),
            Err(unchecked) => {
                debug!(%unchecked, "a program runs unchecked");
                Checked {
                    inspection: Inspection {
                        unchecked: Some(unchecked.to_string()),
                        ..Inspection::default()
                    },
                    syntax: false,
                }
            }
        }
    }

    /// What the compiler says of a program, with the tools that are known.
    async fn examine(&self, source: &str, scope: &Scope) -> Result<Arc<[Diagnostic]>, Unchecked> {
        let began = Instant::now();
        let found = self.checker.check(&self.types(scope).await, source).await;
        self.upstreams.metrics().checked(began.elapsed());
        found
    }

    fn report(&self, diagnostics: &[Diagnostic], scope: &Scope) -> Checked {
        let mut inspection = Inspection::default();
        let tools = diagnostics.iter().filter(|found| !found.is_syntax());
        for diagnostic in tools {
            report::add(&mut inspection, diagnostic, &self.upstreams, scope);
        }
        Checked {
            syntax: diagnostics.iter().any(|found| found.is_syntax()),
            inspection,
        }
    }

    /// Servers that the program names, and whose tools nobody knows, are asked for them: the program would
    /// have to wait for them anyway. Whether any of them told.
    async fn learn_lists(&self, source: &str, scope: &Scope, whose: &Whose) -> bool {
        let named = |server: &Arc<Server>| {
            let name = server.name();
            server.definition().is_ok()
                && server.tools().is_none()
                && (source.contains(name) || source.contains(spell(name).as_ref()))
        };
        let unknown: Vec<_> = self
            .upstreams
            .all_seen(scope)
            .into_iter()
            .filter(named)
            .collect();
        let asked = unknown.iter().map(|server| async {
            // One that cannot be reached stays unknown, and a call says why.
            matches!(timeout(FIRST_LIST, server.session(whose)).await, Ok(Ok(_)))
        });
        join_all(asked).await.contains(&true)
    }

    fn terms(&self) -> MutexGuard<'_, Checks> {
        self.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Checked {
    inspection: Inspection,
    /// The compiler could not parse all of it.
    syntax: bool,
}

impl Inspection {
    /// Where errors only warn, nothing keeps a program from running.
    fn soften(&mut self, strictness: Strictness) {
        if strictness == Strictness::Warn {
            self.warnings.splice(..0, self.errors.drain(..));
        }
    }

    /// What the parser found, beside the types. Of one place the compiler knows more.
    fn add(&mut self, parsed: mux_sandbox::Checked) {
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
        report::refusal(&self.errors)
    }
}
