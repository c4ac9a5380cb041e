//! Warnings about a server, each with a code for its remedy.

use std::fmt;

/// A warning about a server, for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerWarning {
    pub code: ServerWarningCode,
    pub text: String,
}

/// The subject of a [`ServerWarning`], if its remedy depends on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServerWarningCode {
    /// A text of the server may instruct a model.
    Instructions,
    /// A result contained an apparent secret.
    SecretResult,
    /// A newer description of a source could not be loaded.
    SourceProblem,
    /// A remark on a source's description or credentials.
    SourceNote,
    /// An element of its lists cannot be used.
    LeftOut,
    /// Files that the server wrote into the empty home of its sandbox are lost.
    DiscardedFiles,
    /// The server's messages deviate from MCP but were accepted.
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
