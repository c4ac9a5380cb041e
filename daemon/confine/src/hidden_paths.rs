//! The paths that a sandbox must not contain: muxd's own, and those that the server could replace by others.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use mux_settings::ServerSandbox;

use super::{
    machine::SandboxSupport,
    plan::{ConfineError, SandboxDirs},
    program_files::{ProgramFiles, SYSTEM_FOLDERS},
};

/// Refuses what the server could turn into access to other files before its next start, by changing a file or a link
/// that decides what it is granted.
pub(super) fn refuse_changeable_paths(
    sandbox: &ServerSandbox,
    files: &ProgramFiles,
) -> Result<(), ConfineError> {
    if let Some((from, to)) = &files.escape {
        return Err(ConfineError::BadPath(format!(
            "{} leads to {}, and the server may change where it leads; add {} to sandbox.read, or keep the program out of sandbox.write",
            from.display(),
            to.display(),
            to.display()
        )));
    }
    for folder in &sandbox.write {
        let real_folder = real(folder);
        for granted in sandbox.read.iter().chain(&sandbox.write) {
            if granted.starts_with(folder) && !real(granted).starts_with(&real_folder) {
                return Err(ConfineError::BadPath(format!(
                    "{} is a link out of {}, which the server may change; grant {} instead",
                    granted.display(),
                    folder.display(),
                    real(granted).display()
                )));
            }
        }
    }
    Ok(())
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The folders of muxd that have to be hidden from a server whose entry grants reading a folder around them.
pub(super) fn hidden_paths(
    sandbox: &ServerSandbox,
    program: &[PathBuf],
    dirs: &SandboxDirs,
    support: &SandboxSupport,
) -> Result<Vec<PathBuf>, ConfineError> {
    let mut hidden = BTreeSet::new();
    let system: Vec<PathBuf> = SYSTEM_FOLDERS.iter().map(PathBuf::from).collect();
    for own in &dirs.protected {
        let own_paths = BTreeSet::from([own.clone(), real(own)]);
        for granted in sandbox.read.iter().chain(&sandbox.write).chain(program) {
            let granted_paths = [granted.clone(), real(granted)];
            let is_inside = |path: &PathBuf| own_paths.iter().any(|own| path.starts_with(own));
            if granted_paths.iter().any(is_inside) {
                return Err(ConfineError::BadPath(format!(
                    "its sandbox cannot contain {}, which is muxd's own",
                    granted.display()
                )));
            }
        }
        let is_above = |granted: &PathBuf| {
            let granted = [granted.clone(), real(granted)];
            let mut pairs = granted.iter().flat_map(|granted| {
                let own_paths = own_paths.iter();
                own_paths.map(move |own| own.starts_with(granted))
            });
            pairs.any(|is_above| is_above)
        };
        // A mount protects itself, and not the folders above it, which the server could move away.
        if let Some(granted) = sandbox.write.iter().find(|granted| is_above(granted)) {
            return Err(ConfineError::BadPath(format!(
                "{} contains {}, which is muxd's own: the server could replace it; grant folders beside it in sandbox.write",
                granted.display(),
                own.display()
            )));
        }
        let around = sandbox.read.iter().chain(program).chain(&system);
        for granted in around.filter(|granted| is_above(granted)) {
            if !support.bubblewrap.works() {
                let fix = match support.seatbelt {
                    true => "on Linux".to_owned(),
                    false => format!("with bubblewrap; {}", support.bubblewrap.remedy()),
                };
                return Err(ConfineError::Unenforceable(format!(
                    "{} contains {}, which is muxd's own and can only be hidden {fix}; or grant folders beside it",
                    granted.display(),
                    own.display()
                )));
            }
            hidden.extend(hidden_below(granted, &real(own))?);
        }
    }
    Ok(hidden.into_iter().collect())
}

/// The folder to hide of muxd's own path, below a granted folder. A file is replaced when it is written, which would
/// remove what covered it: its folder is hidden.
fn hidden_below(granted: &Path, own: &Path) -> Result<Option<PathBuf>, ConfineError> {
    let folder = match own.is_dir() {
        true => own,
        false => own.parent().unwrap_or(own),
    };
    match folder.strip_prefix(real(granted)) {
        Ok(below) if below.as_os_str().is_empty() => Err(ConfineError::BadPath(format!(
            "{} contains {}, which is muxd's own and cannot be hidden there; grant folders beside it",
            granted.display(),
            own.display()
        ))),
        Ok(below) => Ok(Some(granted.join(below))),
        // The folder contains the granted path, which does not contain the file.
        Err(_) => Ok(None),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::machine::Bubblewrap;

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
        };
        let reading = |path: &Path| ServerSandbox {
            read: vec![path.to_owned()],
            ..ServerSandbox::default()
        };
        let hidden = hidden_paths(&reading(&home), &[], &dirs, &support).unwrap();
        assert_eq!(hidden, [home.join("mux")]);
        hidden_paths(&reading(&home.join("mux")), &[], &dirs, &support).unwrap_err();
        let beside = reading(&home.join("other"));
        assert!(
            hidden_paths(&beside, &[], &dirs, &support)
                .unwrap()
                .is_empty()
        );
    }
}
