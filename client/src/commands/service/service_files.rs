//! The files of a service, in their current and their wanted state.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use mux_proto::endpoint::Dirs;

use super::{ServiceFile, service_manager::ServiceManager};
use crate::agents::{AgentFile, AgentFileError, EditLock, unmasked_diff};

/// The planned change of one file.
#[derive(Debug)]
pub(super) struct PlannedFile {
    pub(super) path: PathBuf,
    file: Option<AgentFile>,
    /// The new content, or `None` to remove the file.
    wanted: Option<String>,
}

impl PlannedFile {
    pub(super) fn changes(&self) -> bool {
        match (&self.file, &self.wanted) {
            (Some(file), Some(wanted)) => !file.exists() || file.bytes() != wanted.as_bytes(),
            _ => true,
        }
    }

    pub(super) fn preview(&self) -> ServiceFile {
        let old = self.file.as_ref().map(AgentFile::bytes);
        let old = String::from_utf8_lossy(old.unwrap_or_default()).into_owned();
        let new = self.wanted.clone().unwrap_or_default();
        let path = self.path.display().to_string();
        ServiceFile {
            path: self.path.clone(),
            changes: self.changes(),
            text: self.wanted.clone(),
            diff: if self.changes() {
                unmasked_diff(&old, &new, &path)
            } else {
                String::new()
            },
        }
    }

    /// Carries out the change.
    pub(super) fn apply_change(&self, dirs: &Dirs) -> Result<(), AgentFileError> {
        match (&self.file, &self.wanted) {
            (Some(file), Some(wanted)) if self.changes() => {
                file.replace(wanted.as_bytes(), &EditLock::take(dirs)?)
            }
            (_, Some(_)) => Ok(()),
            (_, None) => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(AgentFileError::Write(self.path.clone(), error))
                }
                _ => Ok(()),
            },
        }
    }
}

/// Plans to write these files.
pub(super) fn plan_writes(
    wanted: Vec<(PathBuf, String)>,
) -> Result<Vec<PlannedFile>, AgentFileError> {
    let planned = wanted.into_iter().map(|(path, wanted)| {
        Ok(PlannedFile {
            file: Some(AgentFile::read(&path)?),
            path,
            wanted: Some(wanted),
        })
    });
    planned.collect()
}

/// Plans to remove the files and links of a service that exist. A link is removed without its target.
pub(super) fn plan_removals(
    system: ServiceManager,
    name: &str,
    folder: &Path,
) -> Result<Vec<PlannedFile>, AgentFileError> {
    let files = system
        .unit_file_names(name)
        .into_iter()
        .map(|name| folder.join(name));
    let mut leaving = Vec::new();
    for path in files.chain(system.enabled_links(name, folder)) {
        if path.symlink_metadata().is_err() {
            continue;
        }
        let is_link = path.is_symlink();
        leaving.push(PlannedFile {
            file: if is_link {
                None
            } else {
                Some(AgentFile::read(&path)?)
            },
            path,
            wanted: None,
        });
    }
    Ok(leaving)
}
