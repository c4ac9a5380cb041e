//! Directories that belong to the user alone, by their owner and mode, and a socket that is a file.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{Dirs, EndpointError};

/// The longest path of a Unix socket that every supported system accepts.
pub(super) const MAX_SOCKET_PATH: usize = 103;

pub(super) fn dirs(base: &impl BaseStrategy) -> Dirs {
    let state = base
        .state_dir()
        .unwrap_or_else(|| base.data_dir())
        .join("mux");
    // Without a runtime directory the socket is in the state directory, where no other user can write.
    let runtime = base
        .runtime_dir()
        .map_or_else(|| state.join("run"), |dir| dir.join("mux"));
    Dirs {
        config: base.config_dir().join("mux"),
        cache: base.cache_dir().join("mux"),
        state,
        runtime,
    }
}

pub(super) fn socket(runtime: &Path) -> PathBuf {
    runtime.join("muxd.sock")
}

pub(super) fn create(path: &Path) -> Result<(), EndpointError> {
    if path.symlink_metadata().is_err() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|source| EndpointError::Create {
                path: path.to_owned(),
                source,
            })?;
    }
    let found = path
        .symlink_metadata()
        .map_err(|source| EndpointError::Create {
            path: path.to_owned(),
            source,
        })?;
    let me = nix::unistd::geteuid().as_raw();
    if found.is_symlink() {
        Err(EndpointError::Symlink(path.to_owned()))
    } else if !found.is_dir() {
        Err(EndpointError::NotADirectory(path.to_owned()))
    } else if found.uid() != me {
        Err(EndpointError::ForeignOwner {
            path: path.to_owned(),
            owner: found.uid(),
            me,
        })
    } else if found.mode() & 0o022 != 0 {
        let mode = found.mode() & 0o777;
        Err(EndpointError::WritableByOthers {
            path: path.to_owned(),
            mode,
        })
    } else if found.mode() & 0o300 != 0o300 {
        Err(EndpointError::NotWritable {
            path: path.to_owned(),
        })
    } else {
        Ok(())
    }
}

/// Restricts a directory to its owner.
pub(super) fn restrict(path: &Path) -> Result<(), EndpointError> {
    let mode = fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
    if mode.is_ok_and(|mode| mode == 0o700) {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|source| {
        EndpointError::Create {
            path: path.to_owned(),
            source,
        }
    })
}
