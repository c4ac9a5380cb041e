//! The folders in muxd's cache in which sandboxed servers keep fetched packages: `SERVER/COMMAND/NAME`, one for each
//! command that a server has had.
//!
//! Invariant: a folder is deleted only while no server runs that could use it, and if none has used it for a long time.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tracing::{debug, warn};

use super::plan::{ConfineError, SandboxDirs, create};

/// How long a command's fetched packages are kept after its last start. Without a network it cannot fetch them again.
const UNUSED_FOLDER_AGE: Duration = Duration::from_hours(90 * 24);
/// The folder for files that are being deleted. Cannot be the name of a server.
const DELETED_FOLDER: &str = ".deleted";

/// Guards changes to the folders: a folder that is about to be used must not be deleted.
static CHANGES: Mutex<()> = Mutex::new(());

/// Creates a folder of a command, and notes when the command was started.
pub(super) fn folder_of_command(command: &Path, name: &str) -> Result<PathBuf, ConfineError> {
    let folder = command.join(name);
    let _lock = CHANGES.lock();
    create(&folder)?;
    set_last_start(command, SystemTime::now())
        .map_err(|error| ConfineError::Failed(format!("{}: {error}", command.display())))?;
    Ok(folder)
}

fn set_last_start(command: &Path, time: SystemTime) -> io::Result<()> {
    File::open(command)?.set_modified(time)
}

/// Deletes the folders of commands that have not been started for 90 days. Must be called while no server that was
/// started before this daemon runs. Takes as long as the files need.
pub fn delete_unused_private_folders(dirs: &SandboxDirs) {
    let deleted = dirs.private.join(DELETED_FOLDER);
    for command in children(&dirs.private)
        .iter()
        .flat_map(|server| children(server))
    {
        let _lock = CHANGES.lock();
        if is_unused(&command) {
            debug!(folder = %command.display(), "deleting packages of a server's former command");
            if let Err(error) = set_aside(&command, &deleted) {
                warn!(folder = %command.display(), %error, "cannot delete packages of a server's former command");
            }
        }
    }
    for server in children(&dirs.private) {
        // Fails unless it is empty.
        fs::remove_dir(server).ok();
    }
    match fs::remove_dir_all(&deleted) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            warn!(folder = %deleted.display(), %error, "cannot delete packages of a server's former command");
        }
        _ => {}
    }
}

fn set_aside(command: &Path, deleted: &Path) -> io::Result<()> {
    fs::create_dir_all(deleted)?;
    let number = children(deleted).len();
    fs::rename(command, deleted.join(number.to_string()))
}

fn is_unused(command: &Path) -> bool {
    let last_start = command
        .symlink_metadata()
        .and_then(|found| found.modified());
    // A clock that was set back tells nothing.
    let age = last_start.ok().and_then(|start| start.elapsed().ok());
    age.is_some_and(|age| age > UNUSED_FOLDER_AGE)
}

/// The child folders of a folder, which may be missing.
fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let folders = entries
        .flatten()
        .filter(|entry| entry.file_name() != DELETED_FOLDER)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_commands_that_no_server_has_had_for_long_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = SandboxDirs {
            private: dir.path().join("sandboxes"),
            egress: dir.path().join("egress"),
            protected: Vec::new(),
            record: crate::GrantRecord::new("/nonexistent".into()),
        };
        let now = SystemTime::now();
        for (command, days) in [("files/old", 91), ("files/new", 89), ("gone/old", 400)] {
            let command = dirs.private.join(command);
            let cache = folder_of_command(&command, "npm").unwrap();
            fs::write(cache.join("package.json"), "{}").unwrap();
            let age = Duration::from_secs(days * 24 * 60 * 60);
            set_last_start(&command, now - age).unwrap();
        }
        delete_unused_private_folders(&dirs);
        assert!(dirs.private.join("files/new/npm/package.json").exists());
        assert_eq!(children(&dirs.private), [dirs.private.join("files")]);
        assert_eq!(children(&dirs.private.join("files")).len(), 1);
        // A start makes an old folder new.
        let command = dirs.private.join("files/new");
        set_last_start(&command, SystemTime::UNIX_EPOCH).unwrap();
        folder_of_command(&command, "npm").unwrap();
        delete_unused_private_folders(&dirs);
        assert!(command.join("npm/package.json").exists());
        // Without any folder there is nothing to do.
        fs::remove_dir_all(&dirs.private).unwrap();
        delete_unused_private_folders(&dirs);
        assert!(!dirs.private.exists());
    }
}
