//! What a command takes from its process: environment variables, the working directory, and the daemon's directories.

use std::{env, path::PathBuf, sync::OnceLock};

use mux_client::{ClientIdentity, ConnectError};
use mux_proto::{Error, endpoint::Dirs, variables, version};

use crate::exit::unavailable_error;

/// The home of the daemon that this process uses, if it is not that of the environment.
pub(crate) static OWN_HOME: OnceLock<PathBuf> = OnceLock::new();

/// The daemon's directories, resolved from this process's environment.
pub(crate) fn resolve_dirs() -> Result<Dirs, ConnectError> {
    let home = OWN_HOME
        .get()
        .cloned()
        .or_else(|| env_path(variables::HOME));
    Ok(Dirs::resolve(home.as_deref())?)
}

/// The directory in which the command was started, to which paths on the command line are relative.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command reads its working directory"
)]
pub(crate) fn current_dir() -> Result<PathBuf, Error> {
    env::current_dir().map_err(|error| {
        unavailable_error(format!("cannot determine the current directory: {error}"))
    })
}

pub(crate) fn client_identity() -> ClientIdentity {
    ClientIdentity {
        workspace: current_dir().ok(),
        ..ClientIdentity::new("mux", version::BUILD)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command reads its environment"
)]
pub(crate) fn env_path(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
