//! The files of a service, as they are and as they are to be.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{ServiceFile, system::System};
use crate::agents::{AgentFile, FileError, unified_whole};

/// The planned change of one file.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) path: PathBuf,
    file: Option<AgentFile>,
    /// The new content; `None`: the file is to be removed.
    wanted: Option<String>,
}

impl Planned {
    pub(super) fn changes(&self) -> bool {
        match (&self.file, &self.wanted) {
            (Some(file), Some(wanted)) => !file.exists() || file.bytes() != wanted.as_bytes(),
            _ => true,
        }
    }

    pub(super) fn shown(&self) -> ServiceFile {
        let old = self.file.as_ref().map(AgentFile::bytes);
        let old = String::from_utf8_lossy(old.unwrap_or_default()).into_owned();
        let new = self.wanted.clone().unwrap_or_default();
        let path = self.path.display().to_string();
        ServiceFile {
            path: self.path.clone(),
            changes: self.changes(),
            text: self.wanted.clone(),
            diff: match self.changes() {
                true => unified_whole(&old, &new, &path),
                false => String::new(),
            },
        }
    }

    /// Carries out the change.
    pub(super) fn write(&self) -> Result<(), FileError> {
        match (&self.file, &self.wanted) {
            (Some(file), Some(wanted)) if self.changes() => file.replace(wanted.as_bytes()),
            (_, Some(_)) => Ok(()),
            (_, None) => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(FileError::Write(self.path.clone(), error))
                }
                _ => Ok(()),
            },
        }
    }
}

/// Plans to write these files.
pub(super) fn planned(wanted: Vec<(PathBuf, String)>) -> Result<Vec<Planned>, FileError> {
    let planned = wanted.into_iter().map(|(path, wanted)| {
        Ok(Planned {
            file: Some(AgentFile::read(&path)?),
            path,
            wanted: Some(wanted),
        })
    });
    planned.collect()
}

/// Plans to remove the files and links of a service that exist. A link is removed without its target.
pub(super) fn leaving(
    system: System,
    name: &str,
    folder: &Path,
) -> Result<Vec<Planned>, FileError> {
    let files = system.names(name).into_iter().map(|name| folder.join(name));
    let mut leaving = Vec::new();
    for path in files.chain(system.links(name, folder)) {
        if path.symlink_metadata().is_err() {
            continue;
        }
        let is_link = path.is_symlink();
        leaving.push(Planned {
            file: match is_link {
                true => None,
                false => Some(AgentFile::read(&path)?),
            },
            path,
            wanted: None,
        });
    }
    Ok(leaving)
}
