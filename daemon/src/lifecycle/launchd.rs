//! macOS's service manager. launchd's protocol: the listening socket that an agent with `Sockets` gets, such as the
//! agent that `mux service install` writes. Without a listening socket, muxd binds its own. Type-checked, but never run
//! so far.

use std::{
    ffi::{CStr, c_char, c_int},
    io,
    os::fd::{FromRawFd as _, OwnedFd},
    ptr,
};

use nix::libc;

pub(super) use super::no_service_manager::{Notifier, detect};
use super::passed_socket::{PassedSocket, PassedSocketError};

/// The name of the socket in the agent's `Sockets`.
const SOCKET_NAME: &CStr = c"Listeners";

#[expect(
    unsafe_code,
    reason = "launchd passes sockets only through a C function"
)]
unsafe extern "C" {
    fn launch_activate_socket(
        name: *const c_char,
        descriptors: *mut *mut c_int,
        count: *mut usize,
    ) -> c_int;
}

/// The listening socket, if the agent has one. Must be called once. Other passed descriptors are closed.
pub(super) fn launchd_listener() -> Result<Option<PassedSocket>, PassedSocketError> {
    passed_descriptors()?
        .into_iter()
        .next()
        .map(PassedSocket::new)
        .transpose()
}

#[expect(
    unsafe_code,
    reason = "launchd passes sockets only through a C function"
)]
fn passed_descriptors() -> io::Result<Vec<OwnedFd>> {
    let mut descriptors = ptr::null_mut::<c_int>();
    let mut count = 0;
    // SAFETY: the name is a static C string, and both pointers are to live locals.
    let error = unsafe {
        launch_activate_socket(SOCKET_NAME.as_ptr(), &raw mut descriptors, &raw mut count)
    };
    match error {
        0 => {}
        // The agent has no such socket, or launchd did not start this process.
        libc::ENOENT | libc::ESRCH => return Ok(Vec::new()),
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    // SAFETY: the call has allocated an array of `count` descriptors, which it opened for this process alone, and the
    // caller frees the array.
    let owned = unsafe {
        let numbers = match descriptors.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(descriptors, count),
        };
        let owned = numbers.iter().map(|number| OwnedFd::from_raw_fd(*number));
        let owned = owned.collect();
        libc::free(descriptors.cast());
        owned
    };
    Ok(owned)
}
