//! muxd as a service: socket activation, notifications to systemd, unit files, and a real user manager.
//!
//! Invariant: there is one daemon, and every request is answered, whether systemd or a client starts the daemon.

mod activation;
mod real;
mod takeover;
mod units;
mod words;

use std::{
    fs,
    os::{
        fd::OwnedFd,
        unix::net::{UnixDatagram, UnixListener},
    },
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use mux_tests::{Running, TestEnv};

/// How long a test waits before it fails.
const HANG: Duration = Duration::from_mins(1);

/// The listening socket of a service manager, which stays open after the daemon exits.
fn bound(env: &TestEnv) -> UnixListener {
    env.dirs.prepare().unwrap();
    // As systemd does: an existing socket is removed.
    drop(fs::remove_file(env.dirs.socket()));
    let listener = UnixListener::bind(env.dirs.socket()).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Starts muxd as systemd does, with this socket and these variables.
fn activate(env: &TestEnv, socket: impl Into<OwnedFd>, variables: &[(&str, &str)]) -> Running {
    let muxd = env.command("muxd");
    let mut command = Command::new("/bin/sh");
    // The process id and the descriptor number are known only inside the process.
    let script = "exec 3<&0 </dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\"";
    command.args(["-c", script]).arg(muxd.get_program());
    command.env_clear().current_dir(env.home());
    command.envs(
        muxd.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command.envs(variables.iter().copied());
    Running::start_as_is(command.stdin(Stdio::from(socket.into())))
}

/// The socket to which a daemon sends its notifications (`NOTIFY_SOCKET`).
struct Ear {
    socket: UnixDatagram,
    heard: Vec<String>,
}

impl Ear {
    fn at(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_read_timeout(Some(HANG)).unwrap();
        Self {
            socket,
            heard: Vec::new(),
        }
    }

    /// Waits for this line. Returns all lines received meanwhile.
    #[track_caller]
    fn wait_for(&mut self, line: &str) -> Vec<String> {
        let from = self.heard.len();
        let mut buffer = [0; 4096];
        while !self.heard[from..].iter().any(|heard| heard == line) {
            let Ok(length) = self.socket.recv(&mut buffer) else {
                panic!("it did not say {line:?}: {:?}", self.heard);
            };
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            self.heard.extend(text.lines().map(str::to_owned));
        }
        self.heard[from..].to_vec()
    }
}
