//! Starts a daemon and waits for its report that it serves.
//!
//! Invariant: a client holds the startup lock while it starts a daemon. Concurrent clients therefore start only one;
//! the others wait for the lock and then connect. On Windows, where a lock is not inherited, several clients may start
//! a daemon: all except the first find that another daemon serves, and exit.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

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

/// The timeout for a start. The new daemon may need to wait until its predecessor has drained.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(40);

pub(crate) async fn start_daemon(
    dirs: &Dirs,
    program: Option<PathBuf>,
) -> Result<(), ConnectError> {
    let path = dirs.startup_lock();
    let lock = {
        let path = path.clone();
        tokio::time::timeout(STARTUP_TIMEOUT, run_blocking(move || lock_startup(&path))).await
    };
    let lock = lock.unwrap_or_else(|_| {
        let message =
            format!("another client that is starting a daemon has held it for {STARTUP_TIMEOUT:?}");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    });
    let lock = lock.map_err(|source| ConnectError::StartupLock { path, source })?;
    // Another client may have started one while we waited for the lock.
    if transport::dial_any(&dirs.sockets()).await.is_ok() {
        return Ok(());
    }
    let program = program.unwrap_or_else(beside_us);
    let shown = program.clone();
    let home = dirs.home().map(Path::to_owned);
    let startup_lock = dirs.startup_lock();
    let report = tokio::time::timeout(
        STARTUP_TIMEOUT,
        run_blocking(move || {
            let lock = system::hand_over(lock, &startup_lock)?;
            spawn_and_read_report(&program, home, lock)
        }),
    )
    .await;
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
            "it was not ready within {STARTUP_TIMEOUT:?}"
        ))),
    }
}

/// Takes the startup lock, and blocks until it is free.
pub(crate) fn lock_startup(path: &Path) -> io::Result<File> {
    let file = lock_file::open(path)?;
    file.lock()?;
    Ok(file)
}

/// Spawns the daemon and reads its report. The daemon inherits the lock as its standard input and holds it until it
/// serves. On Unix, the daemon leaves our session and terminal by itself, which the leader of a process group cannot
/// do.
fn spawn_and_read_report(program: &Path, home: Option<PathBuf>, lock: File) -> io::Result<Report> {
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
    let mut child = system::spawn_daemon(&mut command)?;
    // From here on, only the daemon holds the lock: if this process is stopped, other clients are not blocked.
    drop(command);
    let channel = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(channel).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_str(&line).map_err(io::Error::other)
}

/// The path of `muxd`: next to this program, otherwise looked up in `PATH`.
pub fn beside_us() -> PathBuf {
    let name = format!("muxd{}", std::env::consts::EXE_SUFFIX);
    let sibling = std::env::current_exe()
        .ok()
        .map(|exe| exe.with_file_name(&name));
    sibling
        .filter(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from(name))
}

pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, outcome) = tokio::sync::oneshot::channel();
    // tokio's `spawn_blocking` would panic if no thread can be started.
    thread::Builder::new().spawn(move || {
        // The receiver may have timed out.
        drop(done.send(work()));
    })?;
    outcome.await.map_err(io::Error::other)?
}
