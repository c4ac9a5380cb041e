//! Warnings about a server, each with a code that says what its remedy is.

use std::fmt;

/// A warning about a server, for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerWarning {
    pub code: ServerWarningCode,
    pub text: String,
}

/// What a [`ServerWarning`] is about, where its remedy depends on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServerWarningCode {
    /// A text of the server may instruct a model.
    Instructions,
    /// A result held what looks like a secret.
    SecretResult,
    /// A newer description of a source could not be loaded.
    SourceProblem,
    /// A remark on a source's description or credentials.
    SourceNote,
    /// An element of its lists cannot be used.
    LeftOut,
    /// What it wrote into the empty home of its sandbox is lost.
    DiscardedFiles,
    /// Its messages deviate from MCP, and were read all the same.
    Repaired,
    Other,
}

impl ServerWarningCode {
    pub fn warning(self, text: impl Into<String>) -> ServerWarning {
        ServerWarning {
            code: self,
            text: text.into(),
        }
    }
}

impl fmt::Display for ServerWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
