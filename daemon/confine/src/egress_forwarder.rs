//! Carries connections from inside a sandbox to the socket of its egress proxy: programs know proxies by an address and
//! a port, and the sandbox's network has no way out.
//!
//! Invariant: it looks at no byte. What a server may reach is decided by the proxy in the daemon.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
};

use nix::{libc, unistd};

/// Runs until the sandbox ends.
pub(super) fn run(listener: &TcpListener, socket: &Path) -> ! {
    // The server's pipes must close with the server.
    if let Ok(null) = std::fs::File::open("/dev/null") {
        unistd::dup2_stdin(&null).ok();
        unistd::dup2_stdout(&null).ok();
        unistd::dup2_stderr(&null).ok();
    }
    for connection in listener.incoming().flatten() {
        let socket = socket.to_owned();
        // Without a thread the connection is closed.
        drop(thread::Builder::new().spawn(move || carry(&connection, &socket)));
    }
    exit()
}

/// A proxy that is not there, as during an upgrade of the daemon, refuses the connection.
fn carry(inside: &TcpStream, socket: &PathBuf) -> Option<()> {
    let proxy = UnixStream::connect(socket).ok()?;
    let (mut from_proxy, mut to_proxy) = (proxy.try_clone().ok()?, proxy);
    let (mut from_inside, mut to_inside) = (inside.try_clone().ok()?, inside.try_clone().ok()?);
    let back = thread::Builder::new().spawn(move || {
        io::copy(&mut from_proxy, &mut to_inside).ok();
        to_inside.shutdown(Shutdown::Write).ok();
    });
    io::copy(&mut from_inside, &mut to_proxy).ok();
    to_proxy.shutdown(Shutdown::Write).ok();
    back.ok()?.join().ok()
}

#[expect(
    unsafe_code,
    reason = "the process was forked, and has nothing to clean up"
)]
fn exit() -> ! {
    // SAFETY: the call takes an integer, and nothing of this process is used after it.
    unsafe { libc::_exit(0) }
}
