//! What `mux secrets` is asked for. No value ever stands on the command line, which others can see.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Secrets {
    #[command(subcommand)]
    pub(crate) command: Option<SecretsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List their names, where each is kept, and which entries name it (the default)
    #[command(after_help = "Example: mux secrets list --json")]
    List,
    /// Keep a secret; its value is typed, or read from standard input
    #[command(
        after_help = "What uses it is put in force again. One line end at the end of the input is not part of it.\n\
        Examples:\n  mux secrets set GITHUB_TOKEN\n  pass show github | mux secrets set GITHUB_TOKEN"
    )]
    Set {
        /// Letters, digits, `_`, `-` and `.`
        name: String,
    },
    /// Forget a secret
    #[command(after_help = "Example: mux secrets remove GITHUB_TOKEN")]
    Remove { name: String },
}
