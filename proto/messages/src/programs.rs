//! Step programs, written in JSON. Clients start them like all other programs.

use serde::{Deserialize, Serialize};

/// The language of a program.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// TypeScript or JavaScript.
    #[default]
    TypeScript,
    /// A step program, `{"steps": [{"id", "tool", "args", "on_error"}]}`.
    Json,
}

impl Language {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
    pub(crate) fn is_typescript(&self) -> bool {
        *self == Self::TypeScript
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainRequest {
    /// The source of a step program.
    pub source: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// The equivalent TypeScript.
    pub source: String,
}
