//! Processes as macOS shows them: libproc, `sysctl`, and kqueue. Only processes of the same user can be inspected.

use std::{
    mem::{MaybeUninit, size_of, size_of_val},
    ptr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use nix::{
    libc,
    sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue},
};

/// A queue that gets an event when the process ends. The queue does not confuse a later process with the same pid.
pub(super) struct ExitWatch {
    queue: Kqueue,
    /// The kernel reports the end only once.
    ended: AtomicBool,
}

impl ExitWatch {
    pub(super) fn of(pid: i32) -> Option<Self> {
        let queue = Kqueue::new().ok()?;
        let exit = KEvent::new(
            usize::try_from(pid).ok()?,
            EventFilter::EVFILT_PROC,
            EvFlags::EV_ADD,
            FilterFlag::NOTE_EXIT,
            0,
            0,
        );
        // Fails if the process does not exist.
        queue.kevent(&[exit], &mut [], None).ok()?;
        Some(Self {
            queue,
            ended: AtomicBool::new(false),
        })
    }

    pub(super) fn ends(&self, within: Duration) -> bool {
        if self.ended.load(Ordering::Relaxed) {
            return true;
        }
        let timeout = libc::timespec {
            tv_sec: within.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: within.subsec_nanos().into(),
        };
        let nothing = KEvent::new(
            0,
            EventFilter::EVFILT_PROC,
            EvFlags::empty(),
            FilterFlag::empty(),
            0,
            0,
        );
        let mut events = [nothing];
        let ended = matches!(self.queue.kevent(&[], &mut events, Some(timeout)), Ok(n) if n > 0);
        self.ended.fetch_or(ended, Ordering::Relaxed);
        ended
    }
}

/// Fails for a zombie, which libproc does not find.
#[expect(unsafe_code, reason = "no safe wrapper of proc_pidinfo is at hand")]
fn bsd_info(pid: i32) -> Option<libc::proc_bsdinfo> {
    let size = i32::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::uninit();
    // SAFETY: the call writes at most `size` bytes to the structure, and returns how many.
    unsafe {
        let flavor = libc::PROC_PIDTBSDINFO;
        let written = libc::proc_pidinfo(pid, flavor, 0, info.as_mut_ptr().cast(), size);
        (written == size).then(|| info.assume_init())
    }
}

pub(super) fn is_alive(pid: i32) -> bool {
    bsd_info(pid).is_some_and(|info| info.pbi_status != libc::SZOMB)
}

#[expect(unsafe_code, reason = "no safe wrapper of proc_listpids is at hand")]
pub(super) fn pids() -> Vec<i32> {
    /// As in `sys/proc_info.h`.
    const PROC_ALL_PIDS: u32 = 1;
    const MAX_PIDS: usize = 100_000;
    let mut pids = vec![0_i32; MAX_PIDS];
    let size = i32::try_from(size_of_val(pids.as_slice())).unwrap();
    // SAFETY: the call writes at most `size` bytes to the vector, and returns how many, or a negative number.
    let written = unsafe { libc::proc_listpids(PROC_ALL_PIDS, 0, pids.as_mut_ptr().cast(), size) };
    pids.truncate(usize::try_from(written).unwrap_or(0) / size_of::<i32>());
    pids.retain(|pid| *pid != 0);
    pids
}

pub(super) fn parent(pid: i32) -> Option<i32> {
    bsd_info(pid)?.pbi_ppid.try_into().ok()
}

/// The number of arguments, the path of the program, the arguments and the environment, as `KERN_PROCARGS2` has them.
#[expect(unsafe_code, reason = "no safe wrapper of sysctl is at hand")]
fn start_words(pid: i32) -> Option<Vec<u8>> {
    /// `ARG_MAX` of macOS.
    const MAX_START_BYTES: usize = 1 << 20;
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut bytes = vec![0_u8; MAX_START_BYTES];
    let mut size = bytes.len();
    // SAFETY: the name has three integers, and the call writes at most `size` bytes and sets `size` to their number.
    let status = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            3,
            bytes.as_mut_ptr().cast(),
            &raw mut size,
            ptr::null_mut(),
            0,
        )
    };
    bytes.truncate(size);
    (status == 0).then_some(bytes)
}

/// The arguments and the environment, each word with a NUL after it.
fn arguments_and_environment(pid: i32) -> Option<(Vec<u8>, Vec<u8>)> {
    let bytes = start_words(pid)?;
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let mut left = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    // The path is followed by NULs up to the next multiple of the word size.
    let path = rest.iter().position(|byte| *byte == 0)?;
    let padding = rest[path..].iter().position(|byte| *byte != 0)?;
    let words = &rest[path + padding..];
    let mut end = 0;
    while left > 0 {
        end += words[end..].iter().position(|byte| *byte == 0)? + 1;
        left -= 1;
    }
    let (arguments, environment) = words.split_at(end);
    Some((arguments.to_owned(), environment.to_owned()))
}

/// The command line, each word with a NUL after it.
pub(super) fn words(pid: i32) -> Vec<u8> {
    arguments_and_environment(pid).unwrap_or_default().0
}

pub(super) fn environment(pid: i32) -> Vec<u8> {
    arguments_and_environment(pid).unwrap_or_default().1
}

#[expect(unsafe_code, reason = "no safe wrapper of proc_pid_rusage is at hand")]
fn usage(pid: i32) -> Option<libc::rusage_info_v4> {
    let mut usage = MaybeUninit::<libc::rusage_info_v4>::zeroed();
    // SAFETY: the buffer has the type that this flavor fills, for which all zeros is a valid value.
    unsafe {
        let flavor = libc::RUSAGE_INFO_V4;
        let status = libc::proc_pid_rusage(pid, flavor, usage.as_mut_ptr().cast());
        (status == 0).then(|| usage.assume_init())
    }
}

pub(super) fn resident_bytes(pid: i32) -> u64 {
    usage(pid).unwrap().ri_resident_size
}

/// The peak of the footprint, which macOS counts instead of resident memory.
pub(super) fn peak_bytes(pid: i32) -> u64 {
    usage(pid).unwrap().ri_lifetime_max_phys_footprint
}

pub(super) fn cpu_time(pid: i32) -> Duration {
    let Some(usage) = usage(pid) else {
        return Duration::ZERO;
    };
    // In ticks of the machine's clock: 125/3 ns on Apple's processors, 1 ns on Intel's.
    let (numerator, denominator) = match cfg!(target_arch = "aarch64") {
        true => (125, 3),
        false => (1, 1),
    };
    let ticks = usage.ri_user_time + usage.ri_system_time;
    Duration::from_nanos(ticks * numerator / denominator)
}
