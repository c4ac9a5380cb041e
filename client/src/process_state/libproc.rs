//! The state that macOS's libproc shows of a process of the same user.

use std::mem::{MaybeUninit, size_of};

use nix::libc::{PROC_PIDTBSDINFO, SSTOP, c_int, proc_bsdinfo, proc_pidinfo};

#[expect(unsafe_code, reason = "no safe wrapper of proc_pidinfo is at hand")]
pub(crate) fn is_process_stopped(pid: u32) -> bool {
    let (Ok(pid), Ok(size)) = (
        c_int::try_from(pid),
        c_int::try_from(size_of::<proc_bsdinfo>()),
    ) else {
        return false;
    };
    let mut info = MaybeUninit::<proc_bsdinfo>::uninit();
    // SAFETY: the call writes at most `size` bytes to the structure, and returns how many.
    unsafe {
        let written = proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, info.as_mut_ptr().cast(), size);
        written == size && info.assume_init().pbi_status == SSTOP
    }
}
