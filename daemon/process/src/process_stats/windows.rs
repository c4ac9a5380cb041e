//! Processes as Windows shows them: those of the same user, and children through a snapshot of all processes.

#![expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]

use std::{
    mem::size_of,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
};

use windows_sys::Win32::{
    Foundation::{FILETIME, INVALID_HANDLE_VALUE},
    System::{
        Diagnostics::ToolHelp::{
            CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW,
            TH32CS_SNAPPROCESS,
        },
        ProcessStatus::{GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS},
        Threading::{
            GetCurrentProcess, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
        },
    },
};

use super::TaskStats;

/// Seconds of one unit of a `FILETIME`.
const FILETIME_SECONDS: f64 = 1e-7;

pub(super) fn own_cpu_seconds() -> Option<f64> {
    let mut times = [FILETIME::default(); 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the pseudo handle of this process is always valid, and the pointers are to live locals.
    let done = unsafe { GetProcessTimes(GetCurrentProcess(), created, ended, kernel, user) };
    let units = |time: &FILETIME| {
        (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) as f64
    };
    (done != 0).then(|| (units(kernel) + units(user)) * FILETIME_SECONDS)
}

pub(super) fn own_stats() -> TaskStats {
    let pid = std::process::id();
    TaskStats {
        threads: processes()
            .find(|found| found.th32ProcessID == pid)
            .map(|found| found.cntThreads.into()),
        ..task_stats(pid).unwrap_or_default()
    }
}

/// `None` if the process has ended, or is of another user.
pub(super) fn task_stats(pid: u32) -> Option<TaskStats> {
    // SAFETY: the call takes integers, and a handle that is not null belongs to the caller.
    let process = unsafe {
        let process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
        (!process.is_null()).then(|| OwnedHandle::from_raw_handle(process))?
    };
    let size = u32::try_from(size_of::<PROCESS_MEMORY_COUNTERS>()).ok()?;
    let mut counters = PROCESS_MEMORY_COUNTERS {
        cb: size,
        ..PROCESS_MEMORY_COUNTERS::default()
    };
    // SAFETY: the handle is open, and the call writes at most `size` bytes to the structure.
    let done = unsafe { GetProcessMemoryInfo(process.as_raw_handle(), &raw mut counters, size) };
    // A process that has ended is known, without memory, as long as a handle of it is open.
    (done != 0 && counters.WorkingSetSize > 0).then(|| TaskStats {
        resident_bytes: u64::try_from(counters.WorkingSetSize).ok(),
        virtual_bytes: u64::try_from(counters.PagefileUsage).ok(),
        threads: None,
    })
}

pub(super) fn children(pid: u32) -> Vec<u32> {
    let children = processes().filter(|found| found.th32ParentProcessID == pid);
    children
        .map(|found| found.th32ProcessID)
        .filter(|child| *child != pid)
        .collect()
}

/// All processes of the system.
fn processes() -> impl Iterator<Item = PROCESSENTRY32W> {
    // SAFETY: the call takes integers, and a valid handle belongs to the caller.
    let snapshot = unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
        (snapshot != INVALID_HANDLE_VALUE).then(|| OwnedHandle::from_raw_handle(snapshot))
    };
    let mut first = true;
    std::iter::from_fn(move || {
        let snapshot = snapshot.as_ref()?.as_raw_handle();
        let mut entry = PROCESSENTRY32W {
            dwSize: u32::try_from(size_of::<PROCESSENTRY32W>()).ok()?,
            ..PROCESSENTRY32W::default()
        };
        let next = if std::mem::take(&mut first) {
            Process32FirstW
        } else {
            Process32NextW
        };
        // SAFETY: the handle is open, and the structure says its size.
        (unsafe { next(snapshot, &raw mut entry) } != 0).then_some(entry)
    })
}
