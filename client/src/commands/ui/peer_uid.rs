//! A listener that rejects connections of other users of the machine, who can reach the loopback address, too.
//!
//! Invariant: a connection is rejected only if the system reports its owner, and that is neither this user nor root.
//! This is an additional check: requests need the token anyway.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

/// The delay after a failed `accept`.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

pub(super) struct SameUserListener {
    listener: TcpListener,
}

impl SameUserListener {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener }
    }
}

impl Listener for SameUserListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) if !is_foreign(&stream, peer) => return (stream, peer),
                Ok(_) => {}
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

#[cfg(target_os = "linux")]
fn is_foreign(stream: &TcpStream, peer: SocketAddr) -> bool {
    let Ok(here) = stream.local_addr() else {
        return false;
    };
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let owner = tables
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .find_map(|table| socket_owner(&table, peer, here));
    let me = nix::unistd::geteuid().as_raw();
    owner.is_some_and(|owner| owner != me && owner != 0)
}

#[cfg(not(target_os = "linux"))]
fn is_foreign(_: &TcpStream, _: SocketAddr) -> bool {
    false
}

/// The uid of the socket that is bound to `local` and connected to `remote`, from the kernel's table.
#[cfg_attr(
    not(any(target_os = "linux", test)),
    expect(dead_code, reason = "no such table")
)]
fn socket_owner(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let ends = [local, remote].map(|end| [proc_address(end), mapped_proc_address(end)]);
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        for spellings in &ends {
            let end = words.next()?;
            if !spellings.iter().any(|spelled| spelled == end) {
                return None;
            }
        }
        // Skips state, queues, timer and retransmissions.
        words.nth(4)?.parse().ok()
    })
}

/// An address as in the kernel's table, `0100007F:1F90`: the IP address in native byte order, the port in big endian.
fn proc_address(end: SocketAddr) -> String {
    match end.ip() {
        IpAddr::V4(ip) => format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), end.port()),
        IpAddr::V6(ip) => {
            let words = ip.octets();
            let words = words
                .chunks_exact(4)
                .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
            let words: Vec<_> = words.map(|word| format!("{word:08X}")).collect();
            format!("{}:{:04X}", words.concat(), end.port())
        }
    }
}

/// An IPv4 address as an IPv4-mapped IPv6 address, as in the table of IPv6 sockets.
fn mapped_proc_address(end: SocketAddr) -> String {
    match end.ip() {
        IpAddr::V4(ip) => {
            proc_address(SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), end.port()))
        }
        IpAddr::V6(_) => proc_address(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn owner_is_found_by_both_addresses() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 0100007F:21FC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 101 1\n\
   1: 0100007F:21FC 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 102 1\n\
   2: 0100007F:D431 0100007F:21FC 01 00000000:00000000 00:00000000 00000000  1001        0 103 1\n\
   3: 0000000000000000FFFF00000100007F:D432 0000000000000000FFFF00000100007F:21FC 01 00000000:00000000 00:00000000 00000000  1002        0 104 1\n";
        let end = |port| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(socket_owner(table, end(0xD431), end(0x21FC)), Some(1001));
        assert_eq!(socket_owner(table, end(0x21FC), end(0xD431)), Some(1000));
        assert_eq!(socket_owner(table, end(0xD432), end(0x21FC)), Some(1002));
        assert_eq!(socket_owner(table, end(0xD433), end(0x21FC)), None);
        assert_eq!(socket_owner("", end(1), end(2)), None);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn connection_of_this_user_is_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let client = TcpStream::connect(there).await.unwrap();
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let owner = socket_owner(&table, client.local_addr().unwrap(), there);
        assert_eq!(owner, Some(nix::unistd::geteuid().as_raw()));
        let mut ours = SameUserListener::new(listener);
        let (_, peer) = ours.accept().await;
        assert_eq!(peer, client.local_addr().unwrap());
    }
}
