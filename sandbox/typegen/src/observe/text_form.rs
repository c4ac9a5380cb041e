//! How the texts of one tool are read, which its results decide.
//!
//! Invariant: once decided, it stays: a text that was a string is a string in each later result.

use serde::{Deserialize, Serialize};

/// The form of a tool's texts, as far as its results have shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextForm {
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TextKind>,
    /// A void text was null before any text was a string.
    #[serde(rename = "v", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_void: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// The first text that showed a form was a JSON object or array with content: these are parsed.
    Json,
    /// The first text that showed a form was another one: every text is a string.
    Text,
}

impl TextForm {
    /// True if every text is a string, or null if it is void.
    pub fn is_text(self) -> bool {
        self.kind == Some(TextKind::Text)
    }

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
