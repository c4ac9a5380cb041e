//! `mux import --undo`: puts moved servers back into the agents' files.
//!
//! A file that equals its backup without the servers is restored to the same bytes. In any other file, which the user
//! or the agent has changed meanwhile, the entries are added again.
//!
//! Invariant: an entry of the same name that the file has now is not changed.

use std::{fs, path::Path, time::SystemTime};

use mux_proto::{Error, Kind, endpoint::Dirs};

use super::{
    super::{
        CommandFailure, install::agent_places, repeated_edit::repeat_blocking_edit, resolve_dirs,
    },
    agent_servers::{AgentServer, convert_entry},
    move_records::{MoveRecord, MovedServer, read_moves, update_moves},
    moves::{diff_without_secrets, without_servers},
};
use crate::{
    agents::{Agent, AgentFile, AgentPaths, ConfigDocument, ConfigFileError, EditLock},
    args, exit,
    render::UndoneMove,
};

pub(in crate::commands) fn undo_moves(
    args: &args::ImportArgs,
) -> Result<Vec<UndoneMove>, CommandFailure> {
    let dirs = resolve_dirs()?;
    let places = agent_places()?;
    let records = read_moves(&dirs)?;
    let mut undone: Vec<UndoneMove> = Vec::new();
    for record in &records {
        let Some(agent) = record.agent() else {
            continue;
        };
        let is_meant = args.from.is_empty() || args.from.contains(&agent);
        if !is_meant || undone.iter().any(|one| one.file == record.file) {
            continue;
        }
        let mine = records.iter().rev().filter(|one| one.file == record.file);
        let mine: Vec<&MoveRecord> = mine.collect();
        let done = undo_in_file(agent, &mine, &dirs, &places, args.dry_run);
        undone.push(done.unwrap_or_else(|error| UndoneMove::failed(agent, &record.file, error)));
    }
    Ok(undone)
}

/// Undoes the moves out of one file, the latest first.
pub(super) fn undo_in_file(
    agent: Agent,
    moves: &[&MoveRecord],
    dirs: &Dirs,
    places: &AgentPaths,
    dry_run: bool,
) -> Result<UndoneMove, Error> {
    repeat_blocking_edit(|| try_undo(agent, moves, dirs, places, dry_run))
        .map_err(|failure| failure.error)
}

fn try_undo(
    agent: Agent,
    moves: &[&MoveRecord],
    dirs: &Dirs,
    places: &AgentPaths,
    dry_run: bool,
) -> Result<UndoneMove, CommandFailure> {
    let path = moves
        .first()
        .map_or_else(|| Path::new(""), |record| &record.file);
    let file = AgentFile::read(path)?;
    let document = file.parse(agent.format())?;
    let mut backups = Vec::new();
    for record in moves {
        backups.push(read_backup(agent, record)?);
    }
    let restored = restore_servers(agent, &document, moves, &backups);
    let file_of = |failed| ConfigFileError {
        file: path.to_owned(),
        ..failed
    };
    let restored = restored.map_err(file_of)?;
    let mut undone = UndoneMove {
        agent,
        file: path.to_owned(),
        diff: diff_without_secrets(
            &document.text(),
            &restored.document.text(),
            &places.tilde_path(path),
            &restored.servers,
        ),
        servers: restored.servers.into_iter().map(|one| one.name).collect(),
        backup: None,
        error: None,
    };
    if dry_run {
        return Ok(undone);
    }
    let text = restored.document.text();
    if text.as_bytes() != file.bytes() {
        let lock = EditLock::take(dirs)?;
        if restored.is_exact {
            file.replace(text.as_bytes(), &lock)?;
        } else {
            undone.backup = file.back_up_and_replace(text.as_bytes(), SystemTime::now(), &lock)?;
        }
    }
    update_moves(dirs, |records| records.retain(|one| one.file != path))?;
    if restored.is_exact {
        // Their content is the file's now.
        for record in moves {
            drop(fs::remove_file(&record.backup));
        }
    }
    Ok(undone)
}

fn read_backup(agent: Agent, record: &MoveRecord) -> Result<ConfigDocument, Error> {
    let backup = record.backup.display();
    let names: Vec<&str> = record.servers.iter().map(|one| one.name.as_str()).collect();
    let by_hand = format!("add {} to the file by hand", names.join(", "));
    let file = AgentFile::read(&record.backup)
        .map_err(|error| exit::unavailable_error(error.to_string()))?;
    if !file.exists() {
        let message = format!("the backup {backup} is gone");
        return Err(Error::new(Kind::NotFound, message).hint(by_hand));
    }
    file.parse(agent.format()).map_err(|error| {
        Error::new(Kind::Validation, format!("the backup {backup}: {error}")).hint(by_hand)
    })
}

struct RestoredServers {
    document: ConfigDocument,
    /// The servers that the file did not have.
    servers: Vec<AgentServer>,
    /// True if the content is a backup's.
    is_exact: bool,
}

/// Puts the servers of each move back, from its backup: the file as it was before that move.
fn restore_servers(
    agent: Agent,
    document: &ConfigDocument,
    moves: &[&MoveRecord],
    backups: &[ConfigDocument],
) -> Result<RestoredServers, ConfigFileError> {
    let mut restored = RestoredServers {
        document: document.clone(),
        servers: Vec::new(),
        is_exact: true,
    };
    for (record, backup) in moves.iter().zip(backups) {
        let now = restored.document.clone();
        let is_exact = without_servers(backup, &record.servers)?.text() == now.text();
        restored.is_exact &= is_exact;
        if is_exact {
            restored.document = backup.clone();
        }
        for MovedServer { section, name } in &record.servers {
            let Some(entry) = backup.find_section_entry(section, name) else {
                continue;
            };
            if now.find_section_entry(section, name).is_some() {
                continue;
            }
            let server = convert_entry(agent, section, name, entry);
            restored.servers.push(server);
            if !is_exact {
                restored.document = restored.document.with_server_entry(section, name, entry)?;
            }
        }
    }
    Ok(restored)
}
