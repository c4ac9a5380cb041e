//! Remedies for errors of the system that report an exhausted resource.

use std::io;

use nix::errno::Errno;

/// The remedy for an error that reports an exhausted resource: processes, descriptors, memory or disk space.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    remedy_for_errno(error.raw_os_error()?)
}

/// The remedy for the last `(os error N)` in a text, as `std` formats system errors.
pub fn remedy_in(text: &str) -> Option<&'static str> {
    let (_, rest) = text.rsplit_once("(os error ")?;
    let digits = rest.split(')').next()?;
    remedy_for_errno(digits.parse().ok()?)
}

fn remedy_for_errno(number: i32) -> Option<&'static str> {
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
            "the disk is full: make room on it; muxd does not need a restart"
        }
        Errno::EROFS => {
            "the disk cannot be written: mount it writable, or set MUX_HOME to a directory that is"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedy_is_found_by_the_error_number_in_a_text() {
        let error = io::Error::from_raw_os_error(Errno::EMFILE as i32);
        assert!(remedy(&error).unwrap().contains("ulimit -n"));
        let text = format!("cannot start /x (os error): {error}; its last output:\n  none");
        assert_eq!(remedy_in(&text), remedy(&error));
        assert_eq!(remedy_in("no such file (os error 2)"), None);
        assert_eq!(remedy_in("(os error "), None);
        assert_eq!(remedy_in("all is well"), None);
    }
}
