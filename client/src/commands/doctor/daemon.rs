//! Checks the running daemon, or what is left of one that has exited.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use mux_client::{ConnectError, Session};
use mux_proto::{Welcome, endpoint::Dirs, version};

use super::{super::me, Group};

const NAME: &str = "daemon";

/// Returns a session only if the daemon has the contract of this program.
pub(super) async fn look(dirs: &Dirs) -> (Group, Option<Session>) {
    let mut group = Group::new(NAME);
    match mux_client::connect(dirs, &me()).await {
        Ok(session) => {
            greeted(&mut group, &session.welcome);
            let same = session.welcome.contract == version::CONTRACT;
            return (group, same.then_some(session));
        }
        Err(ConnectError::NotRunning) => absent(&mut group, dirs),
        Err(error) => group.fail(
            error.to_string(),
            "`mux stop --now` ends a muxd that does not answer; `mux logs` shows what it did",
        ),
    }
    (group, None)
}

fn greeted(group: &mut Group, welcome: &Welcome) {
    let Welcome {
        contract,
        build,
        pid,
        ..
    } = welcome;
    let (ours, our_build) = (version::CONTRACT, version::BUILD);
    if *contract != ours {
        group.warn(
            format!("muxd {pid} speaks contract {contract} and mux speaks {ours}"),
            "`mux restart` changes over; so does the next command that needs a daemon",
        );
    } else if build != our_build {
        group.warn(
            format!("muxd {pid} is build {build} and mux is {our_build}"),
            "`mux restart` changes over",
        );
    } else {
        group.ok(format!(
            "muxd {pid} answers, build {build}, contract {ours}"
        ));
    }
}

fn absent(group: &mut Group, dirs: &Dirs) {
    match mux_client::holder(dirs) {
        Ok(Some(pid)) => group.warn(
            format!("muxd {pid} holds its lock and does not answer: it is ending, or it hangs"),
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
    if is_held(&dirs.keeper_lock()) {
        group.note(
            "the keeper of a muxd that has exited is still stopping its servers",
            Some("the next muxd waits for it, a few seconds at most"),
        );
    }
    leftover(group, &dirs.socket());
}

fn is_held(lock: &Path) -> bool {
    let lock = File::open(lock).map(|lock| lock.try_lock_shared());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

#[cfg(unix)]
fn leftover(group: &mut Group, socket: &Path) {
    use std::os::unix::fs::FileTypeExt as _;

    let shown = socket.display();
    match socket.symlink_metadata() {
        Ok(found) if found.file_type().is_socket() && is_listened_on(socket) => group.ok(format!(
            "the system listens on {shown}, and starts muxd for the first client"
        )),
        Ok(found) if found.file_type().is_socket() => group.note(
            format!("{shown} was left by a muxd that was killed"),
            Some("nothing to do: the next muxd replaces it"),
        ),
        Ok(found) if found.is_dir() => group.fail(
            format!("{shown} is a directory, and the socket belongs there"),
            format!("remove {shown}"),
        ),
        _ => {}
    }
}

/// Whether a process listens on the socket, found without a connection, which would start muxd. Linux only: `false`
/// on other systems.
#[cfg(unix)]
fn is_listened_on(socket: &Path) -> bool {
    /// `__SO_ACCEPTCON` of the kernel.
    const LISTENS: u32 = 0x1_0000;
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut here = sockets.lines().filter_map(|line| {
        // Number, references, protocol, flags, type, state, inode, and the path with its blanks.
        let (rest, path) = line.split_at_checked(line.find('/')?)?;
        let flags = rest.split_whitespace().nth(3)?;
        (Path::new(path) == socket).then(|| u32::from_str_radix(flags, 16).unwrap_or(0))
    });
    here.any(|flags| flags & LISTENS != 0)
}

#[cfg(not(unix))]
fn leftover(_group: &mut Group, _socket: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use super::{super::Verdict, *};

    fn verdicts(group: &Group) -> Vec<Verdict> {
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
        let mut group = Group::new(NAME);
        greeted(&mut group, &welcome);
        welcome.build = "0.0.1".into();
        greeted(&mut group, &welcome);
        welcome.contract += 1;
        greeted(&mut group, &welcome);
        assert_eq!(
            verdicts(&group),
            [Verdict::Ok, Verdict::Warning, Verdict::Warning]
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
            let mut group = Group::new(NAME);
            absent(&mut group, &dirs);
            verdicts(&group)
        };
        assert_eq!(look(), [Verdict::Note]);
        let listener = UnixListener::bind(dirs.socket()).unwrap();
        let listened = if cfg!(target_os = "linux") {
            Verdict::Ok
        } else {
            Verdict::Note
        };
        assert_eq!(look(), [Verdict::Note, listened]);
        drop(listener);
        assert_eq!(look(), [Verdict::Note, Verdict::Note]);
        fs::remove_file(dirs.socket()).unwrap();
        fs::create_dir(dirs.socket()).unwrap();
        assert_eq!(look(), [Verdict::Note, Verdict::Failure]);

        let lock = File::create(dirs.instance_lock()).unwrap();
        lock.lock().unwrap();
        fs::write(dirs.instance_lock(), r#"{"pid":7,"socket":"/x"}"#).unwrap();
        let keeper = File::create(dirs.keeper_lock()).unwrap();
        keeper.lock().unwrap();
        assert_eq!(look(), [Verdict::Warning, Verdict::Note, Verdict::Failure]);
    }
}
