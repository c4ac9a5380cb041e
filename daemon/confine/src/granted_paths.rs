//! The files and folders that a server is granted, as objects: each path is resolved and identified once, before the
//! server starts. The process that becomes the server verifies that it got these objects (`confined_process`).
//!
//! A link in a folder that a server may change is a decision of that server. The write access of all entries is judged
//! together: a link made by one server must not lead another server elsewhere.
//!
//! Invariant: after a path was resolved here, nothing resolves it again to decide or to grant.

use std::path::{Component, Path, PathBuf};

use mux_paths::{
    file_identity::FileIdentity,
    opened_object::identify_object,
    resolved_path::{FollowedLink, resolve},
};
use serde::{Deserialize, Serialize};

use super::{plan::ConfineError, program_files::SYSTEM_FOLDERS};

/// A file or folder that a server gets.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct GrantedPath {
    /// The path at which the server sees it: as the entry or the program names it, or the real path if the name
    /// contains `..` or leads through a system link.
    pub(super) at: PathBuf,
    /// The path without links.
    pub(super) real: PathBuf,
    pub(super) identity: FileIdentity,
    /// The path as the entry or the program names it.
    #[serde(skip)]
    pub(super) named: PathBuf,
    /// The links on the way.
    #[serde(skip)]
    pub(super) links: Vec<FollowedLink>,
}

/// A folder that a server may change.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct WriteGrant {
    /// The name of the server.
    pub server: String,
    /// Without links, unless its file system did not answer.
    pub folder: PathBuf,
}

/// A link that leads out of the folder in which a server may change it.
#[derive(Debug)]
pub struct ChangeableLink<'a> {
    pub link: &'a FollowedLink,
    pub grant: &'a WriteGrant,
}

/// The first changeable link of a granted path that leads out of the folders that this server may change anyway.
pub fn changeable_link<'a>(
    links: &'a [FollowedLink],
    real: &Path,
    write: &'a [WriteGrant],
) -> Option<ChangeableLink<'a>> {
    links
        .iter()
        .flat_map(|link| {
            write
                .iter()
                .map(move |grant| ChangeableLink { link, grant })
        })
        .find(|found| {
            // Replacing the folder itself needs write access to its parent.
            let at = &found.link.at;
            let folder = &found.grant.folder;
            at != folder && at.starts_with(folder) && !real.starts_with(folder)
        })
}

impl GrantedPath {
    /// Resolves and identifies a path.
    pub(super) fn resolve(at: &Path) -> Result<Self, ConfineError> {
        let failed = |error: std::io::Error| {
            ConfineError::BadPath(format!("{} cannot be granted: {error}", at.display()))
        };
        let resolved = resolve(at).map_err(failed)?;
        let identity = identify_object(&resolved.real).map_err(failed)?;
        // A mount is at a path without `.` and `..`, and behind a link `..` is not the folder that it seems. System
        // links, such as /lib, are links in a sandbox, too.
        let has_parent = at.components().any(|part| part == Component::ParentDir);
        let is_of_system = |link: &FollowedLink| {
            let mut folders = SYSTEM_FOLDERS.iter();
            folders.any(|folder| link.at == Path::new(folder))
        };
        let mount_point = if has_parent || resolved.links.iter().any(is_of_system) {
            resolved.real.clone()
        } else {
            at.components().collect()
        };
        Ok(Self {
            at: mount_point,
            named: at.to_owned(),
            real: resolved.real,
            identity,
            links: resolved.links,
        })
    }

    pub(super) fn resolve_all(paths: &[PathBuf]) -> Result<Vec<Self>, ConfineError> {
        paths.iter().map(|path| Self::resolve(path)).collect()
    }

    /// Refuses a path that a server could redirect. `leads_inside` is true for a real path that this server has anyway.
    pub(super) fn refuse_changeable(
        &self,
        write: &[WriteGrant],
        leads_inside: impl Fn(&Path) -> bool,
    ) -> Result<(), ConfineError> {
        let Self {
            at, real, links, ..
        } = self;
        match changeable_link(links, real, write) {
            Some(ChangeableLink { link, grant }) if !leads_inside(real) => {
                Err(ConfineError::BadPath(format!(
                    "{} leads to {} through the link {}, which the server `{}` may change; grant {} instead",
                    at.display(),
                    real.display(),
                    link.at.display(),
                    grant.server,
                    real.display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Sets the path at which the server sees it, if it lies in another granted folder: behind the links in that
    /// folder, which are visible there, too.
    pub(super) fn place_inside(&mut self, others: &[Self]) {
        let around = others.iter().filter(|other| {
            self.at != other.at
                && self.at.starts_with(&other.at)
                && self.real.starts_with(&other.real)
        });
        let outermost = around.min_by_key(|other| other.at.components().count());
        if let Some(other) = outermost
            && let Ok(below) = self.real.strip_prefix(&other.real)
        {
            self.at = other.at.join(below);
        }
    }

    /// True if either of its paths is `path` or above it.
    pub(super) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.at) || path.starts_with(&self.real)
    }
}

// Unix links: there is no server sandbox on Windows.
#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn link_that_another_server_may_change_is_refused_and_the_target_named() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for folder in ["proj/real", ".ssh", "notes"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        symlink("../.ssh", home.join("proj/docs")).unwrap();
        symlink("real", home.join("proj/inside")).unwrap();
        symlink("notes", home.join("mine")).unwrap();
        symlink("proj/docs", home.join("indirect")).unwrap();
        let write = [WriteGrant {
            server: "wr".into(),
            folder: home.join("proj"),
        }];
        let grant = |path: &str| {
            let granted = GrantedPath::resolve(&home.join(path)).unwrap();
            granted
                .refuse_changeable(&write, |_| false)
                .map(|()| granted)
        };
        for path in ["proj/docs", "indirect"] {
            let error = grant(path).unwrap_err().to_string();
            assert!(error.contains("the server `wr` may change"), "{error}");
            let fix = format!("grant {} instead", home.join(".ssh").display());
            assert!(error.contains(&fix), "{error}");
        }
        assert_eq!(grant("proj/inside").unwrap().real, home.join("proj/real"));
        assert_eq!(grant("mine").unwrap().real, home.join("notes"));
        // Where a mount would be.
        let at = |path: &str| GrantedPath::resolve(&home.join(path)).unwrap().at;
        assert_eq!(at("mine/../notes/."), home.join("notes"));
        assert_eq!(at("./notes//"), home.join("notes"));
        let bin = Path::new("/bin");
        let of_system = GrantedPath::resolve(bin).unwrap();
        assert_eq!(of_system.at, bin.canonicalize().unwrap());
        // A path that the entry grants anyway.
        let granted = |path: &Path| path == home.join(".ssh");
        let docs = GrantedPath::resolve(&home.join("proj/docs")).unwrap();
        docs.refuse_changeable(&write, granted).unwrap();
    }
}
