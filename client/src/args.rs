//! The command line, and nothing but its shape.

mod agents;
mod approvals;
mod audit;
mod pins;
mod policy;
mod program;
mod secrets;
mod servers;
mod sources;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args as ClapArgs, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::{
    agents::{Import, Install},
    approvals::{Approvals, ApprovalsCommand, Approve, Deny, Resume},
    audit::Audit,
    pins::{Accept, Pins},
    policy::{Config, ConfigCommand, ExplainPolicy, ListPolicy, Policy, PolicyCommand},
    program::Program,
    secrets::{Secrets, SecretsCommand},
    servers::{AddServer, ChangeServer, Login, Project, ProjectCommand, Servers, ServersCommand},
    sources::{AddSource, Sources, SourcesCommand},
};

/// Call the tools of all your MCP servers, one by one or with one typed program.
#[derive(Debug, Parser)]
#[command(
    name = "mux",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "The daemon starts by itself with the first command that needs it.\n\
    Example: mux run -e 'return Object.keys(mux)'"
)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a TypeScript program on the tools
    #[command(
        after_help = "Examples:\n  mux run summary.ts --input '{\"dir\": \"/srv\"}'\n  \
        mux run -e 'return (await mux.files.list_directory({ path: \"/srv\" })).length'\n  \
        generate-code | mux run -\n  \
        mux run chart.ts --save-parts charts\n  \
        mux runs watch $(mux run long.ts --timeout 5m --detach)"
    )]
    Run(Run),
    /// Run a program of steps, written in JSON
    #[command(
        after_help = "A step is a tool with its arguments, in which {{id.result.path}} is what an earlier step gave.\n\
        Examples:\n  mux program sizes.json --input '{\"dir\": \"/srv\"}'\n  \
        mux program -e '{\"steps\": [{\"id\": \"a\", \"tool\": \"git.git_status\", \"args\": {\"repo_path\": \".\"}}]}'\n  \
        mux program sizes.json --explain > sizes.ts"
    )]
    Program(Program),
    /// Show the runs of all clients, follow one, stop one
    #[command(after_help = "Examples:\n  mux runs --running\n  mux runs show 12")]
    Runs(Runs),
    /// Show the calls that wait for your approval, and what you allowed for ever
    #[command(
        after_help = "Examples:\n  mux approvals\n  mux approvals A7\n  mux approvals --watch\n  \
        mux approvals --granted\n  mux approvals revoke g5f0c93a1"
    )]
    Approvals(Approvals),
    /// Let a call that waits go on, with the arguments that are shown
    #[command(after_help = "Examples:\n  mux approve A7\n  mux approve A7 --session")]
    Approve(Approve),
    /// Refuse a call that waits
    #[command(after_help = "Example: mux deny A7 --reason 'not before Friday'")]
    Deny(Deny),
    /// Go on with a run that ended because nobody answered
    #[command(
        after_help = "Calls that had ended are not sent again. What is not approved is asked again.\n\
        Examples:\n  mux approve A7 && mux resume A7\n  mux resume 12"
    )]
    Resume(Resume),
    /// Say what is wrong with a program, without running it
    #[command(after_help = "Example: mux check summary.ts")]
    Check(Source),
    /// Call one tool
    #[command(
        after_help = "Examples:\n  mux call files.read_text_file path=/etc/hostname head=1\n  \
        mux call git.git_log '{\"repo_path\": \".\", \"max_count\": 3}'\n  \
        echo '{\"query\": \"mux\"}' | mux call memory.search_nodes -"
    )]
    Call(Call),
    /// List the tools, those that fit some words, or one with its types
    #[command(
        after_help = "With words the best come first, ten of them; a word may be misspelled a little.\n\
        Examples:\n  mux tools read file --server files\n  mux tools files.read_text_file"
    )]
    Tools(Tools),
    /// Print the TypeScript declarations that a program is written against
    #[command(
        after_help = "Types of results that no server declares are learned from the calls that are made.\n\
        Examples:\n  mux types files memory.search_nodes > mux.d.ts\n  \
        mux types --watch scripts      an editor then completes `mux.` in scripts/*.ts\n  \
        mux types --forget files"
    )]
    Types(Types),
    /// Serve all tools to an agent over stdio, as an MCP server
    #[command(
        after_help = "An agent starts it; `mux install` writes it into its configuration.\n\
        Examples:\n  mux mcp\n  mux mcp --agent small-model\n  \
        mux mcp --passthrough=files      one server as it is, shared with everybody else"
    )]
    Mcp(Mcp),
    /// Show the configured servers and their sessions, add one, switch one off
    #[command(after_help = "Example: mux servers restart files")]
    Servers(Servers),
    /// Show the APIs whose operations are functions, add one, take one out
    #[command(after_help = "Example: mux sources add petstore --openapi petstore.json")]
    Sources(Sources),
    /// Show and approve what the files of a project (.mux.toml, .mcp.json) define
    #[command(after_help = "Examples:\n  mux project show\n  mux project approve")]
    Project(Project),
    /// Show the rules on who may call what, and why one of them decides
    #[command(after_help = "Example: mux policy explain github.delete_repo")]
    Policy(Policy),
    /// Show the settings that are in force, and what is wrong with a file of them
    #[command(after_help = "Examples:\n  mux config show --agent small-model\n  mux config check")]
    Config(Config),
    /// Keep secrets that entries name as ${keyring:NAME}; list them, forget one
    #[command(after_help = "Examples:\n  mux secrets set GITHUB_TOKEN\n  mux secrets list")]
    Secrets(Secrets),
    /// Show what was called and decided: by whom, how it ended, how long it took
    #[command(
        after_help = "It is read from its files and needs no daemon. Times are in UTC.\n\
        Examples:\n  mux audit --since 1h --tool 'github.*'\n  mux audit --outcome denied --since 2026-11-22\n  \
        mux audit -f"
    )]
    Audit(Audit),
    /// Show the state of the daemon
    #[command(after_help = "Example: mux status --json")]
    Status,
    /// Look for what keeps muxd from working well, and say what to do
    #[command(
        after_help = "It starts no daemon; one that runs is asked. Exits with 1 if something does not \
        work.\nExample: mux doctor --json"
    )]
    Doctor,
    /// Install what type checking needs: TypeScript's own compiler
    #[command(
        after_help = "It comes from npm, in one version whose checksum is built in, and takes 28 MB.\n\
        Examples:\n  mux setup\n  mux setup --check\n  mux setup --from typescript-linux-x64-7.0.2.tgz"
    )]
    Setup(Setup),
    /// Put `mux mcp` into the configuration of your agents
    #[command(
        after_help = "It shows what it changes and keeps a backup beside the file.\n\
        Examples:\n  mux install claude cursor\n  mux install --dry-run\n  mux install --list\n  \
        mux install codex --undo"
    )]
    Install(Install),
    /// Take over the servers that your agents have
    #[command(
        after_help = "Secrets go into the file `env` beside config.toml, and nothing is written over.\n\
        Examples:\n  mux import --dry-run\n  mux import --from claude,vscode"
    )]
    Import(Import),
    /// Show the daemon's log
    #[command(after_help = "Example: mux logs -f")]
    Logs(Logs),
    /// Read the configuration again
    #[command(after_help = "Example: mux reload")]
    Reload,
    /// End the daemon when its runs are done
    #[command(after_help = "Example: mux stop --now")]
    Stop(Stop),
    /// End the daemon and start it again
    #[command(after_help = "Example: mux restart")]
    Restart(Stop),
    /// Print a completion script
    #[command(
        after_help = "Example: mux completions bash > ~/.local/share/bash-completion/completions/mux"
    )]
    Completions { shell: Shell },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Source {
    /// A file, or - for standard input
    #[arg(required_unless_present = "eval")]
    pub(crate) file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'e', long, value_name = "CODE", conflicts_with = "file")]
    pub(crate) eval: Option<String>,
}

impl Source {
    /// The program itself comes from there.
    pub(crate) fn is_stdin(&self) -> bool {
        self.eval.is_none()
            && self
                .file
                .as_deref()
                .is_none_or(|file| file == Path::new("-"))
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    /// JSON for `mux.input`
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Wall time, 1s to 300s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Run it whatever its types are
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print the run's id and do not wait for its end
    #[arg(long, conflicts_with = "save_parts")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) parts: Parts,
}

#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct Parts {
    /// Write what the program emits (images, audio, texts, resources) to new files there, at its end
    #[arg(long, value_name = "DIR")]
    pub(crate) save_parts: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    #[command(flatten)]
    pub(crate) list: ListRuns,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List those that run and those that are kept (the default)
    #[command(after_help = "Example: mux runs list --limit 100 --json")]
    List(ListRuns),
    /// Show one: what it is, its calls, its console, its result
    #[command(after_help = "Example: mux runs show 12")]
    Show {
        /// Its id, or the number behind the dash
        run: String,
    },
    /// Show one as `mux run` would, until its end, and exit as it does
    #[command(after_help = "Ctrl-C stops watching; the run goes on.\nExample: mux runs watch 12")]
    Watch(Watch),
    /// Stop them, with the calls that are on their way
    #[command(after_help = "Example: mux runs cancel 12 13")]
    Cancel {
        /// Their ids, or the numbers behind the dashes
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Print a value that was too long for a message, or a part of it
    #[command(
        after_help = "The value is JSON text, and offsets count its bytes. With --json one page is \
        printed;\nits `next` is the offset of the next one.\n\
        Example: mux runs read h_5f0c --offset 262144 --length 1024"
    )]
    Read(Read),
}

// Without its own group, whose name would be that of the subcommand it is flattened into.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct ListRuns {
    /// Only those that have not ended
    #[arg(long)]
    pub(crate) running: bool,
    /// At most so many, the latest first
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Watch {
    /// Its id, or the number behind the dash
    pub(crate) run: String,
    /// Leave out the events up to this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) after: u64,
    #[command(flatten)]
    pub(crate) parts: Parts,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Read {
    /// What stands in place of the value: h_…
    pub(crate) handle: String,
    /// Begin at this byte
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// Read so many bytes
    #[arg(long, value_name = "N")]
    pub(crate) length: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Call {
    /// SERVER.TOOL
    pub(crate) path: String,
    /// key=value pairs, one JSON object, or - for a JSON object on standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Print the whole result as the server gave it
    #[arg(long)]
    pub(crate) raw: bool,
    /// Wait at most this long
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// Apply the overrides of [agents.NAME]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Where the agent works; its roots, or the current directory, if absent
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Offer every tool as an ordinary one instead of programs; with a server's name, that server as it is
    #[arg(long, value_name = "SERVER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) passthrough: Option<String>,
    /// The most that the list of tools in the description of `run` may take
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 2000,
        conflicts_with = "passthrough"
    )]
    pub(crate) inventory: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tools {
    /// Words of the name, the server, the arguments or the description
    pub(crate) query: Vec<String>,
    /// Only this server's
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// The next page of the same words, as the page before names it
    #[arg(long, value_name = "CURSOR", requires = "query")]
    pub(crate) cursor: Option<String>,
    /// With their JSON schemas; goes with --json
    #[arg(long, requires = "json")]
    pub(crate) schemas: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Types {
    /// SERVER, SERVER.GROUP or SERVER.TOOL; everything without
    pub(crate) paths: Vec<String>,
    /// Keep DIR/mux.d.ts, and a tsconfig.json beside it, as they should be until Ctrl-C
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "forget", "json"])]
    pub(crate) watch: Option<PathBuf>,
    /// Forget what was learned of their results
    #[arg(long)]
    pub(crate) forget: bool,
}

// Without its own group, whose name would be that of the subcommand it is flattened into.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct Logs {
    /// Go on showing what is added
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many lines to begin with
    #[arg(short = 'n', long, default_value_t = 50, value_name = "LINES")]
    pub(crate) lines: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Setup {
    /// Say what is there and install nothing; exits with 1 if something is missing
    #[arg(long, conflicts_with_all = ["registry", "from"])]
    pub(crate) check: bool,
    /// Download from another npm registry
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub(crate) registry: Option<String>,
    /// Take the package from a file, for machines without a network
    #[arg(long, value_name = "FILE.tgz")]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stop {
    /// Cancel what runs instead of waiting for it
    #[arg(long)]
    pub(crate) now: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_shape_of_the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
