//! The paths of configuration, state, cache, socket, locks and logs.
//!
//! Pure except for [`Dirs::signature`], which reads the instance lock, and [`Dirs::prepare`], which creates the
//! directories and refuses directories that another user could have placed there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use self::system::{MAX_SOCKET_PATH, create, restrict};
use crate::lock_file;

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

/// The content that a daemon writes into its instance lock.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Signature {
    pub pid: u32,
    /// Where it listens.
    pub socket: PathBuf,
}

/// Why the directories cannot be used, with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error("cannot find a home directory; set HOME, or MUX_HOME to a directory that you own")]
    NoHome,
    #[error("MUX_HOME must be an absolute path, not {0:?}")]
    RelativeHome(PathBuf),
    #[error("cannot create {path:?}: {source}; set MUX_HOME to a directory that you can write")]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "{path:?} belongs to user {owner}, not to you ({me}); set MUX_HOME to a directory that you own"
    )]
    ForeignOwner { path: PathBuf, owner: u32, me: u32 },
    #[error("{0:?} is a symbolic link; name the directory itself in MUX_HOME")]
    Symlink(PathBuf),
    #[error("{0:?} is not a directory; remove it, or set MUX_HOME elsewhere")]
    NotADirectory(PathBuf),
    #[error("others can write to {path:?} (mode {mode:03o}); run: chmod go-w {path:?}")]
    WritableByOthers { path: PathBuf, mode: u32 },
    #[error("{path:?} is not writable by you; run: chmod u+rwx {path:?}")]
    NotWritable { path: PathBuf },
    #[error(
        "the socket path {path:?} has {length} bytes and the system allows {MAX_SOCKET_PATH}; \
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
        Ok(system::dirs(&base))
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// `NAME=value` lines for servers.
    pub fn env_file(&self) -> PathBuf {
        self.config.join("env")
    }

    /// Where the daemon listens: a file in the runtime directory, or on Windows a named pipe whose name is derived from
    /// that directory.
    pub fn socket(&self) -> PathBuf {
        system::socket(&self.runtime)
    }

    /// Held by the daemon as long as it serves. The lock is in the state directory, not beside the socket. Otherwise
    /// two login sessions with different runtime directories could start two daemons over one state.
    pub fn instance_lock(&self) -> PathBuf {
        self.state.join("muxd.lock")
    }

    /// The content that the last daemon wrote into the instance lock, or beside it on Windows. That daemon may have
    /// exited long ago.
    pub fn signature(&self) -> Option<Signature> {
        let lock = self.instance_lock();
        let word = fs::read_to_string(lock_file::separate_record(&lock).unwrap_or(lock)).ok()?;
        serde_json::from_str(word.lines().next()?).ok()
    }

    /// The sockets at which to look for a daemon: first the socket that the last daemon wrote into the instance lock,
    /// which may be in another runtime directory, then [`Dirs::socket`]. The order matters, because a service manager
    /// may listen at the latter, and would start another daemon.
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

    /// Held by a command while it replaces config.toml or another file that it edits.
    pub fn edit_lock(&self) -> PathBuf {
        self.state.join("edit.lock")
    }

    /// Held by the keeper of the server processes until the last of them has exited.
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

    /// Exists once `mux run` has offered to install the compiler.
    pub fn compiler_offer(&self) -> PathBuf {
        self.state.join("compiler-offered")
    }

    /// The servers that `mux import --move` took out of the agents' files.
    pub fn moved_servers(&self) -> PathBuf {
        self.state.join("moved.json")
    }

    /// What `mux init` has done, for `mux init --undo`.
    pub fn init_record(&self) -> PathBuf {
        self.state.join("init.json")
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

    /// The database of past runs. There is none before the first daemon.
    pub fn history(&self) -> PathBuf {
        self.state.join("history.db")
    }

    /// The audit log of calls and decisions.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }

    pub fn logs(&self) -> PathBuf {
        self.state.join("log")
    }

    /// The log of a server's standard error.
    pub fn server_log(&self, server: &str) -> PathBuf {
        self.logs().join("servers").join(format!("{server}.log"))
    }

    /// Creates the directories with mode 0700 and refuses directories that another user could have placed there.
    /// Directories that are already right are not touched, so they may be on a read-only disk. The cache may also be
    /// missing.
    pub fn prepare(&self) -> Result<(), EndpointError> {
        let socket = self.socket();
        let length = socket.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(EndpointError::SocketPathTooLong {
                path: socket,
                length,
            });
        }
        // A missing configuration directory means an empty configuration, no matter why it could not be created.
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
