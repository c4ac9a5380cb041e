//! `mux doctor`: checks the installation for common problems. One file per group of checks.
//!
//! Invariant: it starts no daemon and no server, and every warning and failure comes with a fix.

mod agents;
mod config_file;
mod connected_agents;
mod daemon;
mod directories;
mod machine;
mod network;
mod pending_approvals;
mod programs;
mod sandboxes;
mod servers;
mod service;
mod telemetry;
mod type_checker;
mod unpinned;
mod workers;

use std::{cmp::Reverse, path::Path};

use mux_client::within_seconds;
use mux_proto::{endpoint::Dirs, variables};

pub(super) use self::config_file::read_configured_processes;
pub(crate) use self::programs::update_advice;
use super::{CommandResult, env_path};
use crate::render::{self, CheckVerdict, DoctorCheck};

/// The checks of one group.
struct CheckGroup {
    name: &'static str,
    checks: Vec<DoctorCheck>,
}

impl CheckGroup {
    fn new(name: &'static str) -> Self {
        let checks = Vec::new();
        Self { name, checks }
    }

    fn ok(&mut self, message: impl Into<String>) {
        self.add(CheckVerdict::Ok, message.into(), None);
    }

    fn note(&mut self, message: impl Into<String>, fix: Option<&str>) {
        self.add(CheckVerdict::Note, message.into(), fix.map(str::to_owned));
    }

    fn warn(&mut self, message: impl Into<String>, fix: impl Into<String>) {
        self.add(CheckVerdict::Warning, message.into(), Some(fix.into()));
    }

    fn fail(&mut self, message: impl Into<String>, fix: impl Into<String>) {
        self.add(CheckVerdict::Failure, message.into(), Some(fix.into()));
    }

    fn add(&mut self, verdict: CheckVerdict, message: String, fix: Option<String>) {
        self.checks.push(DoctorCheck {
            group: self.name,
            verdict,
            message,
            fix,
            detail: None,
        });
    }

    fn failed(&self) -> bool {
        self.checks
            .iter()
            .any(|c| c.verdict == CheckVerdict::Failure)
    }
}

pub(super) async fn doctor(json: bool) -> CommandResult {
    Ok(render::doctor(&run_checks().await, json))
}

/// The results of all checks, the most severe first.
pub(crate) async fn run_checks() -> Vec<DoctorCheck> {
    let mut checks = run_groups().await;
    checks.sort_by_key(|check| Reverse(check.verdict));
    checks
}

async fn run_groups() -> Vec<DoctorCheck> {
    let home = env_path(variables::HOME);
    let dirs = match Dirs::resolve(home.as_deref()) {
        Ok(dirs) => dirs,
        Err(error) => {
            let mut group = CheckGroup::new(directories::PLACES_GROUP);
            group.fail(error.to_string(), "mux cannot work until this is fixed");
            return group.checks;
        }
    };
    let places = directories::check_directories(&dirs);
    let usable = !places.failed();
    let muxd = env_path(variables::DAEMON);
    let (programs, muxd) = programs::check_programs(muxd, env_path(variables::WORKER));
    let mut checks = [places.checks, programs.checks].concat();
    if !usable {
        return checks;
    }
    let (mut group, session) = daemon::check_daemon(&dirs).await;
    let mut asked = Vec::new();
    let mut known = None;
    if let Some(session) = session {
        match session.client.status(within_seconds(10)).await {
            Ok(Ok(status)) => {
                asked.extend(workers::check_workers(&status).checks);
                asked.extend(type_checker::check_type_checker(&status).checks);
                asked.extend(servers::check_servers(&status, &dirs).checks);
                asked.extend(telemetry::check_telemetry(&status).checks);
                asked.extend(
                    pending_approvals::check_pending_approvals(&session)
                        .await
                        .checks,
                );
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
    checks.extend(machine::check_machine(&dirs, known).checks);
    checks.extend(group.checks);
    checks.extend(service::check_service(&dirs, known).await.checks);
    let path = env_path("PATH");
    checks.extend(
        config_file::check_config_file(&dirs, known, path.as_deref().map(Path::as_os_str)).checks,
    );
    checks.extend(unpinned::check_package_versions(&dirs, env_path).checks);
    if let Some(muxd) = muxd {
        checks.extend(sandboxes::check_sandboxes(&muxd).await.checks);
    }
    checks.extend(asked);
    checks.extend(network::check_network(env_path).checks);
    checks.extend(agents::check_agents(&dirs).checks);
    let connected = known.map(connected_agents::check_connected_agents);
    checks.extend(connected.into_iter().flat_map(|group| group.checks));
    checks
}
