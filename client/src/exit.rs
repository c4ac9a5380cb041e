//! Maps error kinds to exit codes.

use mux_proto::{Error, Kind};

/// The exit code for an error kind: 1 the program or tool failed, 2 usage error, 3 muxd or the connection failed,
/// 4 rejected before it ran, 5 not allowed, 6 unknown outcome, 124 timeout, 130 cancelled.
pub(crate) fn exit_code_of(kind: &Kind) -> u8 {
    match kind {
        Kind::Runtime
        | Kind::Tool
        | Kind::Validation
        | Kind::NotFound
        | Kind::Memory
        | Kind::Limit
        | Kind::Deadlock => 1,
        Kind::Syntax | Kind::Type => 4,
        Kind::Denied | Kind::Pending | Kind::AuthRequired => DENIED_EXIT_CODE,
        Kind::UnknownOutcome => 6,
        Kind::Timeout => 124,
        Kind::Cancelled => 130,
        // An unknown kind comes from a newer daemon and is not the program's fault.
        _ => 3,
    }
}

/// The exit code for denied actions.
pub(crate) const DENIED_EXIT_CODE: u8 = 5;
/// The exit code of a usage error.
pub(crate) const USAGE_EXIT_CODE: u8 = 2;

/// A failure of muxd itself or of the connection to it.
pub(crate) fn unavailable_error(message: String) -> Error {
    Error::new(Kind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_documented_code() {
        for (name, expected) in [
            ("runtime", 1),
            ("tool", 1),
            ("validation", 1),
            ("not_found", 1),
            ("memory", 1),
            ("limit", 1),
            ("deadlock", 1),
            ("internal", 3),
            ("unavailable", 3),
            ("busy", 3),
            ("syntax", 4),
            ("type", 4),
            ("denied", 5),
            ("pending", 5),
            ("auth_required", 5),
            ("unknown_outcome", 6),
            ("timeout", 124),
            ("cancelled", 130),
            ("of the future", 3),
        ] {
            assert_eq!(exit_code_of(&Kind::from_name(name)), expected, "{name}");
        }
    }
}
