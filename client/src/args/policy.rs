//! Arguments of `mux policy` and `mux config`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PolicyCommand>,
    #[command(flatten)]
    pub(crate) list: PolicyListArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules in evaluation order (the default)
    #[command(after_help = "Example: mux policy list --agent small-model")]
    List(PolicyListArgs),
    /// Explain which rule decides a call, without making the call
    #[command(after_help = "Without arguments, shows what depends on them.\n\
        Examples:\n  mux policy explain github.delete_repo\n  \
        mux policy explain files.write_file path=/etc/hosts --agent small-model")]
    Explain(PolicyExplainArgs),
}

// Without its own group, because the group's name would collide with the subcommand that flattens it.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct PolicyListArgs {
    /// List the rules that apply to this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyExplainArgs {
    /// SERVER.TOOL
    pub(crate) path: String,
    /// key=value pairs, one JSON object, or - for a JSON object on standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Evaluate the rules for this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Evaluate the rules for a client of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Evaluate the rules for a client in this workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the settings in force, each with its origin
    #[command(after_help = "Example: mux config show --agent small-model")]
    Show {
        /// Print the settings that apply to this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Print the JSON Schema of config.toml, for editors
    #[command(after_help = "Example: mux config schema > config.schema.json")]
    Schema,
    /// Print where config.toml is
    #[command(after_help = "Example: $EDITOR $(mux config path)")]
    Path,
    /// Check config.toml, or another file, without applying it
    #[command(after_help = "Exits with 1 on an error.\nExample: mux config check new.toml")]
    Check {
        /// The file to check [default: config.toml]; - for standard input
        file: Option<PathBuf>,
    },
}
