//! An agent's file on the disk: read whole, replaced whole, with what stood there kept beside it.
//!
//! Invariant: at no moment is there half a file, and a backup is never overwritten. A file that
//! changed since it was read is not replaced.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

const BACKUP: &str = ".mux-backup-";
/// One reads these files whole. Claude Code's grows with its history, but not to this.
const MOST: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot read {0:?}: {1}")]
    Read(PathBuf, io::Error),
    #[error("{0:?} is no file")]
    NoFile(PathBuf),
    #[error("{0:?} is longer than {MOST} bytes")]
    TooLong(PathBuf),
    #[error("{0:?} is write-protected")]
    Protected(PathBuf),
    #[error("{0:?} was changed by another program meanwhile; try again")]
    Changed(PathBuf),
    #[error("cannot write {0:?}: {1}")]
    Write(PathBuf, io::Error),
}

/// A file as it was found.
#[derive(Debug)]
pub(crate) struct AgentFile {
    /// As its program names it.
    path: PathBuf,
    /// Behind all links.
    target: PathBuf,
    /// `None`: there is no such file.
    bytes: Option<Vec<u8>>,
}

impl AgentFile {
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let target = behind_links(path);
        let failed = |error| FileError::Read(target.clone(), error);
        let bytes = match fs::metadata(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
            Ok(found) if !found.is_file() => return Err(FileError::NoFile(target)),
            Ok(found) if found.len() > MOST => return Err(FileError::TooLong(target)),
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

    /// Nothing of a file that does not exist.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// Copies what stands there to a new file beside it; nothing if there is no file.
    pub(crate) fn back_up(&self, now: SystemTime) -> Result<Option<PathBuf>, FileError> {
        let Some(bytes) = &self.bytes else {
            return Ok(None);
        };
        // Without colons, which Windows does not have in names.
        let time = humantime::format_rfc3339_seconds(now).to_string();
        let time = time.replace([':', '-'], "");
        for number in 1.. {
            let more = if number == 1 {
                String::new()
            } else {
                format!("-{number:02}")
            };
            let backup = beside(&self.path, &format!("{BACKUP}{time}{more}"));
            let made = create(&backup).and_then(|file| fill(file, bytes, &self.target));
            match made {
                Ok(()) => return Ok(Some(backup)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::Write(backup, error)),
            }
        }
        unreachable!("numbers do not end")
    }

    /// Puts other bytes in its place at one stroke, with the same mode and owner.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.look_again()?;
        let failed = |error| FileError::Write(self.target.clone(), error);
        if let Some(folder) = self.target.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let temporary = beside(&self.target, &format!(".mux-{}.tmp", std::process::id()));
        let written = create(&temporary)
            .and_then(|file| fill(file, bytes, &self.target))
            .and_then(|()| fs::rename(&temporary, &self.target));
        written.map_err(|error| {
            drop(fs::remove_file(&temporary));
            failed(error)
        })
    }

    /// Removes it.
    pub(crate) fn remove(&self) -> Result<(), FileError> {
        self.look_again()?;
        fs::remove_file(&self.target).map_err(|e| FileError::Write(self.target.clone(), e))
    }

    fn look_again(&self) -> Result<(), FileError> {
        if Self::read(&self.path)?.bytes != self.bytes {
            return Err(FileError::Changed(self.target.clone()));
        }
        match fs::metadata(&self.target) {
            Ok(found) if found.permissions().readonly() => {
                Err(FileError::Protected(self.target.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// What was kept of a file, the latest first.
pub(crate) fn backups(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let prefix = format!("{}{BACKUP}", name.to_string_lossy());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.reverse();
    found
}

/// The file that a path leads to in the end, even if it does not exist yet.
fn behind_links(path: &Path) -> PathBuf {
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => break,
        }
    }
    target
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// A new file that only its owner can read, since there may be secrets in it.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes all of it, and makes the file like `model` if that exists.
fn fill(mut file: File, bytes: &[u8], model: &Path) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Ok(model) = fs::metadata(model) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // Who may not give a file away keeps it.
            drop(fchown(&file, Some(model.uid()), Some(model.gid())));
        }
        file.set_permissions(model.permissions())?;
    }
    file.sync_all()
}
