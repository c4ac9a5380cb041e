//! `mux install`: adds `mux mcp` to the agents' configuration, and removes it.
//!
//! Invariant: a failure with one agent's file does not affect the others.

mod install_plan;
mod mux_launch;
mod uninstall_plan;

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use mux_paths::resolved_path::leads_out_of;
use mux_proto::{Error, Kind};

use self::install_plan::{FileStep, InstallPlan, InstallPlanError};
use super::{
    CommandFailure, CommandResult, UsageMistake, current_dir, env_path,
    repeated_edit::repeat_blocking_edit, resolve_dirs,
};
use crate::{
    agents::{Agent, AgentFile, AgentPaths, EditLock, MuxEntry, OperatingSystem, masked_diff},
    args, exit,
    render::{self, InstallEdit, KnownAgent},
};

pub(super) fn install(args: &args::InstallArgs, json: bool) -> CommandResult {
    let places = agent_places()?;
    if args.list {
        return Ok(render::known(&list_agents(&places), json));
    }
    let agents = select_agents(&args.agents, args.project, &places)?;
    let edits = edit_agents(&agents, args, &places)?;
    Ok(render::edits(&edits, &args.name, args.dry_run, json))
}

/// Edits the file of each agent.
pub(super) fn edit_agents(
    agents: &[Agent],
    args: &args::InstallArgs,
    places: &AgentPaths,
) -> Result<Vec<InstallEdit>, CommandFailure> {
    let mut edits = Vec::new();
    for agent in agents.iter().copied() {
        let path = match agent.spec().project_file {
            Some(file) if args.project => current_dir()?.join(file),
            _ => places.agent_config_file(agent),
        };
        let mux_entry = mux_launch::launch_entry(agent, args)?;
        let found = args.project || places.seems_installed(agent);
        let edited = repeat_blocking_edit(|| {
            if args.project {
                refuse_link_out_of_project(&path)?;
            }
            edit_agent_file(agent, &path, &mux_entry, args, places)
        });
        edits.push(match edited {
            Ok(edit) => InstallEdit { found, ..edit },
            Err(failure) => InstallEdit::failed(agent, path, found, failure.error),
        });
    }
    Ok(edits)
}

/// The locations of the agents' files, from this process's environment.
pub(super) fn agent_places() -> Result<AgentPaths, CommandFailure> {
    AgentPaths::new(OperatingSystem::current(), env_path).ok_or_else(|| {
        exit::unavailable_error("cannot find a home directory".into())
            .hint("set HOME")
            .into()
    })
}

/// The agents that were named, or all that are found on this machine.
fn select_agents(
    named: &[Agent],
    project: bool,
    places: &AgentPaths,
) -> Result<Vec<Agent>, CommandFailure> {
    let mut agents = Agent::distinct(named);
    if project {
        if agents.is_empty() {
            agents.push(Agent::Claude);
        }
        return match agents
            .iter()
            .find(|agent| agent.spec().project_file.is_none())
        {
            Some(other) => {
                let message = format!(
                    "{} has no project file that mux supports",
                    other.display_name()
                );
                let with_project = Agent::all().filter(|agent| agent.spec().project_file.is_some());
                let names: Vec<&str> = with_project.map(Agent::name).collect();
                let hint = format!("--project works with {}", names.join(", "));
                Err(UsageMistake::new(message, hint).into())
            }
            None => Ok(agents),
        };
    }
    if agents.is_empty() {
        agents.extend(Agent::all().filter(|agent| places.seems_installed(*agent)));
    }
    if agents.is_empty() {
        return Err(Error::new(
            Kind::NotFound,
            "no supported agent was found on this machine",
        )
        .hint(format!("name one: mux install {}", Agent::names()))
        .into());
    }
    Ok(agents)
}

/// Refuses a project's file that a link, which the repository may have brought, leads out of the project: the user's own
/// file would be edited, and its backup with the user's tokens would be left in the repository.
fn refuse_link_out_of_project(file: &Path) -> Result<(), Error> {
    let shown = file.display();
    let refused = |leads: String| {
        Err(Error::new(Kind::Validation, format!("{shown} {leads}"))
            .hint("remove the link, or run `mux install` without --project to edit your own file"))
    };
    match leads_out_of(&current_dir()?, file) {
        Ok(None) => Ok(()),
        Ok(Some(target)) => refused(format!(
            "leads to {}, which is outside this project",
            target.display()
        )),
        Err(error) => refused(format!("cannot be resolved: {error}")),
    }
}

/// Edits one agent's file, unless this is a dry run.
fn edit_agent_file(
    agent: Agent,
    path: &Path,
    mux_entry: &MuxEntry,
    args: &args::InstallArgs,
    places: &AgentPaths,
) -> Result<InstallEdit, CommandFailure> {
    let file = AgentFile::read(path)?;
    let plan = if args.undo {
        uninstall_plan::plan_uninstall(&file, path, agent, &args.name)
    } else {
        install_plan::plan_install(&file, agent, &args.name, mux_entry)
    };
    let InstallPlan { status, step } =
        plan.map_err(|error| unusable_file_error(&error, agent, path, args, mux_entry))?;
    let old = String::from_utf8_lossy(file.bytes()).into_owned();
    let diff = match &step {
        FileStep::Nothing => String::new(),
        FileStep::Write(text) | FileStep::Restore { text, .. } => {
            masked_diff(&old, text, &places.tilde_path(path))
        }
        FileStep::Remove => masked_diff(&old, "", &places.tilde_path(path)),
    };
    let backup = if args.dry_run {
        None
    } else {
        apply_file_step(&file, step)?
    };
    Ok(InstallEdit {
        agent,
        title: agent.display_name(),
        file: path.to_owned(),
        found: true,
        status,
        backup,
        diff,
        error: None,
    })
}

/// Carries out a step, and returns the backup of the file, if one was made.
fn apply_file_step(file: &AgentFile, step: FileStep) -> Result<Option<PathBuf>, CommandFailure> {
    if matches!(step, FileStep::Nothing) {
        return Ok(None);
    }
    let lock = EditLock::take(&resolve_dirs()?)?;
    let mut made = None;
    match step {
        FileStep::Nothing => {}
        FileStep::Write(text) => {
            made = file.back_up_and_replace(text.as_bytes(), SystemTime::now(), &lock)?;
        }
        FileStep::Restore { text, backup } => {
            file.replace(text.as_bytes(), &lock)?;
            // The file now has the backup's content.
            drop(std::fs::remove_file(backup));
        }
        FileStep::Remove => file.remove(&lock)?,
    }
    Ok(made)
}

/// All supported agents, with their entries that start mux.
pub(super) fn list_agents(places: &AgentPaths) -> Vec<KnownAgent> {
    Agent::all()
        .map(|agent| {
            let file = places.agent_config_file(agent);
            let mut known = KnownAgent {
                agent,
                title: agent.display_name(),
                found: places.seems_installed(agent),
                installed: false,
                names: Vec::new(),
                problem: None,
                shown: places.tilde_path(&file),
                file,
            };
            let read = AgentFile::read(&known.file).map_err(|error| error.to_string());
            let parse = |read: AgentFile| {
                read.parse(agent.format())
                    .map_err(|error| error.to_string())
            };
            match read.and_then(parse) {
                Ok(document) => {
                    let entries = agent.mux_entries(&document).into_iter();
                    known.names.extend(entries.map(|(name, _)| name));
                    known.installed = !known.names.is_empty();
                }
                Err(problem) => known.problem = Some(problem),
            }
            known
        })
        .collect()
}

/// The error for a file that was left alone, with the edit to make by hand.
fn unusable_file_error(
    error: &InstallPlanError,
    agent: Agent,
    path: &Path,
    args: &args::InstallArgs,
    mux_entry: &MuxEntry,
) -> Error {
    let message = format!("{} was left alone: {error}", path.display());
    let failure = Error::new(Kind::Validation, message);
    let InstallPlanError::File(error) = error else {
        return failure.hint(format!(
            "choose another name: `mux install {} --name NAME`",
            agent.name()
        ));
    };
    error.locate(failure).hint(if args.undo {
        format!("remove the entry `{}` by hand", args.name)
    } else {
        let entry = mux_entry.manual_text(agent, agent.spec().section, &args.name);
        format!("fix the file and try again, or add this by hand:\n{entry}")
    })
}
