//! Carries connections from inside a sandbox to the socket of its egress proxy: programs expect an address and a port
//! of a proxy, and the sandbox's network has no way out.
//!
//! Invariant: it inspects no byte. The proxy in the daemon decides which hosts a server may reach.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::Path,
    sync::Arc,
    thread,
};

use nix::{
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::{notified_server::release_standard_streams, plan::MAX_FORWARDED_CONNECTIONS};

/// Runs until the sandbox ends.
pub(super) fn run(listener: &TcpListener, socket: &Path) -> ! {
    // The server's pipes must close with the server.
    release_standard_streams();
    forward_connections(listener, socket);
    exit()
}

fn forward_connections(listener: &TcpListener, socket: &Path) {
    let permits = Arc::new(());
    for connection in listener.incoming().flatten() {
        // Its threads count as the server's, whose limit has room for so many.
        if Arc::strong_count(&permits) > MAX_FORWARDED_CONNECTIONS as usize {
            continue;
        }
        let socket = socket.to_owned();
        let permit = Arc::clone(&permits);
        // Without a thread the connection is closed.
        drop(thread::Builder::new().spawn(move || {
            carry(&connection, &socket);
            drop(permit);
        }));
    }
}

/// An absent proxy, as during an upgrade of the daemon, refuses the connection.
fn carry(inside: &TcpStream, socket: &Path) -> Option<()> {
    let proxy = UnixStream::connect(socket).ok()?;
    let mut from_proxy = proxy.try_clone().ok()?;
    let mut to_proxy = proxy;
    let mut from_inside = inside.try_clone().ok()?;
    let mut to_inside = inside.try_clone().ok()?;
    let back = thread::Builder::new().spawn(move || {
        io::copy(&mut from_proxy, &mut to_inside).ok();
        to_inside.shutdown(Shutdown::Write).ok();
        wait_for_hang_up(&from_proxy);
        // The server may keep a connection open that leads nowhere.
        to_inside.shutdown(Shutdown::Both).ok();
    });
    io::copy(&mut from_inside, &mut to_proxy).ok();
    to_proxy.shutdown(Shutdown::Write).ok();
    back.ok()?.join().ok()
}

/// Returns once both directions of a connection are closed.
fn wait_for_hang_up(connection: &UnixStream) {
    // The kernel reports a hang-up without being asked.
    let mut polled = [PollFd::new(connection.as_fd(), PollFlags::empty())];
    while poll(&mut polled, PollTimeout::NONE) == Err(Errno::EINTR) {}
}

#[expect(
    unsafe_code,
    reason = "the process was forked, and has nothing to clean up"
)]
fn exit() -> ! {
    // SAFETY: the call takes an integer, and nothing of this process is used after it.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::unix::net::UnixListener,
        sync::mpsc,
        time::Duration,
    };

    use super::*;

    /// Long enough that only a hang reaches it.
    const HANG: Duration = Duration::from_mins(1);

    #[test]
    fn connection_ends_with_the_proxys_although_the_server_keeps_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("proxy.sock");
        let proxy = UnixListener::bind(&socket).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (inside, _) = listener.accept().unwrap();
        let (ended, end) = mpsc::channel();
        thread::spawn(move || ended.send(carry(&inside, &socket)));
        let (mut connection, _) = proxy.accept().unwrap();
        client.write_all(b"ask").unwrap();
        connection.read_exact(&mut [0; 3]).unwrap();
        connection.write_all(b"answer").unwrap();
        // Half closed: the other direction is still carried.
        connection.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer");
        client.write_all(b"more").unwrap();
        connection.read_exact(&mut [0; 4]).unwrap();
        assert!(end.try_recv().is_err());
        drop(connection);
        assert_eq!(end.recv_timeout(HANG), Ok(Some(())));
        drop(client);
    }

    #[test]
    fn connections_above_the_limit_are_closed() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("proxy.sock");
        let proxy = UnixListener::bind(&socket).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || forward_connections(&listener, &socket));
        let open = (0..MAX_FORWARDED_CONNECTIONS).map(|_| {
            let client = TcpStream::connect(address).unwrap();
            (client, proxy.accept().unwrap())
        });
        let open: Vec<_> = open.collect();
        let mut above = TcpStream::connect(address).unwrap();
        above.set_read_timeout(Some(HANG)).unwrap();
        assert_eq!(above.read(&mut [0; 8]).unwrap(), 0);
        drop(open);
    }
}
