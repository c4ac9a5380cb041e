//! The one table from kinds of failure to exit codes.

use mux_proto::{Error, Kind};

/// 1 the program or tool failed, 2 wrong usage, 3 the machinery failed, 4 rejected before it ran,
/// 5 not allowed, 6 unknown outcome, 124 timeout, 130 cancelled.
pub(crate) fn code(kind: &Kind) -> u8 {
    match kind {
        Kind::Runtime
        | Kind::Tool
        | Kind::Validation
        | Kind::NotFound
        | Kind::Memory
        | Kind::Limit
        | Kind::Deadlock => 1,
        Kind::Syntax | Kind::Type => 4,
        Kind::Denied | Kind::Pending | Kind::AuthRequired => 5,
        Kind::UnknownOutcome => 6,
        Kind::Timeout => 124,
        Kind::Cancelled => 130,
        // A kind of a newer daemon is nothing that a program could have done.
        _ => 3,
    }
}

/// Wrong usage of a command.
pub(crate) const USAGE: u8 = 2;

/// A failure of muxd itself or of the way to it.
pub(crate) fn machinery(message: String) -> Error {
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
            assert_eq!(code(&Kind::from_name(name)), expected, "{name}");
        }
    }
}
