//! `mux install`: adds `mux mcp` to the agents' configuration, and removes it.
//!
//! Invariant: a failure with one agent's file does not affect the others.

mod ours;
mod plan;
mod undo;

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use mux_proto::{Error, Kind};

use self::plan::{Plan, Step};
use super::{Failure, Outcome, usage, variable};
use crate::{
    agents::{Agent, AgentFile, Document, DocumentError, Door, Places, System, unified},
    args, exit,
    render::{self, Edit, Known},
};

pub(super) fn install(args: &args::Install, json: bool) -> Outcome {
    let places = places()?;
    if args.list {
        return Ok(render::known(&list(&places), json));
    }
    let agents = match chosen(&args.agents, args.project, &places) {
        Ok(agents) => agents,
        Err(error) if error.kind == Kind::NotFound => return Err(error.into()),
        Err(error) => return usage(error.message, error.hint.unwrap_or_default(), json),
    };
    let mut edits = Vec::new();
    for agent in agents {
        let path = match args.project {
            true => project_file(agent)?,
            false => places.file(agent),
        };
        let door = ours::door(agent, args)?;
        let found = args.project || places.found(agent);
        edits.push(match edit(agent, &path, &door, args, &places) {
            Ok(edit) => Edit { found, ..edit },
            Err(error) => Edit::failed(agent, path, found, error),
        });
    }
    Ok(render::edits(&edits, &args.name, args.dry_run, json))
}

/// The locations of the agents' files, from this process's environment.
pub(super) fn places() -> Result<Places, Failure> {
    Places::new(System::current(), variable).ok_or_else(|| {
        exit::machinery("cannot find a home directory".into())
            .hint("set HOME")
            .into()
    })
}

/// The agents that were named, or all that are found on this machine.
fn chosen(named: &[Agent], project: bool, places: &Places) -> Result<Vec<Agent>, Error> {
    let mut agents = named.to_vec();
    agents.sort_unstable();
    agents.dedup();
    if project {
        if agents.is_empty() {
            agents.push(Agent::Claude);
        }
        return match agents.iter().find(|agent| in_project(**agent).is_none()) {
            Some(other) => Err(Error::new(
                Kind::Validation,
                format!("{} has no project file that mux knows", other.title()),
            )
            .hint("--project works with claude, cursor and vscode")),
            None => Ok(agents),
        };
    }
    if agents.is_empty() {
        agents.extend(Agent::ALL.into_iter().filter(|agent| places.found(*agent)));
    }
    if agents.is_empty() {
        let names = Agent::ALL.map(Agent::name).join(", ");
        return Err(Error::new(
            Kind::NotFound,
            "no agent that mux knows was found on this machine",
        )
        .hint(format!("name one: mux install {names}")));
    }
    Ok(agents)
}

/// An agent's file in a project, relative to the project's directory.
fn in_project(agent: Agent) -> Option<&'static str> {
    match agent {
        Agent::Claude => Some(".mcp.json"),
        Agent::Cursor => Some(".cursor/mcp.json"),
        Agent::Vscode => Some(".vscode/mcp.json"),
        _ => None,
    }
}

fn project_file(agent: Agent) -> Result<PathBuf, Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the project is where the user stands"
    )]
    let folder = std::env::current_dir();
    let folder = folder
        .map_err(|error| exit::machinery(format!("cannot get the current directory: {error}")))?;
    Ok(folder.join(in_project(agent).unwrap_or_default()))
}

/// Edits one agent's file, unless this is a dry run.
fn edit(
    agent: Agent,
    path: &Path,
    door: &Door,
    args: &args::Install,
    places: &Places,
) -> Result<Edit, Error> {
    let file = AgentFile::read(path).map_err(|error| machinery(&error))?;
    let plan = if args.undo {
        undo::plan(&file, path, agent, &args.name)
    } else {
        plan::plan(&file, agent, &args.name, door)
    };
    let Plan { status, step } = plan.map_err(|error| unusable(&error, agent, path, args, door))?;
    let old = String::from_utf8_lossy(file.bytes()).into_owned();
    let diff = match &step {
        Step::Nothing => String::new(),
        Step::Write(text) | Step::Restore { text, .. } => unified(&old, text, &places.short(path)),
        Step::Remove => unified(&old, "", &places.short(path)),
    };
    let mut backup = None;
    if !args.dry_run {
        backup = carry_out(&file, step)?;
    }
    Ok(Edit {
        agent,
        found: true,
        file: path.to_owned(),
        status,
        backup,
        diff,
        error: None,
    })
}

/// Carries out a step, and returns the backup of the file, if one was made.
fn carry_out(file: &AgentFile, step: Step) -> Result<Option<PathBuf>, Error> {
    let done = match step {
        Step::Nothing => Ok(None),
        Step::Write(text) => file.back_up(SystemTime::now()).and_then(|backup| {
            file.replace(text.as_bytes())?;
            Ok(backup)
        }),
        Step::Restore { text, backup } => file.replace(text.as_bytes()).map(|()| {
            // Its content is the file's now.
            drop(std::fs::remove_file(backup));
            None
        }),
        Step::Remove => file.remove().map(|()| None),
    };
    done.map_err(|error| machinery(&error))
}

fn list(places: &Places) -> Vec<Known> {
    Agent::ALL
        .into_iter()
        .map(|agent| {
            let file = places.file(agent);
            let names = AgentFile::read(&file)
                .map_err(|error| error.to_string())
                .and_then(|read| {
                    Document::parse(read.bytes(), agent.format()).map_err(|e| e.to_string())
                })
                .map(|document| plan::names_of_ours(&document, agent));
            Known {
                agent,
                found: places.found(agent),
                shown: places.short(&file),
                file,
                names,
            }
        })
        .collect()
}

fn machinery(error: &crate::agents::FileError) -> Error {
    exit::machinery(error.to_string())
}

/// The error for a file that was left alone, with the edit to make by hand.
fn unusable(
    error: &plan::PlanError,
    agent: Agent,
    path: &Path,
    args: &args::Install,
    door: &Door,
) -> Error {
    let shown = path.display();
    let mut told = Error::new(Kind::Validation, format!("{shown} was left alone: {error}"));
    let Some(document) = error.document() else {
        return told.hint("choose another name with --name");
    };
    if let DocumentError::Syntax { line, column, .. } = document {
        (told.line, told.column) = (Some(*line), Some(*column));
    }
    if args.undo {
        return told.hint(format!("remove the entry `{}` by hand", args.name));
    }
    let section = plan::usual_section(agent);
    let entry = door.by_hand(agent, section, &args.name);
    told.hint(format!(
        "fix the file and try again, or add this by hand:\n{entry}"
    ))
}
