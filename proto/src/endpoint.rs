//! The paths of configuration, state, cache, socket, locks and logs.
//!
//! Pure except for [`Dirs::signature`], which reads the instance lock, and [`Dirs::prepare`], which creates the
//! directories and refuses those that another user could have placed there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

/// The longest path of a Unix socket that every supported system accepts.
const MAX_SOCKET_PATH: usize = 103;

/// The four directories of one muxd.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Dirs {
    /// `config.toml` and `env`, which the user writes.
    pub config: PathBuf,
    /// Locks, logs, and data that must not be lost.
    pub state: PathBuf,
    /// Data that can be computed again.
    pub cache: PathBuf,
    /// The socket.
    pub runtime: PathBuf,
}

/// What a daemon writes into its instance lock.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Signature {
    pub pid: u32,
    /// Where it listens.
    pub socket: PathBuf,
}

/// Why the directories cannot be used, with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error("cannot find a home directory; set HOME, or MUX_HOME to a directory of your own")]
    NoHome,
    #[error("MUX_HOME must be an absolute path, not {0:?}")]
    RelativeHome(PathBuf),
    #[error("cannot create {path:?}: {source}; set MUX_HOME to a directory that you can write")]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "{path:?} belongs to user {owner}, not to you ({me}); set MUX_HOME to a directory of your own"
    )]
    ForeignOwner { path: PathBuf, owner: u32, me: u32 },
    #[error("{0:?} is a symbolic link; name the directory itself in MUX_HOME")]
    Symlink(PathBuf),
    #[error("{0:?} is not a directory; remove it, or set MUX_HOME elsewhere")]
    NotADirectory(PathBuf),
    #[error("others can write to {path:?} (mode {mode:03o}); run: chmod go-w {path:?}")]
    WritableByOthers { path: PathBuf, mode: u32 },
    #[error("{path:?} is not writable for you; run: chmod u+rwx {path:?}")]
    NotWritable { path: PathBuf },
    #[error(
        "the socket path {path:?} has {length} bytes and the system takes {MAX_SOCKET_PATH}; \
         set MUX_HOME to a shorter path"
    )]
    SocketPathTooLong { path: PathBuf, length: usize },
}

impl Dirs {
    /// All directories under one, as `MUX_HOME` requests.
    pub fn under(home: &Path) -> Result<Self, EndpointError> {
        if !home.is_absolute() {
            return Err(EndpointError::RelativeHome(home.to_owned()));
        }
        Ok(Self {
            config: home.to_owned(),
            state: home.join("state"),
            cache: home.join("cache"),
            runtime: home.join("run"),
        })
    }

    /// The value of `MUX_HOME` that leads to these directories, if there is one.
    pub fn home(&self) -> Option<&Path> {
        let home = self.config.as_path();
        (Self::under(home).ok().as_ref() == Some(self)).then_some(home)
    }

    /// The directories under `MUX_HOME` if it is set, otherwise the system's directories for each purpose.
    pub fn resolve(mux_home: Option<&Path>) -> Result<Self, EndpointError> {
        match mux_home {
            Some(home) if !home.as_os_str().is_empty() => Self::under(home),
            _ => Self::of_system(),
        }
    }

    fn of_system() -> Result<Self, EndpointError> {
        let base =
            etcetera::base_strategy::choose_native_strategy().map_err(|_| EndpointError::NoHome)?;
        let state = base
            .state_dir()
            .unwrap_or_else(|| base.data_dir())
            .join("mux");
        // Without a runtime directory the socket is in the state directory, where no other user can write.
        let runtime = base
            .runtime_dir()
            .map_or_else(|| state.join("run"), |dir| dir.join("mux"));
        Ok(Self {
            config: base.config_dir().join("mux"),
            cache: base.cache_dir().join("mux"),
            state,
            runtime,
        })
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// `NAME=value` lines for servers.
    pub fn env_file(&self) -> PathBuf {
        self.config.join("env")
    }

    pub fn socket(&self) -> PathBuf {
        self.runtime.join("muxd.sock")
    }

    /// Held by the daemon as long as it serves. It is in the state directory and not beside the socket, so that two
    /// login sessions with different runtime directories cannot start two daemons over one state.
    pub fn instance_lock(&self) -> PathBuf {
        self.state.join("muxd.lock")
    }

    /// What the last daemon wrote into the instance lock. That daemon may have exited long ago.
    pub fn signature(&self) -> Option<Signature> {
        let word = fs::read_to_string(self.instance_lock()).ok()?;
        serde_json::from_str(word.lines().next()?).ok()
    }

    /// The sockets at which to look for a daemon: first the one that the last daemon wrote into the instance lock,
    /// which may be in another runtime directory, then the one of [`Dirs::socket`]. The order matters, because a
    /// service manager may listen at the latter, and would start another daemon.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let ours = self.socket();
        let theirs = self.signature().map(|signature| signature.socket);
        let theirs = theirs.filter(|socket| *socket != ours);
        theirs.into_iter().chain([ours]).collect()
    }

    /// Held by the process that starts a daemon, from before the attempt until the daemon serves.
    pub fn startup_lock(&self) -> PathBuf {
        self.state.join("startup.lock")
    }

    /// Held by the keeper of the server processes until the last of them is gone.
    pub fn keeper_lock(&self) -> PathBuf {
        self.state.join("keeper.lock")
    }

    /// Stored values that were too long for a message, until they expire.
    pub fn results(&self) -> PathBuf {
        self.cache.join("results")
    }

    /// Where `mux setup` unpacks TypeScript's compiler, one folder for each version.
    pub fn typescript(&self) -> PathBuf {
        self.cache.join("typescript")
    }

    /// The servers that `mux import --move` took out of the agents' files.
    pub fn moved_servers(&self) -> PathBuf {
        self.state.join("moved.json")
    }

    /// The pins: what the tools of each server were when they were first trusted.
    pub fn pins(&self) -> PathBuf {
        self.state.join("pins")
    }

    /// The tokens of logins, and named secrets, unless they are in the keyring.
    pub fn credentials(&self) -> PathBuf {
        self.state.join("credentials.json")
    }

    /// The token that readers of the metrics port must present. Created when the port is first opened.
    pub fn metrics_token(&self) -> PathBuf {
        self.state.join("metrics.token")
    }

    /// The audit log of calls and decisions.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }

    pub fn logs(&self) -> PathBuf {
        self.state.join("log")
    }

    /// The log of what a server writes to its standard error.
    pub fn server_log(&self, server: &str) -> PathBuf {
        self.logs().join("servers").join(format!("{server}.log"))
    }

    /// Creates the directories with mode 0700 and refuses those that another user could have placed there. Directories
    /// that are already right are not touched, so they may be on a read-only disk; the cache may also be missing.
    pub fn prepare(&self) -> Result<(), EndpointError> {
        let socket = self.socket();
        let length = socket.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(EndpointError::SocketPathTooLong {
                path: socket,
                length,
            });
        }
        // A missing configuration directory means an empty configuration, whatever kept it from being created.
        unless_protected(create(&self.config))?;
        for dir in [&self.state, &self.runtime] {
            create(dir)?;
            restrict(dir)?;
        }
        unless_protected(create(&self.cache).and_then(|()| restrict(&self.cache)))?;
        unless_protected(create(&self.logs().join("servers")))
    }
}

/// Ignores failures to create a directory on a disk that is read-only, protected or full.
fn unless_protected(made: Result<(), EndpointError>) -> Result<(), EndpointError> {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match made {
        Err(EndpointError::Create { source, .. })
            if matches!(
                source.kind(),
                PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
            ) =>
        {
            Ok(())
        }
        made => made,
    }
}

#[cfg(unix)]
fn create(path: &Path) -> Result<(), EndpointError> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

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
#[cfg(unix)]
fn restrict(path: &Path) -> Result<(), EndpointError> {
    use std::os::unix::fs::PermissionsExt;
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

#[cfg(not(unix))]
fn create(path: &Path) -> Result<(), EndpointError> {
    fs::create_dir_all(path).map_err(|source| EndpointError::Create {
        path: path.to_owned(),
        source,
    })
}

#[cfg(not(unix))]
fn restrict(_path: &Path) -> Result<(), EndpointError> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn directories_are_created_for_their_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(&home.path().join("mux")).unwrap();
        dirs.prepare().unwrap();
        for dir in [&dirs.state, &dirs.cache, &dirs.runtime, &dirs.logs()] {
            assert_eq!(mode(dir), 0o700, "{dir:?}");
        }
        dirs.prepare().unwrap();
    }

    #[test]
    fn loosened_directory_is_restricted_again_unless_others_can_write() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        dirs.prepare().unwrap();
        fs::set_permissions(&dirs.runtime, fs::Permissions::from_mode(0o755)).unwrap();
        dirs.prepare().unwrap();
        assert_eq!(mode(&dirs.runtime), 0o700);
        fs::set_permissions(&dirs.runtime, fs::Permissions::from_mode(0o777)).unwrap();
        let error = dirs.prepare().unwrap_err().to_string();
        assert!(error.contains("chmod go-w"), "{error}");
    }

    #[test]
    fn symlinks_and_files_in_place_of_a_directory_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        symlink("/tmp", &dirs.state).unwrap();
        assert!(matches!(dirs.prepare(), Err(EndpointError::Symlink(p)) if p == dirs.state));
        fs::remove_file(&dirs.state).unwrap();
        fs::write(&dirs.state, "").unwrap();
        assert!(matches!(
            dirs.prepare(),
            Err(EndpointError::NotADirectory(_))
        ));
    }

    #[test]
    fn long_and_relative_homes_are_refused_with_a_remedy() {
        let long = Dirs::under(&Path::new("/tmp").join("x".repeat(120))).unwrap();
        let error = long.prepare().unwrap_err().to_string();
        assert!(error.contains("shorter path"), "{error}");
        assert!(matches!(
            Dirs::resolve(Some(Path::new("mux"))),
            Err(EndpointError::RelativeHome(_))
        ));
    }
}
