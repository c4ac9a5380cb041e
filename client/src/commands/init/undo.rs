//! `mux init --undo`: undoes every step of `mux init` that can be undone without losing the user's later changes.

use std::fs;

use mux_proto::{Error, Kind, endpoint::Dirs};

use super::{
    super::{
        CommandFailure, CommandResult,
        config_edit::ConfigFiles,
        import::{reload_if_running, undo_moves},
        install::{agent_places, edit_agents},
        repeated_edit::repeat_blocking_edit,
        resolve_dirs, service,
    },
    init_record::{InitRecord, entry_digest},
};
use crate::{
    agents::{AgentFile, EditLock},
    args,
    render::{self, InitUndo},
};

const SERVERS: &[&str] = &["servers"];

pub(super) async fn undo_init(args: &args::InitArgs, json: bool) -> CommandResult {
    let dirs = resolve_dirs()?;
    let record = InitRecord::read(&dirs)?;
    if record.is_empty() {
        let message = "nothing to undo: `mux init` has not changed anything here";
        return Err(Error::new(Kind::NotFound, message)
            .hint("`mux install --undo` removes mux from the agents' files, `mux servers remove NAME` removes a server")
            .into());
    }
    let mut undo = InitUndo {
        dry_run: args.dry_run,
        ..InitUndo::default()
    };
    // Servers return to the agents' files first: an agent must not lose a server.
    // Servers that `mux import --move` moved later return, too.
    if !record.servers.is_empty() {
        undo.moves = undo_moves(&args::ImportArgs {
            undo: true,
            dry_run: args.dry_run,
            ..args::ImportArgs::default()
        })?;
    }
    let install = args::InstallArgs {
        undo: true,
        dry_run: args.dry_run,
        name: "mux".into(),
        ..args::InstallArgs::default()
    };
    undo.installs = edit_agents(&record.agents(), &install, &agent_places()?)?;
    remove_servers(&record, &dirs, &mut undo)?;
    if record.service {
        let change = service::uninstall_service(&dirs, args.dry_run, json).await;
        undo.service = Some(change.map_err(|failure| failure.error));
    }
    if let Some(folder) = record
        .compiler
        .filter(|folder| *folder == dirs.typescript())
    {
        let removed = if args.dry_run {
            Ok(())
        } else {
            fs::remove_dir_all(&folder)
        };
        undo.compiler = Some((folder, removed.err().map(|error| error.to_string())));
    }
    if !args.dry_run {
        if let Err(failure) = reload_if_running().await {
            undo.not_reloaded = Some(failure.error.message);
        }
        if undo.errors().is_empty() {
            InitRecord::remove(&dirs)?;
        }
    }
    Ok(render::init_undone(&undo, json))
}

/// Removes the servers whose entries are as `mux init` wrote them, and the variables that no entry uses any more.
fn remove_servers(
    record: &InitRecord,
    dirs: &Dirs,
    undo: &mut InitUndo,
) -> Result<(), CommandFailure> {
    if record.servers.is_empty() && record.variables.is_empty() {
        return Ok(());
    }
    repeat_blocking_edit(|| {
        let mut files = ConfigFiles::read(SERVERS)?;
        (undo.removed, undo.kept) = (Vec::new(), Vec::new());
        for (name, digest) in &record.servers {
            let Some(entry) = files.config.find_section_entry(SERVERS, name) else {
                continue;
            };
            if entry_digest(entry) != *digest {
                undo.kept.push(name.clone());
                continue;
            }
            undo.removed.push(name.clone());
            files.config = files.config.without_server_entry(SERVERS, name)?;
        }
        let text = files.config.text();
        for name in &record.variables {
            if !text.contains(&format!("${{{name}")) {
                files.env.remove(name);
            }
        }
        if undo.dry_run {
            return Ok(());
        }
        undo.backup = files.write(true)?.config;
        Ok(())
    })?;
    if undo.dry_run {
        return Ok(());
    }
    // An empty config.toml stays: the daemon reports a missing one as an error.
    let file = AgentFile::read(&dirs.env_file())?;
    if record.created_env && file.exists() && file.bytes().trim_ascii().is_empty() {
        file.remove(&EditLock::take(dirs)?)?;
    }
    Ok(())
}
