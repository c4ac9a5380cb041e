//! What one does when the system has no more of something: the words behind an error of its.

use std::io;

use nix::errno::Errno;

/// What to do about an error of the system that says that it has no more to give.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    of_number(error.raw_os_error()?)
}

/// The same of a text that ends with such an error, as `std` writes it, or holds one.
pub fn remedy_in(text: &str) -> Option<&'static str> {
    let (_, rest) = text.rsplit_once("(os error ")?;
    let digits = rest.split(')').next()?;
    of_number(digits.parse().ok()?)
}

fn of_number(number: i32) -> Option<&'static str> {
    Some(match Errno::from_raw(number) {
        Errno::EAGAIN => {
            "the system starts no more processes or threads for you: end some, or raise the limit (`ulimit -u`, \
             TasksMax= of a service, pids.max of a container); it is tried again by itself"
        }
        Errno::EMFILE => {
            "muxd may open no more files: run less at once, or raise the limit (`ulimit -n`, LimitNOFILE= of a service) \
             and run `mux restart`"
        }
        Errno::ENFILE => {
            "the whole system may open no more files: end other programs, or raise fs.file-max"
        }
        Errno::ENOMEM => {
            "the system has no memory left: end other programs, or raise the container's limit"
        }
        Errno::ENOSPC | Errno::EDQUOT => {
            "the disk is full: make room; nothing has to be started again"
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
    fn an_error_is_known_by_its_number_in_a_text_too() {
        let error = io::Error::from_raw_os_error(Errno::EMFILE as i32);
        assert!(remedy(&error).unwrap().contains("ulimit -n"));
        let text = format!("cannot start /x (os error): {error}; its last words:\n  none");
        assert_eq!(remedy_in(&text), remedy(&error));
        assert_eq!(remedy_in("no such file (os error 2)"), None);
        assert_eq!(remedy_in("(os error "), None);
        assert_eq!(remedy_in("all is well"), None);
    }
}
