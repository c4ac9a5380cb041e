//! The numbers that Windows gives to exhausted resources.

/// `ERROR_TOO_MANY_OPEN_FILES`.
const TOO_MANY_OPEN_FILES: i32 = 4;
/// `ERROR_NOT_ENOUGH_MEMORY`, `ERROR_OUTOFMEMORY`, `ERROR_NO_SYSTEM_RESOURCES` and `ERROR_COMMITMENT_LIMIT`.
const NOT_ENOUGH_MEMORY: i32 = 8;
const OUT_OF_MEMORY: i32 = 14;
const NO_SYSTEM_RESOURCES: i32 = 1450;
const COMMITMENT_LIMIT: i32 = 1455;
/// `ERROR_WRITE_PROTECT`.
const WRITE_PROTECT: i32 = 19;
/// `ERROR_HANDLE_DISK_FULL`, `ERROR_DISK_FULL` and `ERROR_DISK_QUOTA_EXCEEDED`.
const HANDLE_DISK_FULL: i32 = 39;
const DISK_FULL: i32 = 112;
const DISK_QUOTA_EXCEEDED: i32 = 1295;

pub(super) fn remedy_for_errno(number: i32) -> Option<&'static str> {
    Some(match number {
        TOO_MANY_OPEN_FILES => "the system has reached a limit of open files: end other programs",
        NOT_ENOUGH_MEMORY | OUT_OF_MEMORY | NO_SYSTEM_RESOURCES | COMMITMENT_LIMIT => {
            "the system has no memory left: end other programs, or enlarge the page file"
        }
        HANDLE_DISK_FULL | DISK_FULL | DISK_QUOTA_EXCEEDED => {
            "the disk is full: free some space; muxd does not need a restart"
        }
        WRITE_PROTECT => {
            "the disk cannot be written: make it writable, or set MUX_HOME to a directory that is"
        }
        _ => return None,
    })
}
