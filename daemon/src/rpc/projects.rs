//! Projects and their approval, for the command line.
//!
//! Invariant: an approval names, by digest, the files that the user saw. Nothing is approved because of its location.

use std::{path::Path, sync::Arc};

use mux_proto::{self as wire, Kind};
use tracing::warn;

use super::{answer_budget::AnswerBudget, connection::ConnectionState};
use crate::daemon::Daemon;
use mux_audit::AdminEvent;
use mux_config::PolicyEntry;
use mux_settings::projects::{DefinedServer, Project};

pub(super) async fn list(
    daemon: &Arc<Daemon>,
    request: wire::ProjectsRequest,
) -> wire::Result<wire::ProjectList> {
    let projects = match request.dir {
        Some(dir) => daemon.project(&dir).await.into_iter().collect(),
        None => daemon.all_projects().await,
    };
    let projects = projects.iter().map(project_info).collect();
    Ok(AnswerBudget::new().take(wire::ProjectList { projects })?)
}

pub(super) async fn approve(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    request: wire::ApproveProjectRequest,
) -> wire::Result<wire::ProjectInfo> {
    let refused = |problem: String| {
        let message = format!("{} is not approved: {problem}", request.root.display());
        wire::Error::new(Kind::Validation, message).hint("see `mux project show`")
    };
    let approved = daemon.approve(&request.root, request.digest.clone()).await;
    approved.map_err(refused)?;
    let subject = request.root.display().to_string();
    connection.audit(AdminEvent::ProjectApproved, &subject);
    apply_to_predecessor(daemon).await;
    let project = daemon.project(&request.root).await;
    let project = project.ok_or_else(|| refused("it is gone".into()))?;
    Ok(project_info(&project))
}

pub(super) async fn revoke(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    root: &Path,
) -> wire::Result<wire::ProjectRevoked> {
    let revoked = daemon.revoke(root).await;
    let was_approved = revoked.map_err(|problem| wire::Error::new(Kind::Internal, problem))?;
    if was_approved {
        connection.audit(AdminEvent::ProjectRevoked, &root.display().to_string());
        apply_to_predecessor(daemon).await;
    }
    Ok(wire::ProjectRevoked { was_approved })
}

/// Applies the change to the runs that continue in the predecessor, too.
pub(super) async fn apply_to_predecessor(daemon: &Daemon) {
    for problem in daemon.predecessor.reload().await {
        warn!(problem, "problem of the predecessor");
    }
}

fn project_info(project: &Project) -> wire::ProjectInfo {
    let gone = project.files.files.is_empty();
    let servers = project.content.servers.iter();
    wire::ProjectInfo {
        root: project.root.to_path_buf(),
        state: if gone {
            wire::ProjectState::Gone
        } else {
            project.state
        },
        digest: project.files.digest().filter(|_| !gone),
        files: project_files(project),
        servers: servers
            .map(|(name, defined)| project_server(name, defined))
            .collect(),
        denied: rule_matches(&project.content.denied),
        still_denied: rule_matches(&project.still_denied),
        problems: project.content.problems.clone(),
    }
}

fn rule_matches(rules: &[PolicyEntry]) -> Vec<String> {
    rules.iter().flat_map(PolicyEntry::path_globs).collect()
}

/// The project's present files, and its files when it was approved.
fn project_files(project: &Project) -> Vec<wire::ProjectFile> {
    let before: &[(String, String)] = match &project.approved {
        Some(approval) => &approval.files,
        None => &[],
    };
    let now = project.files.files.iter();
    let mut files: Vec<_> = now
        .map(|(name, text)| wire::ProjectFile {
            name: (*name).to_owned(),
            text: text.as_ref().ok().cloned(),
            approved: None,
        })
        .collect();
    for (name, text) in before {
        match files.iter_mut().find(|file| file.name == *name) {
            Some(file) => file.approved = Some(text.clone()),
            None => files.push(wire::ProjectFile {
                name: name.clone(),
                text: None,
                approved: Some(text.clone()),
            }),
        }
    }
    files
}

fn project_server(name: &str, defined: &DefinedServer) -> wire::ProjectServer {
    let mut server = wire::ProjectServer {
        name: name.to_owned(),
        file: defined.file.to_owned(),
        ..wire::ProjectServer::default()
    };
    match &defined.entry {
        Ok(entry) => {
            server.command = mux_settings::full_command_line(entry);
            server.env = entry.env.keys().cloned().collect();
            server.headers = entry.headers.keys().cloned().collect();
            server.commands = entry.commands().into_iter().collect();
        }
        Err(problem) => server.problem = Some(problem.clone()),
    }
    server
}
