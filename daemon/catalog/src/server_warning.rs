//! Warnings about a server, each with its fix.
//!
//! Invariant: a fix names no file of the user, only sections of the configuration and commands.

use std::fmt;

/// A warning about a server, for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerWarning {
    pub code: ServerWarningCode,
    pub text: String,
}

/// The subject of a [`ServerWarning`], if its fix depends on it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ServerWarningCode {
    /// A text of the server may instruct a model.
    Instructions,
    /// A result contained an apparent secret.
    SecretResult,
    /// A newer description of a source could not be loaded.
    SourceProblem,
    /// A remark on a source's description or credentials. The text ends with the fix, if there is one.
    SourceNote {
        fix: Option<String>,
    },
    /// An argument of the command looks like a secret.
    SecretInArgs,
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

impl ServerWarning {
    /// The fix, or `None` if there is nothing to do. `section` is the table of the configuration that has the entry
    /// `name`.
    pub fn fix(&self, section: &str, name: &str) -> Option<String> {
        let fix = match &self.code {
            ServerWarningCode::Instructions => format!(
                "to keep it from models, exclude the tool (tools.exclude) or override its description (override) in \
                 [{section}.{name}]"
            ),
            ServerWarningCode::SecretResult => format!(
                "`secrets` in [{section}.{name}] or [results] decides what happens to such results"
            ),
            ServerWarningCode::SourceProblem => {
                format!("`mux sources refresh {name}` tries again now")
            }
            ServerWarningCode::SourceNote { fix: Some(fix) } => fix.clone(),
            ServerWarningCode::SourceNote { fix: None } => format!(
                "[{section}.{name}] defines it; `mux sources refresh {name}` reads its description again"
            ),
            ServerWarningCode::SecretInArgs => format!(
                "replace it with ${{NAME}} in [{section}.{name}] and put the value into the file `env` next to \
                 config.toml; or use ${{keyring:NAME}} and `mux secrets set NAME`"
            ),
            ServerWarningCode::LeftOut => {
                format!("report it to the server's authors; `mux servers logs {name}` shows more")
            }
            ServerWarningCode::DiscardedFiles => format!(
                "`mux servers sandbox {name} --suggest` proposes what to grant; or add the folder to sandbox.write"
            ),
            ServerWarningCode::Repaired => return None,
            ServerWarningCode::Other => format!("`mux servers pins {name}` lists its tools"),
        };
        Some(fix)
    }
}

impl fmt::Display for ServerWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
