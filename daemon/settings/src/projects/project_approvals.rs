//! The project files that the user has approved, with their approved content.
//!
//! Invariant: an approval applies to one content, by its digest, in one directory. Approvals are stored in a file that
//! is written atomically. If that file is not trustworthy, no project is approved.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    ProjectContent, ProjectFiles, project_files::PROJECT_FILE_NAMES, project_files::digest,
};
use mux_config::PolicyEntry;
use mux_files::atomic_file;

const APPROVALS_FILE_VERSION: u32 = 1;
/// The maximum size of the approvals file.
const MAX_APPROVALS_FILE_BYTES: u64 = 64 << 20;

/// The approval of one directory.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ProjectApproval {
    pub digest: String,
    /// The approved content: name and content of each file.
    pub files: Vec<(String, String)>,
}

impl ProjectApproval {
    /// The denials of the approved content.
    pub fn denied(&self) -> Vec<PolicyEntry> {
        let files = self.files.iter().filter_map(|(name, text)| {
            let name = PROJECT_FILE_NAMES.into_iter().find(|known| known == name)?;
            Some((name, Ok(text.clone())))
        });
        let files = ProjectFiles {
            files: files.collect(),
        };
        ProjectContent::of(&files).denied
    }
}

/// The approvals of all projects.
#[derive(Debug)]
pub struct ProjectApprovals {
    file: PathBuf,
    /// Approvals by canonical path, or why no project is approved.
    approved: Result<BTreeMap<PathBuf, ProjectApproval>, ApprovalsFileError>,
}

/// Why the approvals file is not trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApprovalsFileError {
    #[error("{0} is corrupt ({1})")]
    Corrupt(PathBuf, String),
    #[error("cannot use {0}: {1}")]
    Foreign(PathBuf, io::Error),
}

#[derive(Deserialize, Serialize)]
struct ApprovalsDocument {
    version: u32,
    projects: BTreeMap<PathBuf, ProjectApproval>,
}

impl ProjectApprovals {
    /// Reads the file. A missing file is not an error.
    pub fn open(file: PathBuf) -> Self {
        let approved = read(&file);
        Self { file, approved }
    }

    /// Reads the file again: another daemon may have written it. Returns whether it has changed.
    pub fn read_again(&mut self) -> bool {
        let before = std::mem::replace(&mut self.approved, read(&self.file));
        match (before, &self.approved) {
            (Ok(before), Ok(now)) => before != *now,
            (Err(_), Err(_)) => false,
            _ => true,
        }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn of(&self, root: &Path) -> Option<&ProjectApproval> {
        self.approved.as_ref().ok()?.get(root)
    }

    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.all().map(|(root, _)| root)
    }

    pub fn all(&self) -> impl Iterator<Item = (&Path, &ProjectApproval)> {
        let all = self.approved.as_ref().into_iter().flatten();
        all.map(|(root, approval)| (root.as_path(), approval))
    }

    /// The problem with the file, for the user.
    pub fn problem(&self) -> Option<String> {
        let error = self.approved.as_ref().err()?;
        Some(format!(
            "{error}; no project is approved, and the next approval replaces the file"
        ))
    }

    /// Stores the approval of a directory. `None` revokes it.
    pub fn set(&mut self, root: &Path, approval: Option<ProjectApproval>) -> Result<(), String> {
        self.read_again();
        let mut next = match &self.approved {
            Ok(approved) => approved.clone(),
            Err(ApprovalsFileError::Foreign(..)) => {
                let file = self.file.display();
                return Err(format!("{file} is not trustworthy; move it away first"));
            }
            // The corrupt file is kept for diagnosis.
            Err(_) => {
                let aside = self.file.with_extension("json.broken");
                fs::rename(&self.file, aside).map_err(|error| error.to_string())?;
                BTreeMap::new()
            }
        };
        match approval {
            Some(approval) => drop(next.insert(root.to_owned(), approval)),
            None => drop(next.remove(root)),
        }
        let document = ApprovalsDocument {
            version: APPROVALS_FILE_VERSION,
            projects: next,
        };
        let text = serde_json::to_vec_pretty(&document).map_err(|error| error.to_string())?;
        atomic_file::write(&self.file, &text).map_err(|error| {
            let file = self.file.display();
            format!("cannot write {file}: {error}")
        })?;
        self.approved = Ok(document.projects);
        Ok(())
    }
}

fn read(file: &Path) -> Result<BTreeMap<PathBuf, ProjectApproval>, ApprovalsFileError> {
    let foreign = |why| ApprovalsFileError::Foreign(file.to_owned(), why);
    let corrupt = |why: String| ApprovalsFileError::Corrupt(file.to_owned(), why);
    let Some(text) = atomic_file::read(file, MAX_APPROVALS_FILE_BYTES).map_err(foreign)? else {
        return Ok(BTreeMap::new());
    };
    let document: ApprovalsDocument =
        serde_json::from_str(&text).map_err(|error| corrupt(error.to_string()))?;
    if document.version != APPROVALS_FILE_VERSION {
        return Err(corrupt(format!("unknown version {}", document.version)));
    }
    for (root, approval) in &document.projects {
        let files = approval.files.iter();
        if digest(files.map(|(name, text)| (name.as_str(), text.as_str()))) != approval.digest {
            return Err(corrupt(format!("wrong digest of {}", root.display())));
        }
    }
    Ok(document.projects)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn approval(text: &str) -> ProjectApproval {
        ProjectApproval {
            digest: digest([(".mcp.json", text)].into_iter()),
            files: vec![(".mcp.json".into(), text.into())],
        }
    }

    #[test]
    fn approvals_are_stored_and_can_be_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("projects.json");
        let one = Path::new("/one");
        let two = Path::new("/two");
        let mut approvals = ProjectApprovals::open(file.clone());
        assert!(approvals.of(one).is_none() && approvals.problem().is_none());
        approvals.set(one, Some(approval("a"))).unwrap();
        approvals.set(two, Some(approval("b"))).unwrap();
        approvals.set(two, None).unwrap();
        let again = ProjectApprovals::open(file.clone());
        assert_eq!(again.of(one), Some(&approval("a")));
        assert_eq!(again.roots().collect::<Vec<_>>(), [one]);
        #[cfg(unix)]
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn corrupt_file_approves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("projects.json");
        let root = Path::new("/one");
        ProjectApprovals::open(file.clone())
            .set(root, Some(approval("good")))
            .unwrap();
        let good = fs::read_to_string(&file).unwrap();
        for bad in [
            "",
            "{}",
            "not json",
            &good[..good.len() / 2],
            &good.replace("good", "evil"),
            &good.replace("\"version\": 1", "\"version\": 2"),
        ] {
            fs::write(&file, bad).unwrap();
            let mut approvals = ProjectApprovals::open(file.clone());
            assert!(approvals.of(root).is_none(), "{bad}");
            assert!(approvals.problem().unwrap().contains("projects.json"));
            approvals.set(root, Some(approval("new"))).unwrap();
            assert!(approvals.problem().is_none());
            assert!(dir.path().join("projects.json.broken").exists());
            assert!(ProjectApprovals::open(file.clone()).of(root).is_some());
        }
    }

    // Modes and links of Unix.
    #[cfg(unix)]
    #[test]
    fn file_writable_by_others_is_neither_trusted_nor_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("projects.json");
        let root = Path::new("/one");
        ProjectApprovals::open(file.clone())
            .set(root, Some(approval("good")))
            .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let mut approvals = ProjectApprovals::open(file.clone());
        assert!(approvals.of(root).is_none());
        assert!(approvals.problem().unwrap().contains("chmod"));
        assert!(approvals.set(root, Some(approval("x"))).is_err());
        let target = dir.path().join("real.json");
        fs::rename(&file, &target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&target, &file).unwrap();
        let approvals = ProjectApprovals::open(file);
        assert!(approvals.of(root).is_none(), "a link may lead anywhere");
    }
}
