//! The command with which an agent starts this `mux`.

use std::{
    env,
    path::{Path, PathBuf},
};

use mux_proto::variables;

use super::super::{CommandFailure, env_path};
use crate::{
    agents::{Agent, MuxEntry},
    args, exit,
};

pub(super) fn launch_entry(
    agent: Agent,
    args: &args::InstallArgs,
) -> Result<MuxEntry, CommandFailure> {
    let mut words = vec!["mcp".to_owned()];
    if let Some(name) = &args.agent_name {
        words.extend(["--agent".to_owned(), name.clone()]);
    }
    // A project's file is shared by all who work on the project.
    let home = env_path(variables::HOME).filter(|_| !args.project);
    Ok(MuxEntry {
        command: launch_command(agent, args.command.as_deref())?,
        args: words,
        env: home
            .map(|home| (variables::HOME.to_owned(), home.display().to_string()))
            .into_iter()
            .collect(),
    })
}

fn launch_command(agent: Agent, asked: Option<&Path>) -> Result<String, CommandFailure> {
    let failed = |error: std::io::Error| {
        CommandFailure::from(
            exit::unavailable_error(format!("cannot determine the path of mux: {error}"))
                .hint("pass it with --command"),
        )
    };
    if let Some(asked) = asked {
        // The agent looks up a single word in its PATH.
        if asked.components().count() == 1 {
            return Ok(asked.display().to_string());
        }
        let whole = std::path::absolute(asked).map_err(failed)?;
        return Ok(whole.display().to_string());
    }
    let this = env::current_exe().map_err(failed)?;
    Ok(match find_on_path(&this) {
        Some(_) if !agent.spec().needs_absolute_command => "mux".into(),
        // The path in the user's PATH, because the target of a link may have a version in its name.
        Some(found) => found.display().to_string(),
        None => this.display().to_string(),
    })
}

/// `mux` of the user's PATH, if it is this one.
fn find_on_path(this: &Path) -> Option<PathBuf> {
    let path = env_path("PATH")?;
    let name = format!("mux{}", env::consts::EXE_SUFFIX);
    let first = env::split_paths(&path)
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())?;
    let same = first.canonicalize().ok()? == this.canonicalize().ok()?;
    same.then_some(first)
}
