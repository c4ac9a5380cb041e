//! Arguments of `mux policy` and `mux config`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use mux_proto::PolicyAction;

use super::servers::parse_pair;

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
    #[command(after_help = "Without arguments, shows which rules depend on them.\n\
        Examples:\n  mux policy explain github.delete_repo\n  \
        mux policy explain files.write_file path=/etc/hosts --agent small-model")]
    Explain(PolicyExplainArgs),
    /// Test which rule decides a call, or check a file of cases with expected decisions
    #[command(
        after_help = "Exits with 0 if the call is allowed, with 5 if it is not or if that depends on missing \
        arguments. With cases: exits with 1 if any decision differs from the expected one.\n\
        A case is [[case]] with call = \"SERVER.TOOL\" and expect = \"allow\", \"ask\" or \"deny\"; arguments, agent, \
        client and workspace are optional.\n\
        Examples:\n  mux policy test files.write_file path=/etc/hosts\n  \
        mux policy test github.delete_repo --file new.toml\n  \
        mux policy test cases.toml"
    )]
    Test(PolicyExplainArgs),
    /// Add a rule to config.toml, before the existing rules
    #[command(
        after_help = "The first rule that applies decides. Keeps the file's comments and layout.\n\
        Conditions: server, agent, client, workspace, verb, annotations.NAME, arguments.PATH.\n\
        Examples:\n  mux policy add 'github.delete_*' ask\n  \
        mux policy add '*' ask --when annotations.destructive=true --last\n  \
        mux policy add 'files.*' deny --when 'arguments.path=/etc/*' --reason 'not in /etc'"
    )]
    Add(PolicyAddArgs),
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
    /// SERVER.TOOL, or for `mux policy test` a .toml file of cases
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
    /// Evaluate the rules in this file instead of the current rules; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyAddArgs {
    /// A glob for tool paths: SERVER.TOOL
    #[arg(value_name = "MATCH")]
    pub(crate) path: String,
    /// allow, ask or deny
    #[arg(value_parser = parse_action)]
    pub(crate) action: PolicyAction,
    /// An additional condition; can be repeated. The value is TOML or a bare word
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(crate) when: Vec<(String, String)>,
    /// The reason to include in the error
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Add the rule after the existing rules
    #[arg(long)]
    pub(crate) last: bool,
    /// Show the change without writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn parse_action(text: &str) -> Result<PolicyAction, String> {
    let action = text.parse();
    action.map_err(|_| "it must be allow, ask or deny".into())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the effective settings as a config.toml, each with its origin
    #[command(after_help = "Entries with secrets appear as comments.\n\
        Examples:\n  mux config show --agent small-model\n  mux config show > all.toml")]
    Show {
        /// Print the settings that apply to this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Print one effective value
    #[command(after_help = "Example: mux config get limits.wall")]
    Get {
        /// A dotted key; quote parts with other characters: servers.a.env."A.B"
        key: String,
    },
    /// Set one value in config.toml
    #[command(
        after_help = "Rejects unknown keys and out-of-range values. Keeps the file's comments and layout.\n\
        Examples:\n  mux config set limits.wall 2m\n  mux config set servers.files.share run\n  \
        mux config set servers.files.tools.exclude '[\"delete_*\"]'"
    )]
    Set(ConfigSetArgs),
    /// Remove a key from config.toml so that its default applies
    #[command(
        after_help = "Examples:\n  mux config unset limits.wall\n  mux config unset servers.files.env"
    )]
    Unset(ConfigUnsetArgs),
    /// Edit config.toml in $VISUAL or $EDITOR, checking it before it is written
    #[command(after_help = "Example: EDITOR='code --wait' mux config edit")]
    Edit,
    /// Print the JSON Schema of config.toml, for editors
    #[command(after_help = "Example: mux config schema > config.schema.json")]
    Schema,
    /// Print the path of config.toml
    #[command(after_help = "Example: ls -l $(mux config path)")]
    Path,
    /// Check config.toml, or another file, without applying it
    #[command(after_help = "Exits with 1 on an error.\nExample: mux config check new.toml")]
    Check {
        /// The file to check [default: config.toml]; - for standard input
        file: Option<PathBuf>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigSetArgs {
    /// A dotted key; quote parts with other characters: servers.a.env."A.B"
    pub(crate) key: String,
    /// TOML, or a bare word
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    /// Show the change without writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigUnsetArgs {
    /// A dotted key; quote parts with other characters: servers.a.env."A.B"
    pub(crate) key: String,
    /// Show the change without writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}
