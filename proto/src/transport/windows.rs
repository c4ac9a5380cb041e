//! Named pipes, whose access list admits only their user.
//!
//! Invariant: a client sends nothing to a pipe that another user has created under our name: the owner of the pipe is
//! checked first, and the daemon sets it explicitly, because the default owner of an administrator is a group.

#![expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]

use std::{
    io,
    mem::size_of,
    os::windows::io::{
        AsHandle as _, AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle,
    },
    path::Path,
    ptr,
};

use interprocess::{
    local_socket::{
        GenericFilePath, ListenerOptions, ToFsName,
        tokio::{Listener, Stream},
    },
    os::windows::{local_socket::ListenerOptionsExt as _, security_descriptor::SecurityDescriptor},
};
use widestring::{U16CStr, U16CString};
use windows_sys::Win32::{
    Foundation::{ERROR_SUCCESS, HANDLE, LocalFree},
    Security::{
        Authorization::{ConvertSidToStringSidW, GetSecurityInfo, SE_KERNEL_OBJECT},
        GetTokenInformation, OWNER_SECURITY_INFORMATION, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser,
    },
    System::Threading::{GetCurrentProcess, OpenProcessToken},
};

use super::PeerOwner;

/// The length of a `TOKEN_USER` with the longest SID, in 8-byte words.
const MAX_TOKEN_USER_WORDS: usize = 16;

pub type DaemonSocket = Stream;

pub fn daemon_socket(stream: Stream) -> io::Result<DaemonSocket> {
    Ok(stream)
}

pub(super) fn listen(socket: &Path) -> io::Result<Listener> {
    let me = own_sid()?;
    // The owner, and an access list that inherits nothing and grants all access to that owner only.
    let access = U16CString::from_str_truncate(format!("O:{me}D:P(A;;GA;;;{me})"));
    let name = socket.to_fs_name::<GenericFilePath>()?;
    ListenerOptions::new()
        .name(name)
        .security_descriptor(SecurityDescriptor::deserialize(&access)?)
        .create_tokio()
}

pub(super) fn peer_owner(stream: &Stream) -> io::Result<PeerOwner> {
    let Stream::NamedPipe(pipe) = stream;
    let owner = owner_sid(pipe.as_handle())?;
    Ok(if owner == own_sid()? {
        PeerOwner::Us
    } else {
        PeerOwner::Other(owner)
    })
}

/// The SID of the user that this process runs as.
fn own_sid() -> io::Result<String> {
    // SAFETY: the pseudo handle of this process is always valid, the pointer is to a live local, and the caller owns
    // the handle that the call returns.
    let token = unsafe {
        let mut token: HANDLE = ptr::null_mut();
        checked(OpenProcessToken(
            GetCurrentProcess(),
            TOKEN_QUERY,
            &raw mut token,
        ))?;
        OwnedHandle::from_raw_handle(token)
    };
    let mut buffer = [0_u64; MAX_TOKEN_USER_WORDS];
    let mut written = 0;
    // SAFETY: the passed length is the buffer's, which is aligned for the `TOKEN_USER` at its start after the call has
    // succeeded. The SID is in the same buffer, which outlives its use.
    unsafe {
        checked(GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            buffer.as_mut_ptr().cast(),
            u32::try_from(size_of_val(&buffer)).unwrap_or(0),
            &raw mut written,
        ))?;
        let user = buffer.as_ptr().cast::<TOKEN_USER>().read();
        sid_text(user.User.Sid)
    }
}

/// The SID of the user that created a pipe.
fn owner_sid(pipe: BorrowedHandle<'_>) -> io::Result<String> {
    let (mut owner, mut descriptor): (PSID, _) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the handle is open, the pointers are to live locals or null where they may be, and the SID is in the
    // descriptor, which is freed after its use.
    unsafe {
        let failure = GetSecurityInfo(
            pipe.as_raw_handle(),
            SE_KERNEL_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &raw mut owner,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        );
        if failure != ERROR_SUCCESS {
            return Err(io::Error::from_raw_os_error(failure.cast_signed()));
        }
        let text = sid_text(owner);
        LocalFree(descriptor);
        text
    }
}

/// Formats a SID, as in `S-1-5-21-…`.
///
/// # Safety
///
/// The pointer must be to a SID, or null.
unsafe fn sid_text(sid: PSID) -> io::Result<String> {
    if sid.is_null() {
        return Err(io::Error::other("the object has no owner"));
    }
    let mut text = ptr::null_mut();
    // SAFETY: the caller passes a SID, and on success the call allocates a NUL-terminated string, which is freed after
    // its use.
    unsafe {
        checked(ConvertSidToStringSidW(sid, &raw mut text))?;
        let sid = U16CStr::from_ptr_str(text).to_string_lossy();
        LocalFree(text.cast());
        Ok(sid)
    }
}

fn checked(done: i32) -> io::Result<()> {
    match done {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

const _: () = assert!(size_of::<TOKEN_USER>() < MAX_TOKEN_USER_WORDS * 8);
