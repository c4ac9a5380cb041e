//! Sends bytes and descriptors through one Unix socket.
//!
//! Invariant: a received descriptor is owned (closed on drop) and close-on-exec from the start, so none can leak into a
//! process that is started meanwhile.

use std::{
    collections::VecDeque,
    io::{self, IoSlice, IoSliceMut},
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use nix::{
    cmsg_space,
    errno::Errno,
    sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg},
};

use super::wire::FDS_PER_CHILD;

/// Sends what fits now. The descriptors go with the first byte: after a short send, send the remaining bytes without
/// them.
pub fn send(socket: impl AsFd, bytes: &[u8], fds: &[OwnedFd]) -> io::Result<usize> {
    let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let control = if raw.is_empty() { &[][..] } else { &rights[..] };
    let parts = [IoSlice::new(bytes)];
    let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    let socket = socket.as_fd().as_raw_fd();
    Ok(sendmsg::<()>(socket, &parts, control, flags, None)?)
}

/// The result of one receive.
pub struct ReceivedBytes {
    /// 0 means that the peer has closed.
    pub(super) count: usize,
    /// The kernel could not deliver all descriptors, because too many are open. None of them is returned.
    pub(super) cut: bool,
}

/// Receives the available bytes and all descriptors that came with them; 0 means that the peer has closed.
pub fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    fds: &mut VecDeque<OwnedFd>,
) -> io::Result<usize> {
    match receive_some(socket, bytes, fds)? {
        ReceivedBytes { cut: true, .. } => Err(Errno::ENOBUFS.into()),
        ReceivedBytes { count, .. } => Ok(count),
    }
}

/// Receives like [`receive`], but reports lost descriptors in the result instead of failing.
///
/// One call returns the descriptors of at most one send: the kernel ends a read after bytes that carried some.
pub fn receive_some(
    socket: impl AsFd,
    bytes: &mut [u8],
    fds: &mut VecDeque<OwnedFd>,
) -> io::Result<ReceivedBytes> {
    let mut parts = [IoSliceMut::new(bytes)];
    let mut control = cmsg_space!([RawFd; FDS_PER_CHILD]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let socket = socket.as_fd().as_raw_fd();
    let message = recvmsg::<()>(socket, &mut parts, Some(&mut control), flags)?;
    let count = message.bytes;
    let cut = message.flags.contains(MsgFlags::MSG_CTRUNC);
    if cut {
        // The descriptors that did arrive must be closed here.
        drop(rights_in(&control).into_iter().map(own).collect::<Vec<_>>());
        return Ok(ReceivedBytes { count, cut });
    }
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = part {
            fds.extend(raw.into_iter().map(own));
        }
    }
    Ok(ReceivedBytes { count, cut })
}

/// The descriptors in a truncated control message, which `nix` does not parse: the length as a `size_t`, level and
/// type, then the numbers.
fn rights_in(control: &[u8]) -> Vec<RawFd> {
    const CMSG_HEADER_BYTES: usize = size_of::<usize>() + 2 * size_of::<i32>();
    let Some((length, rest)) = control.split_first_chunk() else {
        return Vec::new();
    };
    let numbers = usize::from_ne_bytes(*length).saturating_sub(CMSG_HEADER_BYTES);
    let rights = rest.get(2 * size_of::<i32>()..).unwrap_or_default();
    let (numbers, _) = rights[..numbers.min(rights.len())].as_chunks();
    numbers
        .iter()
        .map(|number| RawFd::from_ne_bytes(*number))
        .collect()
}

#[expect(unsafe_code, reason = "the kernel hands descriptors over as numbers")]
fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: `recvmsg` has just installed this descriptor for this process, and no other code knows its number.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read, Write, pipe},
        os::unix::net::UnixStream,
    };

    use super::*;

    #[test]
    fn descriptors_of_a_truncated_message_are_found() {
        let message = |length: usize, numbers: &[i32]| {
            let mut bytes = length.to_ne_bytes().to_vec();
            // SOL_SOCKET and SCM_RIGHTS.
            bytes.extend(
                [1_i32, 1]
                    .iter()
                    .chain(numbers)
                    .flat_map(|number| number.to_ne_bytes()),
            );
            bytes
        };
        assert_eq!(rights_in(&message(24, &[7, 8, 0])), [7, 8]);
        assert_eq!(
            rights_in(&message(0, &[0, 0, 0])),
            Vec::<RawFd>::new(),
            "none came"
        );
        assert_eq!(rights_in(&message(1 << 40, &[7])), [7]);
        assert_eq!(rights_in(b"short"), Vec::<RawFd>::new());
    }

    #[test]
    fn descriptors_arrive_in_order_and_with_their_bytes() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut kept = Vec::new();
        for name in *b"ab" {
            let mut ends = Vec::new();
            for place in *b"012" {
                let (read, mut write) = pipe().unwrap();
                write.write_all(&[name, place]).unwrap();
                ends.push(OwnedFd::from(read));
            }
            assert_eq!(send(&near, &[name], &ends).unwrap(), 1);
            assert_eq!(send(&near, b"-", &[]).unwrap(), 1);
            kept.push(ends);
        }
        drop(near);

        let mut bytes = Vec::new();
        let mut fds = VecDeque::new();
        let mut buffer = [0; 64];
        loop {
            let seen_before = fds.len();
            let count = receive(&far, &mut buffer, &mut fds).unwrap();
            bytes.extend_from_slice(&buffer[..count]);
            assert!(fds.len() - seen_before <= FDS_PER_CHILD);
            if count == 0 {
                break;
            }
        }
        assert_eq!(bytes, b"a-b-");
        drop(kept);
        let said: Vec<String> = fds
            .into_iter()
            .map(|fd| {
                let mut text = String::new();
                File::from(fd).read_to_string(&mut text).unwrap();
                text
            })
            .collect();
        assert_eq!(said, ["a0", "a1", "a2", "b0", "b1", "b2"]);
    }
}
