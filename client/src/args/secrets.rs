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
    /// List secret names, where each secret is stored, and which entries use it (the default)
    #[command(after_help = "Example: mux secrets list --json")]
    List,
    /// Store a secret; prompts for its value or reads it from standard input
    #[command(
        after_help = "Reloads the entries that use the secret. Removes one trailing newline from the input.\n\
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
