//! `mux doctor`: checks the installation for common mistakes. One file per group of checks.
//!
//! Invariant: it starts nothing, and every warning and failure comes with a fix.

mod agents;
mod checker;
mod daemon;
mod machine;
mod network;
mod places;
mod programs;
mod servers;
mod service;
mod telemetry;
mod waiting;
mod workers;
mod written;

use std::path::Path;

use mux_client::within_seconds;
use mux_proto::{endpoint::Dirs, variables};

use super::{Outcome, variable};
use crate::render::{self, Check, Verdict};

/// The checks of one group.
struct Group {
    name: &'static str,
    checks: Vec<Check>,
}

impl Group {
    fn new(name: &'static str) -> Self {
        let checks = Vec::new();
        Self { name, checks }
    }

    fn ok(&mut self, message: impl Into<String>) {
        self.add(Verdict::Ok, message.into(), None);
    }

    fn note(&mut self, message: impl Into<String>, fix: Option<&str>) {
        self.add(Verdict::Note, message.into(), fix.map(str::to_owned));
    }

    fn warn(&mut self, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Verdict::Warning, message.into(), Some(fix.into()));
    }

    fn fail(&mut self, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Verdict::Failure, message.into(), Some(fix.into()));
    }

    fn add(&mut self, verdict: Verdict, message: String, fix: Option<String>) {
        self.checks.push(Check {
            group: self.name,
            verdict,
            message,
            fix,
        });
    }

    fn failed(&self) -> bool {
        self.checks.iter().any(|c| c.verdict == Verdict::Failure)
    }
}

pub(super) async fn doctor(json: bool) -> Outcome {
    Ok(render::doctor(&all().await, json))
}

async fn all() -> Vec<Check> {
    let home = variable(variables::HOME);
    let dirs = match Dirs::resolve(home.as_deref()) {
        Ok(dirs) => dirs,
        Err(error) => {
            let mut group = Group::new(places::NAME);
            group.fail(error.to_string(), "mux cannot work until this is fixed");
            return group.checks;
        }
    };
    let places = places::look(&dirs);
    let usable = !places.failed();
    let muxd = variable(variables::DAEMON);
    let programs = programs::look(muxd, variable(variables::WORKER));
    let mut checks = [places.checks, programs.checks].concat();
    if !usable {
        return checks;
    }
    let (mut group, session) = daemon::look(&dirs).await;
    let mut asked = Vec::new();
    let mut known = None;
    if let Some(session) = session {
        match session.client.status(within_seconds(10)).await {
            Ok(Ok(status)) => {
                asked.extend(workers::look(&status).checks);
                asked.extend(checker::look(&status).checks);
                asked.extend(servers::look(&status).checks);
                asked.extend(telemetry::look(&status).checks);
                asked.extend(waiting::look(&session).await.checks);
                known = Some(status);
            }
            Ok(Err(error)) => group.fail(error.message, "`mux logs` shows more"),
            Err(error) => group.fail(
                format!("it does not report its status: {error}"),
                "`mux logs` shows more, `mux restart` starts another",
            ),
        }
    }
    let known = known.as_ref();
    checks.extend(machine::look(&dirs, known).checks);
    checks.extend(group.checks);
    checks.extend(service::look(&dirs, known).await.checks);
    let path = variable("PATH");
    checks.extend(written::look(&dirs, known, path.as_deref().map(Path::as_os_str)).checks);
    checks.extend(asked);
    checks.extend(network::look(variable).checks);
    checks.extend(agents::look(&dirs).checks);
    checks
}
