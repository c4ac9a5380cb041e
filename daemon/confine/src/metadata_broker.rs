//! Changes modes, owners, times and extended attributes for a server without namespaces, and watches files for it.
//!
//! Landlock has no rights for these calls: without its own file system, a server could make them for any file of the
//! user. So the kernel reports them to this process, which opens the file in question, checks where it is, and makes
//! the call itself on the opened file. The server's own call is never made: its path could lead to another file by
//! then.
//!
//! Invariant: a changed file lies in a folder that the server may change, and a watched file in a folder that it may
//! read.

use std::{
    ffi::{CString, OsStr},
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use mux_lockdown::{
    syscall_filters::SYS_FCHMODAT2,
    syscall_notifications::{CallNotification, answer_call, is_waiting},
};
use mux_paths::opened_object::path_of;
use nix::{
    errno::Errno,
    libc::{self, c_long},
};

use super::notified_server::{
    argument, copy_descriptor, int_argument, next_call, process_of, read_memory, read_string,
};

/// The kernel's limit.
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

/// A server's files and folders, kept open: they stay the same wherever they are moved.
#[derive(Debug)]
pub(super) struct BrokeredFolders {
    pub(super) read: Vec<File>,
    pub(super) write: Vec<File>,
}

/// How a call names a file.
#[derive(Clone, Copy)]
enum FileArgument {
    /// A path in this argument, relative to the working directory. Links are followed.
    Path(usize),
    /// The same, but a link is not followed.
    Link(usize),
    /// The descriptor in this argument.
    Descriptor(usize),
    /// A path with the folder to which it is relative in the argument before it, and flags in the second argument, if
    /// any.
    At(usize, Option<usize>),
}
use FileArgument::{At, Descriptor, Link};

/// The operation of a call on the file.
#[derive(Clone, Copy)]
enum FileChange {
    /// The argument has the mode.
    Mode(usize),
    /// The argument has the owner, the next one the group.
    Owner(usize),
    /// The argument points to two times of this form.
    Times(usize, TimeForm),
    /// The argument points to the name. Value, length and flags are in the next ones.
    SetAttribute(usize),
    RemoveAttribute(usize),
    /// The descriptor of the watch is the first argument, its events are the third.
    Watch,
}

#[derive(Clone, Copy)]
enum TimeForm {
    Seconds,
    Microseconds,
    Nanoseconds,
}

const BROKERED_CALLS: &[(c_long, FileArgument, FileChange)] = &[
    (libc::SYS_fchmod, Descriptor(0), FileChange::Mode(1)),
    (libc::SYS_fchmodat, At(1, None), FileChange::Mode(2)),
    (SYS_FCHMODAT2, At(1, Some(3)), FileChange::Mode(2)),
    (libc::SYS_fchown, Descriptor(0), FileChange::Owner(1)),
    (libc::SYS_fchownat, At(1, Some(4)), FileChange::Owner(2)),
    (
        libc::SYS_utimensat,
        At(1, Some(3)),
        FileChange::Times(2, TimeForm::Nanoseconds),
    ),
    (
        libc::SYS_setxattr,
        FileArgument::Path(0),
        FileChange::SetAttribute(1),
    ),
    (libc::SYS_lsetxattr, Link(0), FileChange::SetAttribute(1)),
    (
        libc::SYS_fsetxattr,
        Descriptor(0),
        FileChange::SetAttribute(1),
    ),
    (
        libc::SYS_removexattr,
        FileArgument::Path(0),
        FileChange::RemoveAttribute(1),
    ),
    (
        libc::SYS_lremovexattr,
        Link(0),
        FileChange::RemoveAttribute(1),
    ),
    (
        libc::SYS_fremovexattr,
        Descriptor(0),
        FileChange::RemoveAttribute(1),
    ),
    (
        libc::SYS_inotify_add_watch,
        FileArgument::Path(1),
        FileChange::Watch,
    ),
];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_BROKERED_CALLS: &[(c_long, FileArgument, FileChange)] = &[
    (libc::SYS_chmod, FileArgument::Path(0), FileChange::Mode(1)),
    (libc::SYS_chown, FileArgument::Path(0), FileChange::Owner(1)),
    (libc::SYS_lchown, Link(0), FileChange::Owner(1)),
    (
        libc::SYS_utime,
        FileArgument::Path(0),
        FileChange::Times(1, TimeForm::Seconds),
    ),
    (
        libc::SYS_utimes,
        FileArgument::Path(0),
        FileChange::Times(1, TimeForm::Microseconds),
    ),
    (
        libc::SYS_futimesat,
        At(1, None),
        FileChange::Times(2, TimeForm::Microseconds),
    ),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_BROKERED_CALLS: &[(c_long, FileArgument, FileChange)] = &[];

fn all_calls() -> impl Iterator<Item = &'static (c_long, FileArgument, FileChange)> {
    BROKERED_CALLS.iter().chain(OLD_BROKERED_CALLS)
}

pub(super) fn brokered_calls() -> Vec<i64> {
    all_calls().map(|(call, ..)| *call).collect()
}

/// Answers calls until the server has no process left.
pub(super) fn answer_calls(listener: &OwnedFd, folders: &BrokeredFolders) {
    while let Some(call) = next_call(listener) {
        let result = make_call(listener, &call, folders);
        // The calling process may have been killed meanwhile.
        answer_call(listener, &call, result).ok();
    }
}

fn make_call(
    listener: &OwnedFd,
    call: &CallNotification,
    folders: &BrokeredFolders,
) -> Result<i64, Errno> {
    let mut known = all_calls();
    let (_, file, change) = known
        .find(|(number, ..)| *number == c_long::from(call.call))
        .ok_or(Errno::ENOSYS)?;
    let object = open_object(call, *file, *change)?;
    let change = FileOperation::read(call, *change)?;
    if !is_waiting(listener, call) {
        return Err(Errno::ESRCH);
    }
    let path = path_of(&object).map_err(|error| errno_of(&error))?;
    let is_in = |folders: &[File]| {
        let mut folders = folders.iter();
        folders.any(|folder| path_of(folder).is_ok_and(|folder| path.starts_with(folder)))
    };
    let is_allowed = match &change {
        FileOperation::Watch { .. } => is_in(&folders.read) || is_in(&folders.write),
        _ => is_in(&folders.write),
    };
    if is_allowed {
        change.make(&object)
    } else {
        Err(Errno::EPERM)
    }
}

/// Opens the file that a call names, without access to its content.
fn open_object(
    call: &CallNotification,
    file: FileArgument,
    change: FileChange,
) -> Result<File, Errno> {
    let process = format!("/proc/{}", call.thread);
    let int = |index: usize| int_argument(call, index);
    let (path, follows) = match file {
        Descriptor(index) => return open(&format!("{process}/fd/{}", int(index)).into(), true),
        FileArgument::Path(index) => {
            let is_watch = matches!(change, FileChange::Watch);
            let follows = !is_watch || argument(call, 2) & u64::from(libc::IN_DONT_FOLLOW) == 0;
            (read_path(call, argument(call, index))?, follows)
        }
        Link(index) => (read_path(call, argument(call, index))?, false),
        At(index, flags) => {
            let base = match int(index - 1) {
                libc::AT_FDCWD => format!("{process}/cwd"),
                fd => format!("{process}/fd/{fd}"),
            };
            let flags = flags.map_or(0, int);
            let pointer = argument(call, index);
            let path = match pointer {
                // The descriptor itself is the target, as for `futimens`.
                0 => PathBuf::new(),
                pointer => read_path(call, pointer)?,
            };
            if path.as_os_str().is_empty() {
                return if pointer == 0 || flags & libc::AT_EMPTY_PATH != 0 {
                    open(&base.into(), true)
                } else {
                    Err(Errno::ENOENT)
                };
            }
            let follows = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
            (Path::new(&base).join(path), follows)
        }
    };
    if path.as_os_str().is_empty() {
        return Err(Errno::ENOENT);
    }
    // An absolute path stays as it is.
    let path = Path::new(&format!("{process}/cwd")).join(path);
    open(&of_process(call, &path)?, follows)
}

fn open(path: &PathBuf, follows: bool) -> Result<File, Errno> {
    let flags = if follows {
        libc::O_PATH
    } else {
        libc::O_PATH | libc::O_NOFOLLOW
    };
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags).open(path);
    opened.map_err(|error| errno_of(&error))
}

fn read_path(call: &CallNotification, pointer: u64) -> Result<PathBuf, Errno> {
    let text = read_string(call.thread, pointer).ok_or(Errno::EFAULT)?;
    Ok(PathBuf::from(OsStr::from_bytes(&text)))
}

/// The path as the calling process sees it: `/proc/self` is a different process here.
fn of_process(call: &CallNotification, path: &Path) -> Result<PathBuf, Errno> {
    for own in ["/proc/self", "/proc/thread-self"] {
        if let Ok(rest) = path.strip_prefix(own) {
            let process = process_of(call).ok_or(Errno::ESRCH)?;
            return Ok(Path::new(&format!("/proc/{process}")).join(rest));
        }
    }
    Ok(path.to_owned())
}

/// An operation on the file, read from the memory of the calling process.
enum FileOperation {
    Mode(u32),
    Owner(u32, u32),
    /// `None` means now.
    Times(Option<[libc::timespec; 2]>),
    SetAttribute {
        name: CString,
        value: Vec<u8>,
        flags: i32,
    },
    RemoveAttribute {
        name: CString,
    },
    Watch {
        watches: OwnedFd,
        events: u32,
    },
}

impl FileOperation {
    fn read(call: &CallNotification, change: FileChange) -> Result<Self, Errno> {
        // Modes and owners have 32 bits.
        let word = |index: usize| int_argument(call, index).cast_unsigned();
        let name = |index: usize| {
            let text = read_string(call.thread, argument(call, index)).ok_or(Errno::EFAULT)?;
            CString::new(text).map_err(|_| Errno::EINVAL)
        };
        Ok(match change {
            FileChange::Mode(index) => Self::Mode(word(index)),
            FileChange::Owner(index) => Self::Owner(word(index), word(index + 1)),
            FileChange::Times(index, form) => Self::Times(read_times(call, index, form)?),
            FileChange::SetAttribute(index) => {
                let length = usize::try_from(argument(call, index + 2)).unwrap_or(usize::MAX);
                if length > MAX_ATTRIBUTE_BYTES {
                    return Err(Errno::E2BIG);
                }
                let value = match length {
                    0 => Vec::new(),
                    length => read_memory(call.thread, argument(call, index + 1), length)
                        .ok_or(Errno::EFAULT)?,
                };
                Self::SetAttribute {
                    name: name(index)?,
                    value,
                    flags: int_argument(call, index + 3),
                }
            }
            FileChange::RemoveAttribute(index) => Self::RemoveAttribute { name: name(index)? },
            FileChange::Watch => Self::Watch {
                watches: copy_descriptor(call, int_argument(call, 0)).ok_or(Errno::EBADF)?,
                // The link itself is already open.
                events: word(2) & !libc::IN_DONT_FOLLOW,
            },
        })
    }

    #[expect(unsafe_code, reason = "no safe wrapper takes an object without a path")]
    fn make(self, object: &File) -> Result<i64, Errno> {
        let fd = object.as_raw_fd();
        let empty = c"".as_ptr();
        // Extended attributes and watches have no call that takes such a descriptor.
        let link = CString::new(format!("/proc/self/fd/{fd}")).map_err(|_| Errno::EINVAL)?;
        let result = match self {
            // SAFETY: the path is an empty string.
            Self::Mode(mode) => unsafe {
                libc::syscall(SYS_FCHMODAT2, fd, empty, mode, libc::AT_EMPTY_PATH)
            },
            // SAFETY: the path is an empty string.
            Self::Owner(user, group) => unsafe {
                libc::fchownat(fd, empty, user, group, libc::AT_EMPTY_PATH).into()
            },
            Self::Times(times) => {
                let times = times
                    .as_ref()
                    .map_or(std::ptr::null(), |times| times.as_ptr());
                // SAFETY: the path is an empty string, and the times are null or two.
                unsafe { libc::utimensat(fd, empty, times, libc::AT_EMPTY_PATH).into() }
            }
            // SAFETY: path and name are strings, and the value has this length.
            Self::SetAttribute { name, value, flags } => unsafe {
                let value_at = value.as_ptr().cast();
                libc::setxattr(link.as_ptr(), name.as_ptr(), value_at, value.len(), flags).into()
            },
            // SAFETY: path and name are strings.
            Self::RemoveAttribute { name } => unsafe {
                libc::removexattr(link.as_ptr(), name.as_ptr()).into()
            },
            // SAFETY: the descriptor is open, and the path is a string.
            Self::Watch { watches, events } => unsafe {
                libc::inotify_add_watch(watches.as_raw_fd(), link.as_ptr(), events).into()
            },
        };
        Errno::result(result)
    }
}

fn read_times(
    call: &CallNotification,
    index: usize,
    form: TimeForm,
) -> Result<Option<[libc::timespec; 2]>, Errno> {
    let pointer = argument(call, index);
    if pointer == 0 {
        return Ok(None);
    }
    let words = match form {
        TimeForm::Seconds => 2,
        TimeForm::Microseconds | TimeForm::Nanoseconds => 4,
    };
    let bytes = read_memory(call.thread, pointer, words * 8).ok_or(Errno::EFAULT)?;
    let words: Vec<i64> = bytes
        .chunks_exact(8)
        .filter_map(|chunk| chunk.try_into().ok().map(i64::from_ne_bytes))
        .collect();
    let time = |seconds: i64, nanoseconds: i64| libc::timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    match (form, words.as_slice()) {
        (TimeForm::Seconds, [access, change]) => Ok(Some([time(*access, 0), time(*change, 0)])),
        (TimeForm::Microseconds, [access, micros, change, change_micros]) => {
            // An out-of-range value must not become the value for "now".
            let nanos = |micros: i64| {
                if (0..1_000_000).contains(&micros) {
                    Ok(micros * 1000)
                } else {
                    Err(Errno::EINVAL)
                }
            };
            Ok(Some([
                time(*access, nanos(*micros)?),
                time(*change, nanos(*change_micros)?),
            ]))
        }
        (TimeForm::Nanoseconds, [access, nanos, change, change_nanos]) => {
            Ok(Some([time(*access, *nanos), time(*change, *change_nanos)]))
        }
        _ => Err(Errno::EFAULT),
    }
}

fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
