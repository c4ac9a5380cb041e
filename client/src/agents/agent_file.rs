//! An agent's file on disk: read whole, replaced atomically, with a backup next to it.
//!
//! Invariant: the file is never partially written, and a backup is never overwritten. A file that changed since it was
//! read is not replaced: the comparison and the replacement happen under [`EditLock`], and the caller repeats its edit.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use mux_proto::endpoint::EndpointError;

use super::{
    ConfigDocument, ConfigDocumentError, ConfigFileError, ConfigFormat, EditLock,
    edit_lock::LOCK_TIMEOUT,
};

/// How many backups of config.toml stay, and how many copies that an editor left. An agent's file keeps all backups:
/// each is the only copy of what was moved.
pub(crate) const MAX_KEPT_FILES: usize = 5;
const BACKUP_INFIX: &str = ".mux-backup-";
const TEMPORARY_INFIX: &str = ".mux-";
const TEMPORARY_SUFFIX: &str = ".tmp";
/// The maximum size of a file. Claude Code's file grows with its history, but stays far below this.
const MAX_AGENT_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentFileError {
    #[error("cannot read {0:?}: {1}")]
    Read(PathBuf, io::Error),
    #[error("{0:?} is not a file")]
    NoFile(PathBuf),
    #[error("{0:?} is longer than {MAX_AGENT_FILE_BYTES} bytes")]
    TooLong(PathBuf),
    #[error("{0:?} is write-protected")]
    Protected(PathBuf),
    #[error("{0:?} was changed by another program in the meantime")]
    Changed(PathBuf),
    #[error(transparent)]
    Directories(#[from] EndpointError),
    #[error("cannot lock {0:?}: {1}")]
    Lock(PathBuf, io::Error),
    #[error(
        "another mux command has held the lock {0:?} for {LOCK_TIMEOUT:?}; end that command if it hangs"
    )]
    Locked(PathBuf),
    #[error("cannot write {0:?}: {1}")]
    Write(PathBuf, io::Error),
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct AgentFile {
    /// The path before symbolic links are followed.
    path: PathBuf,
    /// The path after symbolic links are followed.
    target: PathBuf,
    /// `None` if the file does not exist.
    bytes: Option<Vec<u8>>,
}

impl AgentFile {
    pub(crate) fn read(path: &Path) -> Result<Self, AgentFileError> {
        let target = resolve_symlinks(path);
        let failed = |error| AgentFileError::Read(target.clone(), error);
        let bytes = match fs::metadata(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
            Ok(found) if !found.is_file() => return Err(AgentFileError::NoFile(target)),
            Ok(found) if found.len() > MAX_AGENT_FILE_BYTES => {
                return Err(AgentFileError::TooLong(target));
            }
            Ok(_) => Some(fs::read(&target).map_err(failed)?),
        };
        Ok(Self {
            path: path.to_owned(),
            target,
            bytes,
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.bytes.is_some()
    }

    /// The content. Empty if the file does not exist.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    pub(crate) fn text(&self) -> Result<&str, ConfigFileError> {
        std::str::from_utf8(self.bytes()).map_err(|_| ConfigFileError {
            file: self.path.clone(),
            error: ConfigDocumentError::NotText,
        })
    }

    /// Parses the content. A file that does not exist has no values.
    pub(crate) fn parse(&self, format: ConfigFormat) -> Result<ConfigDocument, ConfigFileError> {
        ConfigDocument::parse_file(&self.path, self.bytes(), format)
    }

    /// Copies the content to a new file next to it. `None` if the file does not exist.
    pub(crate) fn back_up(&self, now: SystemTime) -> Result<Option<PathBuf>, AgentFileError> {
        let Some(bytes) = &self.bytes else {
            return Ok(None);
        };
        // Windows does not allow colons in file names.
        let time = humantime::format_rfc3339_seconds(now).to_string();
        let time = time.replace([':', '-'], "");
        for number in 1.. {
            let more = if number == 1 {
                String::new()
            } else {
                format!("-{number:02}")
            };
            let backup = suffixed_path(&self.path, &format!("{BACKUP_INFIX}{time}{more}"));
            let made = create_private_file(&backup)
                .and_then(|file| write_with_owner_of(&file, bytes, &self.target));
            match made {
                Ok(()) => return Ok(Some(backup)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(AgentFileError::Write(backup, error)),
            }
        }
        unreachable!("numbers do not end")
    }

    /// Replaces the file atomically, with the same mode and owner.
    pub(crate) fn replace(&self, bytes: &[u8], _lock: &EditLock) -> Result<(), AgentFileError> {
        self.check_unchanged()?;
        let failed = |error| AgentFileError::Write(self.target.clone(), error);
        let folder = self.target.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(failed)?;
        let prefix = self.temporary_prefix();
        for left_over in list_files(folder, &prefix, TEMPORARY_SUFFIX) {
            drop(fs::remove_file(left_over));
        }
        let temporary = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(TEMPORARY_SUFFIX)
            .tempfile_in(folder)
            .map_err(failed)?;
        write_with_owner_of(temporary.as_file(), bytes, &self.target).map_err(failed)?;
        // Again, and last: an editor takes no lock.
        self.check_unchanged()?;
        let replaced = temporary.persist(&self.target);
        replaced.map(drop).map_err(|error| failed(error.error))
    }

    /// Like [`Self::replace`], and returns the backup of a file that existed.
    pub(crate) fn back_up_and_replace(
        &self,
        bytes: &[u8],
        now: SystemTime,
        lock: &EditLock,
    ) -> Result<Option<PathBuf>, AgentFileError> {
        let backup = self.back_up(now)?;
        self.replace(bytes, lock).inspect_err(|_| {
            if let Some(backup) = &backup {
                drop(fs::remove_file(backup));
            }
        })?;
        Ok(backup)
    }

    /// Removes the file, unless it changed since it was read.
    pub(crate) fn remove(&self, _lock: &EditLock) -> Result<(), AgentFileError> {
        self.check_unchanged()?;
        fs::remove_file(&self.target).map_err(|e| AgentFileError::Write(self.target.clone(), e))
    }

    fn temporary_prefix(&self) -> String {
        let name = self.target.file_name().unwrap_or_default();
        format!("{}{TEMPORARY_INFIX}", name.to_string_lossy())
    }

    fn check_unchanged(&self) -> Result<(), AgentFileError> {
        if Self::read(&self.path)?.bytes != self.bytes {
            return Err(AgentFileError::Changed(self.target.clone()));
        }
        match fs::metadata(&self.target) {
            Ok(found) if found.permissions().readonly() => {
                Err(AgentFileError::Protected(self.target.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Removes all files but the `kept` that were changed last.
pub(crate) fn remove_older_files(files: Vec<PathBuf>, kept: usize) {
    let changed = |path: &PathBuf| {
        fs::symlink_metadata(path)
            .and_then(|found| found.modified())
            .ok()
    };
    let mut files: Vec<_> = files
        .into_iter()
        .map(|path| (changed(&path), path))
        .collect();
    files.sort();
    files.reverse();
    for (_, path) in files.into_iter().skip(kept) {
        drop(fs::remove_file(path));
    }
}

/// The backups of a file, the latest first.
pub(crate) fn list_backups(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let prefix = format!("{}{BACKUP_INFIX}", name.to_string_lossy());
    let mut found = list_files(folder, &prefix, "");
    found.sort();
    found.reverse();
    found
}

/// The files of a directory whose names begin and end like this.
pub(crate) fn list_files(folder: &Path, prefix: &str, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(prefix) && name.ends_with(suffix)
        })
        .map(|entry| entry.path())
        .collect()
}

/// The path after following symbolic links, even if it does not exist yet.
fn resolve_symlinks(path: &Path) -> PathBuf {
    const MAX_SYMLINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MAX_SYMLINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => break,
        }
    }
    target
}

fn suffixed_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Creates a file that only its owner can read, because it may contain secrets.
fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes the content, and copies owner and mode from `model` if that exists.
fn write_with_owner_of(mut file: &File, bytes: &[u8], model: &Path) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Ok(model) = fs::metadata(model) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // Without the right to change the owner, the file stays ours.
            drop(fchown(file, Some(model.uid()), Some(model.gid())));
        }
        file.set_permissions(model.permissions())?;
    }
    file.sync_all()
}
