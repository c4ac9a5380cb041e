//! muxd's own paths, which a sandbox must not contain.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use mux_paths::{file_identity::FileIdentity, opened_object::identify_object};
use serde::{Deserialize, Serialize};

use super::{
    granted_paths::GrantedPath,
    machine::SandboxSupport,
    plan::{ConfineError, SandboxDirs},
    program_files::SYSTEM_FOLDERS,
};

/// A folder that an empty folder covers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct HiddenPath {
    /// The path at which the server would see it.
    pub(super) at: PathBuf,
    /// The folder that the server must not see there.
    pub(super) identity: Option<FileIdentity>,
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// muxd's folders that have to be hidden from a server that may read a folder around them.
pub(super) fn hidden_paths(
    read: &[GrantedPath],
    write: &[GrantedPath],
    dirs: &SandboxDirs,
    support: &SandboxSupport,
) -> Result<Vec<HiddenPath>, ConfineError> {
    let mut hidden = BTreeMap::new();
    for own in &dirs.protected {
        let own_real = real(own);
        let mut all = read.iter().chain(write);
        let is_inside = |granted: &&GrantedPath| {
            [&granted.at, &granted.real]
                .iter()
                .any(|granted| granted.starts_with(own) || granted.starts_with(&own_real))
        };
        if let Some(granted) = all.find(is_inside) {
            return Err(ConfineError::BadPath(format!(
                "its sandbox cannot contain {}, which is muxd's own",
                granted.at.display()
            )));
        }
        let is_above =
            |granted: &&GrantedPath| granted.contains(own) || granted.contains(&own_real);
        // A mount protects itself, but not the folders above it, which the server could move away.
        if let Some(granted) = write.iter().find(is_above) {
            return Err(ConfineError::BadPath(format!(
                "{} contains {}, which is muxd's own: the server could replace it; grant folders beside it in sandbox.write",
                granted.at.display(),
                own.display()
            )));
        }
        let around = read.iter().filter(is_above);
        let around = around.map(|granted| (&*granted.at, &*granted.real));
        let system = SYSTEM_FOLDERS.iter().map(Path::new);
        let system =
            system.filter(|folder| own.starts_with(folder) || own_real.starts_with(folder));
        for (at, granted) in around.chain(system.map(|folder| (folder, folder))) {
            if !support.bubblewrap.works() {
                let fix = if support.seatbelt {
                    "on Linux".to_owned()
                } else {
                    format!("with bubblewrap; {}", support.bubblewrap.remedy())
                };
                return Err(ConfineError::Unenforceable(format!(
                    "{} contains {}, which is muxd's own and can only be hidden {fix}; or grant folders beside it",
                    at.display(),
                    own.display()
                )));
            }
            if let Some(found) = hidden_below(at, granted, &own_real)? {
                hidden.insert(found.at.clone(), found);
            }
        }
    }
    Ok(hidden.into_values().collect())
}

/// The folder to hide for one of muxd's own paths, below a folder that the server sees at `at`. For a file this is its
/// folder: writing replaces the file, which would remove a cover on the file itself.
fn hidden_below(at: &Path, granted: &Path, own: &Path) -> Result<Option<HiddenPath>, ConfineError> {
    let folder = if own.is_dir() {
        own
    } else {
        own.parent().unwrap_or(own)
    };
    match folder.strip_prefix(granted) {
        Ok(below) if below.as_os_str().is_empty() => Err(ConfineError::BadPath(format!(
            "{} contains {}, which is muxd's own and cannot be hidden there; grant folders beside it",
            at.display(),
            own.display()
        ))),
        Ok(below) => Ok(Some(HiddenPath {
            at: at.join(below),
            // A path that does not exist yet needs no cover now, and is created in the cover later.
            identity: identify_object(folder).ok(),
        })),
        // The folder contains the granted path, which does not contain the file.
        Err(_) => Ok(None),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::{grant_record::GrantRecord, machine::Bubblewrap};

    #[test]
    fn folder_of_a_single_file_is_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let support = SandboxSupport {
            bubblewrap: Bubblewrap::Works("/usr/bin/bwrap".into()),
            ..SandboxSupport::default()
        };
        fs::create_dir(home.join("mux")).unwrap();
        fs::write(home.join("mux/config.toml"), "").unwrap();
        let dirs = SandboxDirs {
            private: home.join("cache"),
            egress: home.join("run"),
            protected: vec![home.join("mux/config.toml")],
            record: GrantRecord::new(home.join("grants.json")),
        };
        fs::create_dir(home.join("other")).unwrap();
        let reading = |path: &Path| {
            let read = [GrantedPath::resolve(path).unwrap()];
            hidden_paths(&read, &[], &dirs, &support)
        };
        let hidden = reading(&home).unwrap();
        assert_eq!(hidden[0].at, home.join("mux"));
        assert_eq!(hidden[0].identity, identify_object(&home.join("mux")).ok());
        reading(&home.join("mux")).unwrap_err();
        assert!(reading(&home.join("other")).unwrap().is_empty());
    }
}
