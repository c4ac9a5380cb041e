//! `mux project`: servers that a project's own files define, shown and approved.
//!
//! Invariant: an approval names the digest of the content that was shown.

use std::path::PathBuf;

use mux_client::within_seconds;
use mux_proto::{ApproveProjectRequest, Error, Kind, ProjectInfo, ProjectsRequest};

use super::{
    CommandFailure, CommandResult, ask,
    confirm::{DefaultAnswer, can_ask, confirm},
    current_dir,
};
use crate::{
    args::{self, ProjectCommand},
    render,
};

/// Minimum digits of `--hash`. Files that match fewer could be crafted.
const MIN_HASH_DIGITS: usize = 32;

pub(super) async fn project(args: args::ProjectArgs, json: bool) -> CommandResult {
    match args.command {
        None | Some(ProjectCommand::List) => {
            let all = list_projects(ProjectsRequest::default()).await?;
            Ok(render::show(&all[..], json, render::projects))
        }
        Some(ProjectCommand::Show { dir }) => Ok(render::show(
            &find_project(dir).await?,
            json,
            render::project,
        )),
        Some(ProjectCommand::Approve { dir, hash }) => approve_project(dir, hash, json).await,
        Some(ProjectCommand::Revoke { dir }) => revoke_project(dir, json).await,
    }
}

async fn approve_project(dir: Option<PathBuf>, hash: Option<String>, json: bool) -> CommandResult {
    let project = find_project(dir).await?;
    let root = project.root.display();
    let Some(digest) = project.digest.clone() else {
        let message = format!("{root} cannot be approved: one of its files cannot be read");
        return Err(Error::new(Kind::Validation, message).into());
    };
    match hash {
        Some(hash) if hash.len() < MIN_HASH_DIGITS => {
            let message = format!("--hash needs at least {MIN_HASH_DIGITS} digits");
            return Err(Error::new(Kind::Validation, message).into());
        }
        Some(hash) if !digest.starts_with(&hash.to_ascii_lowercase()) => {
            let message = format!("the files in {root} do not match this digest");
            return Err(Error::new(Kind::Validation, message)
                .hint("see `mux project show`")
                .into());
        }
        Some(_) => {}
        None if json || !can_ask() => {
            let message = "cannot ask for confirmation here";
            return Err(Error::new(Kind::Validation, message)
                .hint("run `mux project show`, then pass the digest it shows: --hash DIGEST")
                .into());
        }
        None => {
            render::project(&project);
            let question = format!("approve what is in {root}?");
            if !confirm(&question, DefaultAnswer::No) {
                let message = "nothing was approved";
                return Err(Error::new(Kind::Cancelled, message).into());
            }
        }
    }
    let request = ApproveProjectRequest {
        root: project.root.clone(),
        digest,
    };
    let approved = ask(async |client| {
        let within = within_seconds(60);
        client.approve_project(within, request.clone()).await
    });
    Ok(render::show(&approved.await?, json, render::approved))
}

async fn revoke_project(dir: Option<PathBuf>, json: bool) -> CommandResult {
    let dir = absolute_project_dir(dir)?;
    let found = ProjectsRequest {
        dir: Some(dir.clone()),
    };
    // A project whose files were deleted may still be approved.
    let root = match list_projects(found).await?.into_iter().next() {
        Some(project) => project.root,
        None => std::fs::canonicalize(&dir).unwrap_or(dir),
    };
    let revoked = ask(async |client| {
        let within = within_seconds(60);
        client.revoke_project(within, root.clone()).await
    });
    let revoked = revoked.await?;
    Ok(render::show(&revoked, json, |revoked| {
        render::revoked(&root, revoked);
    }))
}

/// The project of a directory.
async fn find_project(dir: Option<PathBuf>) -> Result<ProjectInfo, CommandFailure> {
    let dir = absolute_project_dir(dir)?;
    let request = ProjectsRequest {
        dir: Some(dir.clone()),
    };
    list_projects(request).await?.into_iter().next().ok_or_else(|| {
        let message = format!(
            "there is no .mux.toml and no .mcp.json in {}",
            dir.display()
        );
        Error::new(Kind::NotFound, message)
            .hint(
                "mux also searches parent directories, up to the root of the git repository or your home directory",
            )
            .into()
    })
}

async fn list_projects(request: ProjectsRequest) -> Result<Vec<ProjectInfo>, CommandFailure> {
    let list = ask(async |client| client.projects(within_seconds(30), request.clone()).await);
    Ok(list.await?.projects)
}

fn absolute_project_dir(dir: Option<PathBuf>) -> Result<PathBuf, CommandFailure> {
    Ok(current_dir()?.join(dir.unwrap_or_default()))
}
