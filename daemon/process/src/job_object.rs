//! Job objects of Windows: processes that end together with all that they start.
//!
//! Invariant: a process that joins a job before its first instruction cannot start anything outside of it, and the
//! system ends the job's processes when the last handle to the job is closed, however its holder ended.

#![expect(unsafe_code, reason = "no safe wrapper of these calls is at hand")]

use std::{
    io,
    mem::size_of,
    os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle},
    ptr,
    sync::OnceLock,
};

use windows_sys::Win32::{
    Foundation::INVALID_HANDLE_VALUE,
    System::{
        Diagnostics::ToolHelp::{
            CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
        },
        JobObjects::{
            AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
            JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
            SetInformationJobObject, TerminateJobObject,
        },
        Threading::{GetCurrentProcess, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME},
    },
};

/// The exit code of processes that are ended with their job.
pub const TERMINATED_EXIT_CODE: u32 = 1;

/// A job whose processes end when it is dropped.
#[derive(Debug)]
pub struct JobObject(OwnedHandle);

impl JobObject {
    pub fn new() -> io::Result<Self> {
        // SAFETY: null asks for default security and no name, and a handle that is not null belongs to the caller.
        let job = unsafe {
            let job = CreateJobObjectW(ptr::null(), ptr::null());
            if job.is_null() {
                return Err(io::Error::last_os_error());
            }
            Self(OwnedHandle::from_raw_handle(job))
        };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let length = u32::try_from(size_of_val(&limits)).unwrap_or(0);
        // SAFETY: the handle is open, and the structure matches this information class.
        checked(unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                length,
            )
        })?;
        Ok(job)
    }

    /// Makes a process that was created suspended join, and lets it run.
    pub fn start_suspended(&self, process: BorrowedHandle<'_>, pid: u32) -> io::Result<()> {
        // SAFETY: both handles are open.
        checked(unsafe {
            AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle())
        })?;
        resume(pid)
    }

    /// Ends the job's processes.
    pub fn terminate(&self) {
        // SAFETY: the handle is open. No right can be missing, because this process created the job.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), TERMINATED_EXIT_CODE) };
    }
}

/// Puts this process into a separate job: every process that it starts from now on ends with it. Further calls do
/// nothing.
pub fn end_children_with_this_process() -> io::Result<()> {
    // Never dropped: the system closes the handle after the last thread of this process.
    static JOB_OF_THIS_PROCESS: OnceLock<JobObject> = OnceLock::new();
    if JOB_OF_THIS_PROCESS.get().is_some() {
        return Ok(());
    }
    let job = JobObject::new()?;
    // SAFETY: the job's handle is open, and the pseudo handle of this process is always valid.
    checked(unsafe { AssignProcessToJobObject(job.0.as_raw_handle(), GetCurrentProcess()) })?;
    if let Err(second) = JOB_OF_THIS_PROCESS.set(job) {
        // Another thread was faster. This job also contains this process and must not be closed.
        std::mem::forget(second);
    }
    Ok(())
}

/// Resumes the threads of a process that was created suspended: there is one.
fn resume(pid: u32) -> io::Result<()> {
    // SAFETY: the call takes integers, and a valid handle belongs to the caller.
    let snapshot = unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if snapshot == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(snapshot)
    };
    let mut entry = THREADENTRY32 {
        dwSize: u32::try_from(size_of::<THREADENTRY32>()).unwrap_or(0),
        ..THREADENTRY32::default()
    };
    let mut resumed = Err(io::Error::other("the new process has no thread"));
    // SAFETY: the handle is open, and the structure says its size.
    let mut found = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    while found {
        if entry.th32OwnerProcessID == pid {
            resumed = resume_thread(entry.th32ThreadID);
        }
        // SAFETY: as above.
        found = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    }
    resumed
}

fn resume_thread(id: u32) -> io::Result<()> {
    // SAFETY: the call takes integers, and a handle that is not null belongs to the caller.
    let thread = unsafe {
        let thread = OpenThread(THREAD_SUSPEND_RESUME, 0, id);
        if thread.is_null() {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(thread)
    };
    // SAFETY: the handle is open.
    match unsafe { ResumeThread(thread.as_raw_handle()) } {
        u32::MAX => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn checked(done: i32) -> io::Result<()> {
    match done {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
