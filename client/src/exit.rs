//! The exit code of wrong usage, and the error of a failed connection. Error kinds have their own exit codes.

use mux_proto::{Error, Kind};

/// The exit code of a usage error.
pub(crate) const USAGE_EXIT_CODE: u8 = 2;

/// A failure of muxd itself or of the connection to it.
pub(crate) fn unavailable_error(message: String) -> Error {
    Error::new(Kind::Unavailable, message)
}
