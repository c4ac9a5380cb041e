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

/// The groups in the order in which their checks are shown.
#[derive(Default)]
struct CheckGroups(Vec<CheckGroup>);

impl CheckGroups {
    fn add(&mut self, name: &'static str) -> &mut CheckGroup {
        let index = self.0.len();
        self.0.push(CheckGroup::new(name));
        &mut self.0[index]
    }

    fn into_checks(self) -> Vec<DoctorCheck> {
        self.0.into_iter().flat_map(|group| group.checks).collect()
    }
}

pub(super) async fn doctor(json: bool) -> CommandResult {
    Ok(render::doctor(&run_checks().await, json))
}

/// The results of all checks, the most severe first.
pub(super) async fn run_checks() -> Vec<DoctorCheck> {
    let mut checks = run_groups().await;
    checks.sort_by_key(|check| Reverse(check.verdict));
    checks
}

async fn run_groups() -> Vec<DoctorCheck> {
    let mut groups = CheckGroups::default();
    let home = env_path(variables::HOME);
    let places = groups.add("places");
    let dirs = match Dirs::resolve(home.as_deref()) {
        Ok(dirs) => dirs,
        Err(error) => {
            places.fail(error.to_string(), "mux cannot work until this is fixed");
            return groups.into_checks();
        }
    };
    directories::check_directories(places, &dirs);
    let usable = !places.failed();
    let muxd = env_path(variables::DAEMON);
    let worker = env_path(variables::WORKER);
    let muxd = programs::check_programs(groups.add("programs"), muxd, worker);
    if !usable {
        return groups.into_checks();
    }
    let mut daemon = CheckGroup::new("daemon");
    let session = daemon::check_daemon(&mut daemon, &dirs).await;
    let status = match &session {
        Some(session) => daemon::check_status(&mut daemon, session).await,
        None => None,
    };
    let known = status.as_ref();
    machine::check_machine(groups.add("machine"), &dirs, known);
    groups.0.push(daemon);
    service::check_service(groups.add("service"), &dirs, known).await;
    let path = env_path("PATH");
    let path = path.as_deref().map(Path::as_os_str);
    config_file::check_config_file(groups.add("configuration"), &dirs, known, path);
    unpinned::check_package_versions(groups.add("configuration"), &dirs, env_path);
    if let Some(muxd) = muxd {
        sandboxes::check_sandboxes(groups.add("sandboxes"), &muxd).await;
    }
    if let (Some(session), Some(status)) = (&session, known) {
        workers::check_workers(groups.add("workers"), status);
        type_checker::check_type_checker(groups.add("types"), status);
        servers::check_servers(groups.add("servers"), status, &dirs);
        telemetry::check_telemetry(groups.add("telemetry"), status);
        pending_approvals::check_pending_approvals(groups.add("approvals"), session).await;
    }
    network::check_network(groups.add("network"), env_path);
    agents::check_agents(groups.add("agents"), &dirs);
    if let Some(status) = known {
        connected_agents::check_connected_agents(groups.add("connected agents"), status);
    }
    groups.into_checks()
}

#[cfg(test)]
impl CheckGroup {
    fn filled(check: impl FnOnce(&mut Self)) -> Self {
        let mut group = Self::new("");
        check(&mut group);
        group
    }
}
