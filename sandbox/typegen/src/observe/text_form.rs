//! The form in which a tool's text results are read: once its results decide the form, they are
//! read as strings or as JSON.
//!
//! Invariant: once decided, the form stays. If a text result was a string, all later text results
//! are strings.

use serde::{Deserialize, Serialize};

/// The form of a tool's text results, as far as the results have shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextForm {
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TextKind>,
    /// An empty text result was null before any text result was a string.
    #[serde(rename = "v", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_void: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// The first text result that showed a form was a non-empty JSON object or array: these are
    /// parsed.
    Json,
    /// The first text result that showed a form was anything else: every text result is a string.
    Text,
}

impl TextForm {
    /// Returns true if every text result is a string, or null if it is empty.
    pub fn is_text(self) -> bool {
        self.kind == Some(TextKind::Text)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a later result. Decisions stay.
    pub fn merge(&mut self, later: Self) {
        if !self.is_text() {
            self.has_void |= later.has_void;
        }
        self.kind = self.kind.or(later.kind);
    }
}
