//! Program names are file names. The file's mode makes a file executable.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

use super::{ChildEnvironment, ProgramKind};

/// Returns true if `program` is a bare name (`node`, not `./node` or `/bin/node`).
pub(super) fn is_bare(program: &Path) -> bool {
    !program.as_os_str().as_encoded_bytes().contains(&b'/')
}

/// Returns true if a search depends on this variable of the child.
pub(crate) fn is_search_variable(name: &OsStr) -> bool {
    is_path_variable(name)
}

pub(super) fn is_path_variable(name: &OsStr) -> bool {
    name == "PATH"
}

/// The files that a path may mean: one.
pub(super) fn candidates(path: PathBuf, _env: ChildEnvironment<'_>) -> Vec<PathBuf> {
    vec![path]
}

/// Looks in the file system, as the daemon's user.
pub(crate) fn look(path: &Path) -> ProgramKind {
    match path.metadata() {
        Err(_) => ProgramKind::Nothing,
        Ok(file) if file.is_file() && access(path, AccessFlags::X_OK).is_ok() => {
            ProgramKind::Executable
        }
        Ok(_) => ProgramKind::NotExecutable,
    }
}
