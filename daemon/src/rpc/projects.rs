//! Projects and their approval, for the command line.
//!
//! Invariant: an approval names what the user saw. Nothing is approved because of where it is.

use std::{path::Path, sync::Arc};

use mux_proto::{self as wire, Kind};
use tracing::warn;

use super::{budget::Budget, door::Door};
use crate::state::Daemon;
use mux_audit::Deed;
use mux_config::PolicyEntry;
use mux_settings::projects::{Defined, Project, Standing};

pub(super) async fn list(
    daemon: &Arc<Daemon>,
    request: wire::ProjectsRequest,
) -> Result<wire::ProjectList, wire::Error> {
    let projects = match request.dir {
        Some(dir) => daemon.project(&dir).await.into_iter().collect(),
        None => daemon.all_projects().await,
    };
    let list = wire::ProjectList {
        projects: projects.iter().map(info).collect(),
    };
    Budget::new().take(&list).map_err(super::convert::error)?;
    Ok(list)
}

pub(super) async fn approve(
    daemon: &Arc<Daemon>,
    door: &Door,
    request: wire::ApproveProjectRequest,
) -> Result<wire::ProjectInfo, wire::Error> {
    let refused = |problem: String| {
        let message = format!("{} is not approved: {problem}", request.root.display());
        wire::Error::new(Kind::Validation, message).hint("see `mux project show`")
    };
    let approved = daemon.approve(&request.root, request.digest.clone()).await;
    approved.map_err(refused)?;
    note(daemon, door, Deed::ProjectApproved, &request.root);
    follow(daemon).await;
    let project = daemon.project(&request.root).await;
    let project = project.ok_or_else(|| refused("it is gone".into()))?;
    Ok(info(&project))
}

pub(super) async fn revoke(
    daemon: &Arc<Daemon>,
    door: &Door,
    root: &Path,
) -> Result<wire::ProjectRevoked, wire::Error> {
    let revoked = daemon.revoke(root).await;
    let was_approved = revoked.map_err(|problem| wire::Error::new(Kind::Internal, problem))?;
    if was_approved {
        note(daemon, door, Deed::ProjectRevoked, root);
        follow(daemon).await;
    }
    Ok(wire::ProjectRevoked { was_approved })
}

/// It holds for the runs that go on in the daemon before this one, too.
async fn follow(daemon: &Daemon) {
    for problem in daemon.former.reload().await {
        warn!(problem, "the last muxd");
    }
}

fn note(daemon: &Daemon, door: &Door, deed: Deed, root: &Path) {
    let subject = root.display().to_string();
    daemon.gateway.audit().note(deed, &subject, &door.origin());
}

fn info(project: &Project) -> wire::ProjectInfo {
    let gone = project.files.files.is_empty();
    let servers = project.content.servers.iter();
    wire::ProjectInfo {
        root: project.root.to_path_buf(),
        state: match project.standing {
            _ if gone => wire::ProjectState::Gone,
            Standing::New => wire::ProjectState::New,
            Standing::Changed => wire::ProjectState::Changed,
            Standing::Approved => wire::ProjectState::Approved,
        },
        digest: project.files.digest().filter(|_| !gone),
        files: files(project),
        servers: servers
            .map(|(name, defined)| server(name, defined))
            .collect(),
        denied: matches(&project.content.denied),
        still_denied: matches(&project.still_denied),
        problems: project.content.problems.clone(),
    }
}

fn matches(rules: &[PolicyEntry]) -> Vec<String> {
    rules.iter().flat_map(PolicyEntry::matches).collect()
}

/// Those that are there, and those that were when it was approved.
fn files(project: &Project) -> Vec<wire::ProjectFile> {
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

fn server(name: &str, defined: &Defined) -> wire::ProjectServer {
    let mut server = wire::ProjectServer {
        name: name.to_owned(),
        file: defined.file.to_owned(),
        command: String::new(),
        env: Vec::new(),
        headers: Vec::new(),
        commands: Vec::new(),
        problem: None,
    };
    match &defined.entry {
        Ok(entry) => {
            server.command = mux_settings::whole(entry);
            server.env = entry.env.keys().cloned().collect();
            server.headers = entry.headers.keys().cloned().collect();
            server.commands = entry.commands().into_iter().collect();
        }
        Err(problem) => server.problem = Some(problem.clone()),
    }
    server
}
