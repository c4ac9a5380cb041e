//! An observed server's operations: one line of JSON for each, the first time it occurs.

use std::{
    collections::BTreeSet,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The task of `muxd observe`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ObservationPlan {
    /// The file that gets the observations.
    pub(super) record: PathBuf,
    /// The socket of the proxy through which the server's requests are sent.
    pub(super) proxy: PathBuf,
}

/// A request of a server to the kernel.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ObservedAction {
    File {
        access: FileAccess,
        path: PathBuf,
        is_folder: bool,
    },
    /// A Unix socket with a path.
    Socket(PathBuf),
    /// A TCP connection that was not made through the proxy.
    Connect(SocketAddr),
    /// A TCP port on which it listens.
    Listen(u16),
    /// A process whose memory could not be read.
    Unreadable,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileAccess {
    /// The file's name or attributes were read.
    Look,
    Read,
    /// The file existed, and was changed or removed.
    Write,
    Create,
}

/// The observations in a file. The file is missing if the server was not started.
pub(super) fn read_observations(path: &Path) -> io::Result<BTreeSet<ObservedAction>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        bytes => bytes?,
    };
    // The last line may be incomplete, and a damaged line loses only itself.
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}
