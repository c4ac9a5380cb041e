//! The numbers that Unix systems give to exhausted resources.

use nix::errno::Errno;

pub(super) fn remedy_for_errno(number: i32) -> Option<&'static str> {
    Some(match Errno::from_raw(number) {
        Errno::EAGAIN => {
            "you have reached the system's limit of processes or threads: end some, or raise the limit (`ulimit -u`, \
             TasksMax= of a service, pids.max of a container); muxd retries automatically"
        }
        Errno::EMFILE => {
            "muxd has reached its limit of open files: run less at once, or raise the limit (`ulimit -n`, LimitNOFILE= \
             of a service) and run `mux restart`"
        }
        Errno::ENFILE => {
            "the system has reached its limit of open files: end other programs, or raise fs.file-max"
        }
        Errno::ENOMEM => {
            "the system has no memory left: end other programs, or raise the container's limit"
        }
        Errno::ENOSPC | Errno::EDQUOT => {
            "the disk is full: free some space; muxd does not need a restart"
        }
        Errno::EROFS => {
            "the disk cannot be written: mount it writable, or set MUX_HOME to a directory that is"
        }
        _ => return None,
    })
}
