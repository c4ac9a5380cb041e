//! Remedies for errors of the system that report an exhausted resource.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;

#[cfg(unix)]
use unix::remedy_for_errno;
#[cfg(windows)]
use windows::remedy_for_errno;

/// The remedy for an error that reports an exhausted resource: processes, descriptors, memory or disk space.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    remedy_for_errno(error.raw_os_error()?)
}

/// The remedy for the last `(os error N)` in a string, as `std` formats system errors.
pub fn remedy_in(text: &str) -> Option<&'static str> {
    let (_, rest) = text.rsplit_once("(os error ")?;
    let digits = rest.split(')').next()?;
    remedy_for_errno(digits.parse().ok()?)
}

#[cfg(all(test, unix))]
mod tests {
    use nix::errno::Errno;

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
