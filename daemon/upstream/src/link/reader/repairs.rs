//! The table of repairs: each deviation that is tolerated in a server's messages has a name and a reason here, and is
//! counted per session.
//!
//! Invariant: nothing is repaired silently. The first repair of each kind is written to the server's log, and all are
//! counted for `mux servers` and `mux doctor`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use parking_lot::Mutex;
use strum::{EnumIter, EnumMessage, IntoStaticStr};
use tracing::debug;

use crate::link::server_log::{LogStamp, ServerLog};
use mux_text::error_chain::excerpt;

/// The maximum number of left out list elements to name.
const MAX_NAMED_ELEMENTS: usize = 5;

/// A kind of repair. The message says how the value is read. The comment names its typical senders.
#[derive(
    Clone, Copy, Debug, EnumIter, EnumMessage, Eq, IntoStaticStr, Ord, PartialEq, PartialOrd,
)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Repair {
    /// Writers on Windows, and C servers that send the terminating NUL.
    #[strum(message = "a byte order mark around a message is skipped")]
    ByteOrderMark,
    /// JavaScript cuts a string within an emoji, and tools pass on bytes in another encoding.
    #[strum(message = "text that is not valid Unicode becomes U+FFFD")]
    InvalidText,
    /// Python's `json.dumps` writes `NaN` and `Infinity`.
    #[strum(message = "a number that is not finite is read as null")]
    NonFiniteNumber,
    /// JSON that was put together without a serializer.
    #[strum(message = "a raw control character in a string is escaped")]
    ControlCharacter,
    /// Revision 2025-03-26 allows arrays of messages.
    #[strum(message = "an array of messages is read as its messages")]
    Batch,
    /// Servers that were written without an SDK.
    #[strum(message = "a missing or wrong `jsonrpc` is read as \"2.0\"")]
    Version,
    /// Servers that could not read the request, or that lose its id.
    #[strum(
        message = "an error without an id ends its stream's request or the only open one; during the handshake, so does a result"
    )]
    MissingId,
    /// Servers in languages with a single number type.
    #[strum(message = "an id of another type is read as the id of the request")]
    IdType,
    /// Servers that were written without an SDK.
    #[strum(message = "a malformed `error` is converted to a JSON-RPC error")]
    ErrorObject,
    /// PHP writes an empty map as `[]`.
    #[strum(message = "`[]` is read as `{}` where an object belongs")]
    EmptyArray,
    /// Lua and PHP write an empty list as `{}`, and PHP writes a list with gaps as an object.
    #[strum(message = "an object is read as a list where a list belongs")]
    ObjectAsList,
    /// Go, Java and Python write absent members as null.
    #[strum(message = "null is read as an absent member")]
    Null,
    /// Servers that were written for one client.
    #[strum(message = "a missing required member gets its default")]
    MissingMember,
    /// Servers that keep settings or database rows as strings.
    #[strum(message = "a value is converted to the type that belongs there")]
    Converted,
    /// Servers in languages without types.
    #[strum(message = "a member of the wrong type is dropped")]
    WrongType,
    /// Servers with one malformed tool, resource or prompt.
    #[strum(message = "a list element that cannot be used is left out")]
    LeftOut,
}

impl Repair {
    fn name(self) -> &'static str {
        self.into()
    }

    fn explanation(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}

/// The repairs of one session.
#[derive(Debug, Default)]
pub(crate) struct Repairs {
    log: Option<(PathBuf, LogStamp)>,
    made: Mutex<RepairsMade>,
    /// The last answer that belongs to no request, until a time-out reports it.
    stray_answer: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct RepairsMade {
    counts: BTreeMap<Repair, RepairCount>,
    /// The list elements that were left out, each with its reason.
    left_out: BTreeSet<String>,
}

#[derive(Debug)]
struct RepairCount {
    count: u64,
    /// The position of the first repair, such as `tools/list: tools[3].title`.
    first: String,
}

impl Repairs {
    pub(crate) fn logged_to(log: (PathBuf, LogStamp)) -> Self {
        Self {
            log: Some(log),
            ..Self::default()
        }
    }

    /// Counts a repair. `position` is evaluated only for the first repair of its kind and for elements that are left
    /// out.
    pub(crate) fn record(&self, repair: Repair, position: impl fmt::Display) {
        let mut made = self.made.lock();
        let is_left_out = repair == Repair::LeftOut;
        if let Some(known) = made.counts.get_mut(&repair) {
            known.count += 1;
            if !is_left_out {
                return;
            }
        }
        let position = excerpt(&position.to_string());
        if is_left_out && made.left_out.len() < MAX_NAMED_ELEMENTS {
            made.left_out.insert(position.clone());
        }
        if made.counts.contains_key(&repair) {
            return;
        }
        let name = repair.name();
        let explanation = repair.explanation();
        debug!(name, position, "message repaired");
        if let Some((log, stamp)) = &self.log {
            let text = format!("[muxd] repaired ({name}): {explanation}, first in {position}");
            ServerLog::open(log).write(&stamp.stamp_line(&text));
        }
        made.counts.insert(
            repair,
            RepairCount {
                count: 1,
                first: position,
            },
        );
    }

    /// Records an answer that belongs to no request: the answer appears in the log, and in the error of the request
    /// that times out.
    pub(crate) fn record_stray_answer(&self, text: &str) {
        *self.stray_answer.lock() = Some(text.to_owned());
        if let Some((log, stamp)) = &self.log {
            let text = format!("[muxd] an answer without an id: {text}");
            ServerLog::open(log).write(&stamp.stamp_line(&text));
        }
    }

    /// The last answer that belongs to no request. Reported once.
    pub(crate) fn take_stray_answer(&self) -> Option<String> {
        self.stray_answer.lock().take()
    }

    /// The list elements that were left out, as a warning.
    pub(crate) fn left_out_warning(&self) -> Option<String> {
        let made = self.made.lock();
        let count = made.counts.get(&Repair::LeftOut)?.count;
        let named: Vec<&str> = made.left_out.iter().map(String::as_str).collect();
        let more = if count > named.len() as u64 {
            format!(" ({count} times)")
        } else {
            String::new()
        };
        Some(format!("left out of its lists: {}{more}", named.join("; ")))
    }

    /// The other repairs, as one remark.
    pub(crate) fn remark(&self) -> Option<String> {
        let made = self.made.lock();
        let others = made.counts.iter();
        let others = others.filter(|(repair, _)| **repair != Repair::LeftOut);
        let described: Vec<String> = others
            .map(|(repair, made)| {
                format!(
                    "{} (×{}, first in {})",
                    repair.explanation(),
                    made.count,
                    made.first
                )
            })
            .collect();
        (!described.is_empty())
            .then(|| format!("its messages deviate from MCP: {}", described.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn documentation_names_every_repair() {
        let guide = include_str!("../../../../../docs/guides/servers.md");
        for repair in Repair::iter() {
            let row = format!("| `{}` | {} |", repair.name(), repair.explanation());
            assert!(guide.contains(&row), "docs/guides/servers.md lacks {row}");
        }
    }

    #[test]
    fn first_repair_of_each_kind_is_logged_and_all_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let repairs = Repairs::logged_to((log.clone(), LogStamp::default()));
        for index in 0..3 {
            repairs.record(
                Repair::Null,
                format_args!("tools/list: tools[{index}].title"),
            );
            repairs.record(
                Repair::LeftOut,
                format_args!("tools/list: tools[{index}]: no name"),
            );
        }
        let log = std::fs::read_to_string(&log).unwrap();
        assert_eq!(log.lines().count(), 2, "{log}");
        assert!(log.contains("repaired (null)"), "{log}");
        let remark = repairs.remark().unwrap();
        assert!(
            remark.contains("(×3, first in tools/list: tools[0].title)"),
            "{remark}"
        );
        let left_out = repairs.left_out_warning().unwrap();
        for index in 0..3 {
            assert!(left_out.contains(&format!("tools[{index}]")), "{left_out}");
        }
    }
}
