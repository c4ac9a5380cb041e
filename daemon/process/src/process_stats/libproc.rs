//! Processes as macOS's libproc shows them. libproc only answers for processes of the same user.

use std::mem::{MaybeUninit, size_of, size_of_val};

use nix::libc::{PROC_PIDTASKINFO, c_int, proc_listpids, proc_pidinfo, proc_taskinfo};

use super::{MAX_TREE_PROCESSES, TaskStats};

/// Selects the processes with the given parent, as in `sys/proc_info.h`.
const PROC_PPID_ONLY: u32 = 6;

pub(super) fn own_stats() -> TaskStats {
    task_stats(std::process::id()).unwrap_or_default()
}

/// `None` if the process has ended, or is of another user.
#[expect(unsafe_code, reason = "no safe wrapper of proc_pidinfo is at hand")]
pub(super) fn task_stats(pid: u32) -> Option<TaskStats> {
    let size = c_int::try_from(size_of::<proc_taskinfo>()).ok()?;
    let mut info = MaybeUninit::<proc_taskinfo>::uninit();
    // SAFETY: the call writes at most `size` bytes to the structure, and returns how many.
    let info = unsafe {
        let written = proc_pidinfo(
            c_int::try_from(pid).ok()?,
            PROC_PIDTASKINFO,
            0,
            info.as_mut_ptr().cast(),
            size,
        );
        (written == size).then(|| info.assume_init())?
    };
    Some(TaskStats {
        resident_bytes: Some(info.pti_resident_size),
        virtual_bytes: Some(info.pti_virtual_size),
        threads: u64::try_from(info.pti_threadnum).ok(),
    })
}

#[expect(unsafe_code, reason = "no safe wrapper of proc_listpids is at hand")]
pub(super) fn children(pid: u32) -> Vec<u32> {
    let mut pids: Vec<c_int> = vec![0; MAX_TREE_PROCESSES];
    let Ok(size) = c_int::try_from(size_of_val(pids.as_slice())) else {
        return Vec::new();
    };
    // SAFETY: the call writes at most `size` bytes to the vector, and returns how many, or a negative number.
    let written = unsafe { proc_listpids(PROC_PPID_ONLY, pid, pids.as_mut_ptr().cast(), size) };
    let count = usize::try_from(written).unwrap_or(0) / size_of::<c_int>();
    pids.truncate(count);
    let pids = pids.into_iter().filter_map(|pid| u32::try_from(pid).ok());
    pids.filter(|pid| *pid != 0).collect()
}
