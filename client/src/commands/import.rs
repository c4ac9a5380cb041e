//! `mux import`: copies the servers of the agents into config.toml, and moves them there with `--move`.
//!
//! Invariant: a secret in an agent's file goes only into the `env` file, and an existing entry is overwritten only
//! with `--replace`.

mod agent_servers;
mod env_file;
mod merge;
mod move_records;
mod moves;
mod server_definition;
mod server_names;
mod undo;
mod variable_references;
mod withhold_secrets;

use std::path::Path;

use mux_client::within_seconds;
use mux_proto::{Error, Kind, ReloadReport, endpoint::Dirs};

use self::{
    agent_servers::AgentSource,
    merge::{IMPORT_SECTION, MergedConfig, merge_servers},
    moves::ServerMover,
};
pub(super) use self::{
    env_file::EnvFile,
    server_definition::{SERVER_IDENTITY_KEYS, ServerDefinition, overwrite_entry},
    server_names::nearest_valid_name,
    undo::undo_moves,
    variable_references::escape_literal,
    withhold_secrets::{WithheldSecret, withhold_credentials, withhold_secrets},
};
use super::{
    CommandFailure, CommandResult, config_edit::ConfigFiles, connect_if_running, current_dir,
    install::agent_places, repeated_edit::repeat_edit, resolve_dirs,
};
use crate::{
    agents::{Agent, AgentPaths, masked_diff},
    args, exit,
    render::{self, ImportReport},
};

pub(super) async fn import(args: &args::ImportArgs, json: bool) -> CommandResult {
    if args.undo {
        return Ok(render::moves_undone(&undo_moves(args)?, args.dry_run, json));
    }
    let agents = agents_to_read(&args.from, &agent_places()?);
    if agents.is_empty() {
        return Err(Error::new(
            Kind::NotFound,
            "no agent with servers was found on this machine",
        )
        .hint("`mux install --list` shows the supported files")
        .into());
    }
    let report = run_import(&agents, args, &[]).await?;
    Ok(render::imported(&report, json))
}

/// The agents that were named, or all that have a file.
fn agents_to_read(named: &[Agent], places: &AgentPaths) -> Vec<Agent> {
    let mut agents = Agent::distinct(named);
    if agents.is_empty() {
        agents.extend(Agent::all().filter(|agent| places.agent_config_file(*agent).exists()));
    }
    agents
}

/// Imports the servers of these agents. `getting_mux` are agents to which mux would be added before a move, for a dry
/// run.
pub(super) async fn run_import(
    agents: &[Agent],
    args: &args::ImportArgs,
    getting_mux: &[Agent],
) -> Result<ImportReport, CommandFailure> {
    let dirs = resolve_dirs()?;
    let places = agent_places()?;
    let mut import = ImportReport::new(args.dry_run, dirs.config_file(), dirs.env_file());
    let sources = read_all_agents(agents, &places, &mut import);

    let merged = repeat_edit(async || merge_into_config(&sources, args, &dirs, &mut import).await);
    let mut merged = merged.await?;
    if args.move_servers {
        let mover = ServerMover {
            dirs: &dirs,
            places: &places,
            dry_run: args.dry_run,
            getting_mux,
        };
        mover.move_servers(&sources, &mut merged, &mut import).await;
    }
    import.carried = merged.carried;
    Ok(import)
}

/// Reads the servers of the agents. A file that cannot be read is reported, and the others are still read.
fn read_all_agents(
    agents: &[Agent],
    places: &AgentPaths,
    import: &mut ImportReport,
) -> Vec<AgentSource> {
    // Claude Code keeps servers per directory in which it runs.
    let project = current_dir().ok();
    let mut sources = Vec::new();
    for agent in agents {
        let path = places.agent_config_file(*agent);
        match agent_servers::read_agent_servers(*agent, &path, project.as_deref()) {
            Ok(source) => {
                import.read(*agent, path, Ok(source.notes.clone()));
                sources.push(source);
            }
            Err(error) => import.read(*agent, path, Err(error)),
        }
    }
    sources
}

/// Merges the servers into config.toml and the `env` file, and writes both unless this is a dry run.
async fn merge_into_config(
    sources: &[AgentSource],
    args: &args::ImportArgs,
    dirs: &Dirs,
    import: &mut ImportReport,
) -> Result<MergedConfig, CommandFailure> {
    let places = agent_places()?;
    let mut files = ConfigFiles::read(IMPORT_SECTION)?;
    let servers = sources.iter().flat_map(|source| &source.servers);
    let config = files.config.clone();
    let merged = merge_servers(servers, config, files.env.clone(), args.replace, &places)?;

    let old = files.config.text();
    let new = merged.config.text();
    import.diff = masked_diff(&old, &new, &places.tilde_path(&dirs.config_file()));
    if (new != old || merged.env.changed()) && !args.dry_run {
        files.config = merged.config.clone();
        files.env = merged.env.clone();
        let backups = files.write(true)?;
        import.backup = backups.config;
        import.env_backup = backups.env;
        match reload_if_running().await {
            Ok(report) => import.reloaded = report,
            Err(failure) => import.not_reloaded = Some(failure.error.message),
        }
    }
    Ok(merged)
}

pub(super) fn prepare_dirs(dirs: &Dirs) -> Result<(), CommandFailure> {
    let prepared = dirs.prepare();
    prepared.map_err(|error| exit::unavailable_error(error.to_string()).into())
}

/// Closes the file with the secrets to other users. Must precede the write of any secret.
#[cfg(unix)]
pub(super) fn restrict_to_owner(path: &Path) -> Result<(), CommandFailure> {
    use std::{fs, io, os::unix::fs::PermissionsExt as _};

    match fs::set_permissions(path, fs::Permissions::from_mode(0o600)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(exit::unavailable_error(
            format!("cannot close {} to other users: {error}", path.display()),
        )
        .into()),
        _ => Ok(()),
    }
}

/// Does nothing: other users cannot read files in a user's directories on this platform.
#[cfg(not(unix))]
pub(super) fn restrict_to_owner(_path: &Path) -> Result<(), CommandFailure> {
    Ok(())
}

/// Makes a running daemon reload the configuration. Does not start a daemon.
pub(super) async fn reload_if_running() -> Result<Option<ReloadReport>, CommandFailure> {
    let Some(session) = connect_if_running().await? else {
        return Ok(None);
    };
    let report = session.client.reload(within_seconds(30)).await??;
    Ok(Some(report))
}
