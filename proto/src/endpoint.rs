//! Where everything stands: configuration, state, cache, socket, lock and logs.
//!
//! Pure but for [`Dirs::prepare`], which makes the directories and refuses those that another user
//! could have placed there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

/// The longest path that a Unix socket can have on every system that we know.
const MAX_SOCKET_PATH: usize = 103;

/// The four directories of one muxd.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Dirs {
    /// `config.toml` and `env`, which the user writes.
    pub config: PathBuf,
    /// Lock, logs, and what must not be lost.
    pub state: PathBuf,
    /// What can be computed again.
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

/// Why the directories cannot be used, with the way out.
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
    /// Everything under one directory, as `MUX_HOME` asks for.
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

    /// What `MUX_HOME` must be for these directories, if that is what they come from.
    pub fn home(&self) -> Option<&Path> {
        let home = self.config.as_path();
        (Self::under(home).ok().as_ref() == Some(self)).then_some(home)
    }

    /// `MUX_HOME` if it is set, otherwise the places that the system has for each.
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
        // Without a runtime directory the socket stands with the state, where nobody else can write.
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

    /// Held for life by the daemon. It stands with the state and not with the socket, so that two
    /// sessions with different runtime directories cannot start two daemons over one state.
    pub fn instance_lock(&self) -> PathBuf {
        self.state.join("muxd.lock")
    }

    /// What the last daemon wrote into the lock. It may be long gone.
    pub fn signature(&self) -> Option<Signature> {
        let word = fs::read_to_string(self.instance_lock()).ok()?;
        serde_json::from_str(word.lines().next()?).ok()
    }

    /// Where to look for a daemon: where the last one listened, which may have been started in a session
    /// with another runtime directory, and then at our own place. In this order, because at our place a
    /// service manager may listen, which would start another one.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let ours = self.socket();
        let theirs = self.signature().map(|signature| signature.socket);
        let theirs = theirs.filter(|socket| *socket != ours);
        theirs.into_iter().chain([ours]).collect()
    }

    /// Held by whoever is starting a daemon, from before the attempt until it serves.
    pub fn startup_lock(&self) -> PathBuf {
        self.state.join("startup.lock")
    }

    /// Held by the keeper of the server processes until the last of them is gone.
    pub fn keeper_lock(&self) -> PathBuf {
        self.state.join("keeper.lock")
    }

    /// Values that were too long for a message, until they expire.
    pub fn results(&self) -> PathBuf {
        self.cache.join("results")
    }

    /// Where `mux setup` unpacks TypeScript's compiler, one folder a version.
    pub fn typescript(&self) -> PathBuf {
        self.cache.join("typescript")
    }

    /// What the tools of each server were when they were first trusted.
    pub fn pins(&self) -> PathBuf {
        self.state.join("pins")
    }

    /// Tokens of those who have signed in to servers, and named secrets, unless the keyring has them.
    pub fn credentials(&self) -> PathBuf {
        self.state.join("credentials.json")
    }

    /// What whoever reads metrics over a port must know. Made when the port is first opened.
    pub fn metrics_token(&self) -> PathBuf {
        self.state.join("metrics.token")
    }

    /// What was called and decided, a line each.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }

    pub fn logs(&self) -> PathBuf {
        self.state.join("log")
    }

    /// What a server writes to its standard error.
    pub fn server_log(&self, server: &str) -> PathBuf {
        self.logs().join("servers").join(format!("{server}.log"))
    }

    /// Makes the directories with mode 0700 and refuses what another user could have placed there. What is right
    /// already is not touched, so that they may stand on a disk that cannot be written; the cache, which nobody needs,
    /// may also be missing.
    pub fn prepare(&self) -> Result<(), EndpointError> {
        let socket = self.socket();
        let length = socket.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(EndpointError::SocketPathTooLong {
                path: socket,
                length,
            });
        }
        // A configuration that is not there says nothing, wherever it could not be made.
        unless_protected(create(&self.config))?;
        for dir in [&self.state, &self.runtime] {
            create(dir)?;
            restrict(dir)?;
        }
        unless_protected(create(&self.cache).and_then(|()| restrict(&self.cache)))?;
        unless_protected(create(&self.logs().join("servers")))
    }
}

/// What cannot be made where nothing can be written, or nothing more, is done without.
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

/// Closes a directory of ours to everybody else.
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
    fn directories_are_made_for_their_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(&home.path().join("mux")).unwrap();
        dirs.prepare().unwrap();
        for dir in [&dirs.state, &dirs.cache, &dirs.runtime, &dirs.logs()] {
            assert_eq!(mode(dir), 0o700, "{dir:?}");
        }
        dirs.prepare().unwrap();
    }

    #[test]
    fn a_directory_of_ours_that_was_loosened_is_closed_again_unless_others_can_write() {
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
    fn links_and_files_in_the_way_are_refused_by_name() {
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
    fn long_and_relative_homes_are_refused_with_the_way_out() {
        let long = Dirs::under(&Path::new("/tmp").join("x".repeat(120))).unwrap();
        let error = long.prepare().unwrap_err().to_string();
        assert!(error.contains("shorter path"), "{error}");
        assert!(matches!(
            Dirs::resolve(Some(Path::new("mux"))),
            Err(EndpointError::RelativeHome(_))
        ));
    }
}
