//! Starts a daemon and waits for its own word that it serves.
//!
//! Invariant: whoever starts one holds the startup lock, so that a hundred clients at once start one
//! daemon; all others wait for the lock and then find it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use mux_proto::{
    endpoint::Dirs,
    lock_file,
    startup::{CHILD, Report},
    transport,
    variables::HOME,
};

use crate::ConnectError;

/// The new daemon may have to wait for its predecessor's drain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) async fn start(dirs: &Dirs, program: Option<PathBuf>) -> Result<(), ConnectError> {
    let path = dirs.startup_lock();
    let lock = {
        let path = path.clone();
        tokio::time::timeout(PATIENCE, blocking(move || take(&path))).await
    };
    let lock = lock.unwrap_or_else(|_| {
        let message = format!("whoever starts a daemon has held it for {PATIENCE:?}");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    });
    let lock = lock.map_err(|source| ConnectError::StartupLock { path, source })?;
    // Somebody else may have started one while we waited for the lock.
    if transport::dial_any(&dirs.sockets()).await.is_ok() {
        return Ok(());
    }
    let program = program.unwrap_or_else(beside_us);
    let (shown, home) = (program.clone(), dirs.home().map(Path::to_owned));
    let report = tokio::time::timeout(PATIENCE, blocking(move || run(&program, home, lock))).await;
    match report {
        Ok(Ok(Report::Ready { .. } | Report::AlreadyRunning {})) => Ok(()),
        Ok(Ok(Report::Failed { message })) => Err(ConnectError::DidNotStart(message)),
        Ok(Err(source)) if source.kind() == io::ErrorKind::UnexpectedEof => {
            Err(ConnectError::Stillborn)
        }
        Ok(Err(source)) => Err(ConnectError::Spawn {
            path: shown,
            source,
        }),
        Err(_) => Err(ConnectError::DidNotStart(format!(
            "it was not ready within {PATIENCE:?}"
        ))),
    }
}

/// Waits for the lock.
pub(crate) fn take(path: &Path) -> io::Result<File> {
    let file = lock_file::open(path)?;
    file.lock()?;
    Ok(file)
}

/// The daemon inherits the lock as its standard input and keeps it until it serves. It leaves our
/// session and terminal by itself: as the leader of a process group it could not.
fn run(program: &Path, home: Option<PathBuf>, lock: File) -> io::Result<Report> {
    let mut command = Command::new(program);
    command
        .arg(CHILD)
        .stdin(Stdio::from(lock))
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    match home {
        Some(home) => command.env(HOME, home),
        None => command.env_remove(HOME),
    };
    let mut child = command.spawn()?;
    // From here on the lock is the daemon's alone: should we be stopped, nobody else is.
    drop(command);
    let channel = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(channel).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_str(&line).map_err(io::Error::other)
}

/// `muxd` stands beside `mux`; if not, the search path decides.
pub fn beside_us() -> PathBuf {
    let name = format!("muxd{}", std::env::consts::EXE_SUFFIX);
    let sibling = std::env::current_exe()
        .ok()
        .map(|exe| exe.with_file_name(&name));
    sibling
        .filter(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from(name))
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, outcome) = tokio::sync::oneshot::channel();
    // tokio's own would panic where the system starts no more threads.
    thread::Builder::new().spawn(move || {
        // Whoever waited may have lost patience.
        drop(done.send(work()));
    })?;
    outcome.await.map_err(io::Error::other)?
}
