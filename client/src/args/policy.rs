//! What `mux policy` and `mux config` are asked for.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) command: Option<PolicyCommand>,
    #[command(flatten)]
    pub(crate) list: ListPolicy,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules in the order in which they are asked (the default)
    #[command(after_help = "Example: mux policy list --agent small-model")]
    List(ListPolicy),
    /// Say which rule decides a call, and why; the call is not made
    #[command(after_help = "Without arguments it says what depends on them.\n\
        Examples:\n  mux policy explain github.delete_repo\n  \
        mux policy explain files.write_file path=/etc/hosts --agent small-model")]
    Explain(ExplainPolicy),
}

// Without its own group, whose name would be that of the subcommand it is flattened into.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct ListPolicy {
    /// The rules that hold for this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainPolicy {
    /// SERVER.TOOL
    pub(crate) path: String,
    /// key=value pairs, one JSON object, or - for a JSON object on standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// As if this agent asked
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// As if a client asked that calls itself so
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// As if it worked there
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the settings that are in force, each with where it comes from
    #[command(after_help = "Example: mux config show --agent small-model")]
    Show {
        /// Those that hold for this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Print the JSON Schema of config.toml, for editors
    #[command(after_help = "Example: mux config schema > config.schema.json")]
    Schema,
    /// Print where config.toml is
    #[command(after_help = "Example: $EDITOR $(mux config path)")]
    Path,
    /// Say what is wrong with config.toml, or another file, without putting it in force
    #[command(after_help = "It exits with 1 if something is.\nExample: mux config check new.toml")]
    Check {
        /// In place of config.toml; - for standard input
        file: Option<PathBuf>,
    },
}
