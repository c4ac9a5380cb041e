//! Directories in the user's profile, whose access list they inherit, and a named pipe in place of a socket's file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::EndpointError;

/// The longest name of a pipe, with its prefix.
pub(super) const MAX_SOCKET_PATH: usize = 256;

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

/// Does nothing: a directory inherits the access list of the profile that it is in.
pub(super) fn restrict(_path: &Path) -> Result<(), EndpointError> {
    Ok(())
}
