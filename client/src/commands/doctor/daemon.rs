//! Checks the running daemon, or the leftovers of a daemon that has exited.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use mux_client::{ConnectError, Session, within_seconds};
use mux_proto::{Status, Welcome, endpoint::Dirs, version};

use super::{super::client_identity, CheckGroup};

/// Returns a session only if the daemon has the contract of this program.
pub(super) async fn check_daemon(group: &mut CheckGroup, dirs: &Dirs) -> Option<Session> {
    match mux_client::connect(dirs, &client_identity()).await {
        Ok(session) => {
            check_versions(group, &session.welcome);
            let same = session.welcome.contract == version::CONTRACT;
            return same.then_some(session);
        }
        Err(ConnectError::NotRunning) => check_leftovers(group, dirs),
        Err(error) => group.fail(
            error.to_string(),
            "`mux stop --now` ends a muxd that does not answer; `mux logs` shows what it did",
        ),
    }
    None
}

/// The status of the daemon, with a failure if it does not report it.
pub(super) async fn check_status(group: &mut CheckGroup, session: &Session) -> Option<Status> {
    match session.client.status(within_seconds(10)).await {
        Ok(Ok(status)) => return Some(status),
        Ok(Err(error)) => group.fail(error.message, "`mux logs` shows more"),
        Err(error) => group.fail(
            format!("it does not report its status: {error}"),
            "`mux logs` shows more, `mux restart` starts another",
        ),
    }
    None
}

fn check_versions(group: &mut CheckGroup, welcome: &Welcome) {
    let Welcome {
        contract,
        build,
        pid,
        ..
    } = welcome;
    let ours = version::CONTRACT;
    let our_build = version::BUILD;
    if *contract != ours {
        group.warn(
            format!("muxd {pid} speaks contract {contract} and mux speaks {ours}"),
            "`mux restart` starts the matching muxd; so does the next command that needs a daemon",
        );
    } else if build != our_build {
        group.warn(
            format!("muxd {pid} is build {build} and mux is {our_build}"),
            "`mux restart` starts the matching muxd",
        );
    } else {
        group.ok(format!(
            "muxd {pid} answers, build {build}, contract {ours}"
        ));
    }
}

fn check_leftovers(group: &mut CheckGroup, dirs: &Dirs) {
    match mux_client::lock_holder(dirs) {
        Ok(Some(pid)) => group.warn(
            format!("muxd {pid} holds its lock but does not answer: it is shutting down or hung"),
            "`mux stop` waits until it has exited, `mux stop --now` ends it at once",
        ),
        Ok(None) => group.note(
            "no muxd is running, so workers and servers were not checked",
            Some("`mux servers` starts one"),
        ),
        Err(error) => {
            let file = dirs.instance_lock().display().to_string();
            let fix = format!("remove {file} if no muxd is running");
            group.fail(format!("the lock {file} cannot be read: {error}"), fix);
        }
    }
    if is_lock_held(&dirs.keeper_lock()) {
        group.note(
            "the keeper of a muxd that has exited is still stopping its servers",
            Some("the next muxd waits for it, a few seconds at most"),
        );
    }
    check_stale_socket(group, &dirs.socket());
}

fn is_lock_held(lock: &Path) -> bool {
    let lock = File::open(lock).map(|lock| lock.try_lock_shared());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

#[cfg(unix)]
fn check_stale_socket(group: &mut CheckGroup, socket: &Path) {
    use std::os::unix::fs::FileTypeExt as _;

    let shown = socket.display();
    match socket.symlink_metadata() {
        Ok(found) if found.file_type().is_socket() && is_socket_listening(socket) => group.ok(
            format!("the system listens on {shown}, and starts muxd for the first client"),
        ),
        Ok(found) if found.file_type().is_socket() => group.note(
            format!("{shown} was left by a muxd that was killed"),
            Some("nothing to do: the next muxd replaces it"),
        ),
        Ok(found) if found.is_dir() => group.fail(
            format!("{shown} is a directory, but it must be the socket"),
            format!("remove {shown}"),
        ),
        _ => {}
    }
}

/// Returns true if a process listens on the socket. Does not connect, because that would start muxd. Linux only:
/// `false` on other systems.
#[cfg(unix)]
fn is_socket_listening(socket: &Path) -> bool {
    /// `__SO_ACCEPTCON` of the kernel.
    const SO_ACCEPTCON_FLAG: u32 = 0x1_0000;
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut here = sockets.lines().filter_map(|line| {
        // Number, references, protocol, flags, type, state, inode, and the path with its blanks.
        let (rest, path) = line.split_at_checked(line.find('/')?)?;
        let flags = rest.split_whitespace().nth(3)?;
        (Path::new(path) == socket).then(|| u32::from_str_radix(flags, 16).unwrap_or(0))
    });
    here.any(|flags| flags & SO_ACCEPTCON_FLAG != 0)
}

#[cfg(not(unix))]
fn check_stale_socket(_group: &mut CheckGroup, _socket: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use super::{super::CheckVerdict, *};

    fn verdicts(group: &CheckGroup) -> Vec<CheckVerdict> {
        group.checks.iter().map(|c| c.verdict).collect()
    }

    #[test]
    fn other_build_or_contract_is_reported_with_a_fix() {
        let mut welcome = Welcome {
            contract: version::CONTRACT,
            build: version::BUILD.into(),
            pid: 7,
            features: Vec::new(),
        };
        let mut group = CheckGroup::new("daemon");
        check_versions(&mut group, &welcome);
        welcome.build = "0.0.1".into();
        check_versions(&mut group, &welcome);
        welcome.contract += 1;
        check_versions(&mut group, &welcome);
        assert_eq!(
            verdicts(&group),
            [
                CheckVerdict::Ok,
                CheckVerdict::Warning,
                CheckVerdict::Warning
            ]
        );
        for check in &group.checks[1..] {
            assert!(check.fix.as_ref().unwrap().contains("mux restart"));
        }
    }

    #[test]
    fn leftovers_of_an_exited_daemon_are_reported() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        dirs.prepare().unwrap();
        let look = || {
            let mut group = CheckGroup::new("daemon");
            check_leftovers(&mut group, &dirs);
            verdicts(&group)
        };
        assert_eq!(look(), [CheckVerdict::Note]);
        let listener = UnixListener::bind(dirs.socket()).unwrap();
        let listened = if cfg!(target_os = "linux") {
            CheckVerdict::Ok
        } else {
            CheckVerdict::Note
        };
        assert_eq!(look(), [CheckVerdict::Note, listened]);
        drop(listener);
        assert_eq!(look(), [CheckVerdict::Note, CheckVerdict::Note]);
        fs::remove_file(dirs.socket()).unwrap();
        fs::create_dir(dirs.socket()).unwrap();
        assert_eq!(look(), [CheckVerdict::Note, CheckVerdict::Failure]);

        let lock = File::create(dirs.instance_lock()).unwrap();
        lock.lock().unwrap();
        fs::write(dirs.instance_lock(), r#"{"pid":7,"socket":"/x"}"#).unwrap();
        let keeper = File::create(dirs.keeper_lock()).unwrap();
        keeper.lock().unwrap();
        assert_eq!(
            look(),
            [
                CheckVerdict::Warning,
                CheckVerdict::Note,
                CheckVerdict::Failure
            ]
        );
    }
}
