//! Who has seen a part of a shape, until enough have.
//!
//! Invariant: `merge` is a join, as it is for shapes. A part that is not confirmed has one caller at most and fewer
//! different arguments than [`ENOUGH_ARGUMENTS`]. The number of witnesses therefore stays small for any results.

use serde::{Deserialize, Serialize};

/// A part is confirmed by results of this many different arguments, or of two callers.
const ENOUGH_ARGUMENTS: usize = 3;

/// The call that had a result, by digests of its caller and of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Witness {
    pub caller: u64,
    pub arguments: u32,
}

/// The witnesses of one part of a shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Witnesses {
    #[serde(rename = "c", default, skip_serializing_if = "std::ops::Not::not")]
    is_confirmed: bool,
    /// Sorted, without duplicates. Empty once the part is confirmed.
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<Witness>,
}

impl Witnesses {
    pub(super) fn of(witness: Option<Witness>) -> Self {
        Self {
            is_confirmed: false,
            seen: witness.into_iter().collect(),
        }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the witnesses of `other`. Returns whether the part can be seen by more callers than before.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        if self.is_confirmed {
            return false;
        }
        let was_seen = !self.seen.is_empty();
        self.seen.extend(&other.seen);
        self.seen.sort_unstable();
        self.seen.dedup();
        let callers = self.seen.chunk_by(|a, b| a.caller == b.caller).count();
        self.is_confirmed =
            other.is_confirmed || callers > 1 || self.seen.len() >= ENOUGH_ARGUMENTS;
        if self.is_confirmed {
            self.seen.clear();
        }
        self.is_confirmed || was_seen == self.seen.is_empty()
    }

    /// Returns true if the part may be shown to this caller.
    pub(super) fn allow(&self, caller: u64) -> bool {
        self.is_confirmed || self.seen.iter().any(|witness| witness.caller == caller)
    }

    /// Returns true if deserialized witnesses can have come from `merge`.
    pub(super) fn is_valid(&self) -> bool {
        if self.is_confirmed {
            return self.seen.is_empty();
        }
        let is_sorted = self.seen.is_sorted_by(|a, b| a < b && a.caller == b.caller);
        is_sorted && self.seen.len() < ENOUGH_ARGUMENTS
    }
}
