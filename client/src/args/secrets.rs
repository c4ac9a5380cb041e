//! Arguments of `mux secrets`.
//!
//! Invariant: a secret's value is never an argument, because other users can see command lines.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct SecretsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SecretsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the names of the secrets, where each is stored, and which entries use it (the default)
    #[command(after_help = "Example: mux secrets list --json")]
    List,
    /// Store a secret; its value is prompted for, or read from standard input
    #[command(
        after_help = "Entries that use the secret are reloaded. One trailing newline of the input is removed.\n\
        Examples:\n  mux secrets set GITHUB_TOKEN\n  pass show github | mux secrets set GITHUB_TOKEN"
    )]
    Set {
        /// The name: letters, digits, `_`, `-` and `.`
        name: String,
    },
    /// Remove a secret
    #[command(after_help = "Example: mux secrets remove GITHUB_TOKEN")]
    Remove { name: String },
}
