//! The kinds of failures: one list for workers, daemon and clients.
//!
//! Invariant: the exit code of a kind, and whether it is recoverable, are decided here alone. `docs/dev/changes.md` lists
//! the other code that tells kinds apart.

use serde::{Deserialize, Serialize};

/// The kind of a failure, in one word. Users see these words.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Deserialize,
    Eq,
    Hash,
    PartialEq,
    Serialize,
    strum::Display,
    strum::EnumIter,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The program cannot be parsed. Nothing was executed.
    Syntax,
    /// The program does not match the tools' types. Nothing was executed.
    Type,
    /// The program threw.
    Runtime,
    /// A tool reported an error.
    Tool,
    /// Arguments or a result do not fit their schema.
    Validation,
    /// No such server, tool, run, handle or file.
    NotFound,
    /// A time limit was exceeded, which the message names.
    Timeout,
    /// The program used too much memory.
    Memory,
    /// Another limit was reached, which the message names.
    Limit,
    /// All resources are in use; try again.
    Busy,
    /// The program waits for something that cannot happen.
    Deadlock,
    /// The call or run was cancelled.
    Cancelled,
    /// Policy denies it.
    Denied,
    /// A user must approve the call, and did not in time. `resume_run` continues the run.
    Pending,
    /// The user must log in first.
    AuthRequired,
    /// The server or the daemon cannot be reached. Nothing was done.
    Unavailable,
    /// The call was sent and no answer came: it may or may not have happened.
    UnknownOutcome,
    /// An error in muxd itself.
    #[default]
    Internal,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns true if other code or other arguments can succeed.
    pub fn is_recoverable(self) -> bool {
        match self {
            Self::Syntax
            | Self::Type
            | Self::Runtime
            | Self::Tool
            | Self::Validation
            | Self::NotFound
            | Self::Timeout
            | Self::Memory
            | Self::Limit
            | Self::Deadlock => true,
            Self::Busy
            | Self::Cancelled
            | Self::Denied
            | Self::Pending
            | Self::AuthRequired
            | Self::Unavailable
            | Self::UnknownOutcome
            | Self::Internal => false,
        }
    }

    /// The exit code of a command: 1 the program or tool failed, 3 muxd or the connection failed, 4 rejected before it
    /// ran, 5 not allowed, 6 unknown outcome, 124 timeout, 130 cancelled.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Runtime
            | Self::Tool
            | Self::Validation
            | Self::NotFound
            | Self::Memory
            | Self::Limit
            | Self::Deadlock => 1,
            Self::Busy | Self::Unavailable | Self::Internal => 3,
            Self::Syntax | Self::Type => 4,
            Self::Denied | Self::Pending | Self::AuthRequired => 5,
            Self::UnknownOutcome => 6,
            Self::Timeout => 124,
            Self::Cancelled => 130,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use strum::IntoEnumIterator as _;

    use super::*;

    const ERRORS_PAGE: &str = include_str!("../../../docs/reference/errors.md");

    #[test]
    fn exit_codes_are_those_of_the_documentation() {
        let mut documented = BTreeMap::new();
        for row in ERRORS_PAGE.lines() {
            let mut cells = row.trim_matches('|').split('|').map(str::trim);
            let Some(code) = cells.next().and_then(|cell| cell.parse::<u8>().ok()) else {
                continue;
            };
            for word in cells.next().unwrap_or_default().split('`') {
                documented.extend(word.parse().ok().map(|kind: Kind| (kind.as_str(), code)));
            }
        }
        let codes = Kind::iter().map(|kind| (kind.as_str(), kind.exit_code()));
        assert_eq!(documented, codes.collect());
    }

    #[test]
    fn every_kind_is_documented_as_recoverable_or_not() {
        for kind in Kind::iter() {
            let heading = format!("\n## {kind}\n");
            let (_, section) = ERRORS_PAGE.split_once(&heading).expect(&heading);
            let (_, words) = section.split_once("**Recoverable:** ").expect(&heading);
            assert_eq!(words.starts_with("yes"), kind.is_recoverable(), "{kind}");
        }
    }
}
