//! Programs of steps, written in JSON. They are started as every other program is.

use serde::{Deserialize, Serialize};

/// What a program is written in.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Or JavaScript.
    #[default]
    TypeScript,
    /// `{"steps": [{"id", "tool", "args", "on_error"}]}`. Only a daemon with the feature `program` knows it.
    Json,
}

impl Language {
    pub(crate) fn is_typescript(&self) -> bool {
        *self == Self::TypeScript
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ExplainRequest {
    /// A program of steps.
    pub source: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Explained {
    /// The TypeScript that stands for the same.
    pub source: String,
}
