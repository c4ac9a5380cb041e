//! The lockdown on Windows: a job object whose only process is this one, with limits on memory and desktop access,
//! process policies, and a low-integrity token, which has less write access than the user.
//!
//! The daemon sets up the rest (an empty environment, no window, pipes as the only handles). Files that the user can
//! read stay readable, and sockets can be opened: no call takes that from a running process.
//!
//! Invariant: a layer that cannot be applied is not reported, and the worker continues without it.

#![expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]

use std::{
    mem::size_of,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    ptr,
};

use windows_sys::Win32::{
    Foundation::HANDLE,
    Security::{
        CreateWellKnownSid, SECURITY_MAX_SID_SIZE, SID_AND_ATTRIBUTES, SetTokenInformation,
        TOKEN_ADJUST_DEFAULT, TOKEN_MANDATORY_LABEL, TokenIntegrityLevel, WinLowLabelSid,
    },
    System::{
        JobObjects::{
            AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
            JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_PROCESS_MEMORY,
            JOB_OBJECT_UILIMIT_DESKTOP, JOB_OBJECT_UILIMIT_DISPLAYSETTINGS,
            JOB_OBJECT_UILIMIT_EXITWINDOWS, JOB_OBJECT_UILIMIT_GLOBALATOMS,
            JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD,
            JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS, JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
            JOBOBJECT_BASIC_UI_RESTRICTIONS, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
            JOBOBJECTINFOCLASS, JobObjectBasicUIRestrictions, JobObjectExtendedLimitInformation,
            SetInformationJobObject,
        },
        ProcessStatus::{GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS},
        SystemServices::SE_GROUP_INTEGRITY,
        Threading::{GetCurrentProcess, OpenProcessToken},
    },
};

use super::LockdownSteps;
use crate::memory::IsolateMemory;

const UI_LIMITS: u32 = JOB_OBJECT_UILIMIT_DESKTOP
    | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
    | JOB_OBJECT_UILIMIT_EXITWINDOWS
    | JOB_OBJECT_UILIMIT_GLOBALATOMS
    | JOB_OBJECT_UILIMIT_HANDLES
    | JOB_OBJECT_UILIMIT_READCLIPBOARD
    | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
    | JOB_OBJECT_UILIMIT_WRITECLIPBOARD;

/// The job of this process, if there is one, until its limits are set. The job lives as long as the process.
pub(crate) struct Lockdown(Option<OwnedHandle>);

impl LockdownSteps for Lockdown {
    fn before_engine() -> Self {
        Self(join_job())
    }

    fn before_programs(self, memory: IsolateMemory) -> Vec<String> {
        let mut layers = Vec::new();
        if let Some(job) = &self.0 {
            let ui = JOBOBJECT_BASIC_UI_RESTRICTIONS {
                UIRestrictionsClass: UI_LIMITS,
            };
            if set_information(job, JobObjectBasicUIRestrictions, &ui) {
                layers.push("desktop".to_owned());
            }
            if limit_process(job, memory) {
                layers.extend(["memory".to_owned(), "no_exec".to_owned()]);
            }
        }
        // Last: some of the calls above need the integrity that the process was started with.
        if lower_integrity() {
            layers.push("low_integrity".to_owned());
        }
        layers
    }
}

/// Puts this process into a separate job, inside the daemon's.
fn join_job() -> Option<OwnedHandle> {
    // SAFETY: null asks for default security and no name, a handle that is not null belongs to the caller, and the
    // pseudo handle of this process is always valid.
    unsafe {
        let job = CreateJobObjectW(ptr::null(), ptr::null());
        let job = (!job.is_null()).then(|| OwnedHandle::from_raw_handle(job))?;
        (AssignProcessToJobObject(job.as_raw_handle(), GetCurrentProcess()) != 0).then_some(job)
    }
}

/// Allows no second process, and limits memory to the current use and the program's budget.
fn limit_process(job: &OwnedHandle, memory: IsolateMemory) -> bool {
    let Some(used) = committed_bytes() else {
        return false;
    };
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_ACTIVE_PROCESS
        | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        | JOB_OBJECT_LIMIT_PROCESS_MEMORY;
    limits.BasicLimitInformation.ActiveProcessLimit = 1;
    limits.ProcessMemoryLimit = used.saturating_add(memory.process_bytes());
    set_information(job, JobObjectExtendedLimitInformation, &limits)
}

/// The memory that counts towards the limit.
fn committed_bytes() -> Option<usize> {
    let size = u32::try_from(size_of::<PROCESS_MEMORY_COUNTERS>()).ok()?;
    let mut counters = PROCESS_MEMORY_COUNTERS {
        cb: size,
        ..PROCESS_MEMORY_COUNTERS::default()
    };
    // SAFETY: the pseudo handle of this process is always valid, and the call writes at most `size` bytes.
    let done = unsafe { GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, size) };
    (done != 0).then_some(counters.PagefileUsage)
}

fn set_information<T>(job: &OwnedHandle, class: JOBOBJECTINFOCLASS, value: &T) -> bool {
    let Ok(length) = u32::try_from(size_of::<T>()) else {
        return false;
    };
    // SAFETY: the handle is open, and callers pass the structure that their class of information has.
    unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            class,
            ptr::from_ref(value).cast(),
            length,
        ) != 0
    }
}

/// Gives this process the integrity of a sandboxed browser: it cannot write to objects of the user, nor open processes
/// of the user except to query them.
fn lower_integrity() -> bool {
    let mut sid = [0_u64; (SECURITY_MAX_SID_SIZE as usize).div_ceil(8)];
    let mut length = SECURITY_MAX_SID_SIZE;
    // SAFETY: the pseudo handle of this process is always valid, the pointers are to live locals, the SID's local has
    // the maximum length of a SID, and the caller owns the handle that the call returns.
    unsafe {
        let mut token: HANDLE = ptr::null_mut();
        if OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_DEFAULT, &raw mut token) == 0 {
            return false;
        }
        let token = OwnedHandle::from_raw_handle(token);
        let low = sid.as_mut_ptr().cast();
        if CreateWellKnownSid(WinLowLabelSid, ptr::null_mut(), low, &raw mut length) == 0 {
            return false;
        }
        let label = TOKEN_MANDATORY_LABEL {
            Label: SID_AND_ATTRIBUTES {
                Sid: low,
                Attributes: SE_GROUP_INTEGRITY.cast_unsigned(),
            },
        };
        let size = u32::try_from(size_of_val(&label)).unwrap_or(0) + length;
        SetTokenInformation(
            token.as_raw_handle(),
            TokenIntegrityLevel,
            (&raw const label).cast(),
            size,
        ) != 0
    }
}
