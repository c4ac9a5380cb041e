//! What an observed server did: one line of JSON for each thing, the first time.

use std::{
    collections::BTreeSet,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// What `muxd observe` does.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ObservationPlan {
    /// The file that gets the observations.
    pub(super) record: PathBuf,
    /// The socket of the proxy that the server's requests are sent through.
    pub(super) proxy: PathBuf,
}

/// Something that a server asked the kernel for.
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
    /// A TCP port that it listens at itself.
    Listen(u16),
    /// A process whose memory could not be read.
    Unreadable,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileAccess {
    /// Its name or attributes were asked for.
    Look,
    Read,
    /// It existed and is changed or removed.
    Write,
    Create,
}

/// The observations in a file. It may not exist: the server was not started.
pub(super) fn read_observations(path: &Path) -> io::Result<BTreeSet<ObservedAction>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        bytes => bytes?,
    };
    // The last line may be incomplete, and a damaged one costs only itself.
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}
