//! Directories in the user's profile, whose access list they inherit, and a named pipe instead of a socket file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{Dirs, EndpointError};

/// The longest name of a pipe, with its prefix.
pub(super) const MAX_SOCKET_PATH: usize = 256;

/// The configuration is in the part of the profile that follows the user to other machines, everything else in the local
/// one.
pub(super) fn dirs(base: &impl BaseStrategy) -> Dirs {
    let local = base.cache_dir().join("mux");
    let state = local.join("state");
    Dirs {
        config: base.config_dir().join("mux"),
        cache: local.join("cache"),
        runtime: state.join("run"),
        state,
    }
}

/// The name of the pipe says which runtime directory it belongs to. Names of pipes have no directories, and like paths
/// their case does not matter.
pub(super) fn socket(runtime: &Path) -> PathBuf {
    let runtime = runtime.to_string_lossy().to_lowercase();
    let name = runtime.replace(['\\', '/', ':'], "-");
    PathBuf::from(format!(r"\\.\pipe\mux-{name}-muxd"))
}

pub(super) fn create(path: &Path) -> Result<(), EndpointError> {
    let failed = |source| EndpointError::Create {
        path: path.to_owned(),
        source,
    };
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => Err(EndpointError::Symlink(path.to_owned())),
        Ok(found) if !found.is_dir() => Err(EndpointError::NotADirectory(path.to_owned())),
        Ok(_) => Ok(()),
        Err(_) => fs::create_dir_all(path).map_err(failed),
    }
}

/// Does nothing: a directory inherits the access list of its user profile.
pub(super) fn restrict(_path: &Path) -> Result<(), EndpointError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_pipe_has_no_directories() {
        let pipe = socket(Path::new(r"C:\Users\Me\mux/run"));
        assert_eq!(pipe, Path::new(r"\\.\pipe\mux-c--users-me-mux-run-muxd"));
    }
}
