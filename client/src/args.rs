//! The command line, and nothing but its shape.

mod agents;
mod approvals;
mod audit;
mod daemon;
mod logs;
mod metrics;
mod pins;
mod policy;
mod program;
mod runs;
mod secrets;
mod servers;
mod service;
mod sources;
mod tools;
mod trace;
mod ui;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::{
    agents::{Import, Install},
    approvals::{Approvals, ApprovalsCommand, Approve, Deny, Resume},
    audit::Audit,
    daemon::{Restart, Setup, Status, Stop},
    logs::{Level, Lines, Logs},
    metrics::{Metrics, Top},
    pins::{Accept, Pins},
    policy::{Config, ConfigCommand, ExplainPolicy, ListPolicy, Policy, PolicyCommand},
    program::Program,
    runs::{ListRuns, Parts, Read, Replay, Run, Runs, RunsCommand, Source, Watch},
    secrets::{Secrets, SecretsCommand},
    servers::{AddServer, ChangeServer, Login, Project, ProjectCommand, Servers, ServersCommand},
    service::{Service, ServiceCommand},
    sources::{AddSource, Sources, SourcesCommand},
    tools::{Call, Mcp, Tools, Types},
    trace::Trace,
    ui::Ui,
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
    /// Run a recorded program again, answered from the recording, without any server
    #[command(
        after_help = "Nothing is sent to anybody: for tests, and to look into what went wrong elsewhere.\n\
        Examples:\n  mux run report.ts --record report.muxrec && mux replay report.muxrec\n  \
        mux replay report.muxrec --verify"
    )]
    Replay(Replay),
    /// Show the runs of all clients, follow one, stop one
    #[command(after_help = "Examples:\n  mux runs --running\n  mux runs show 12")]
    Runs(Runs),
    /// Show the calls that wait for your approval, and what is always allowed
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
    #[command(
        after_help = "It fits on one screen. Exits with 3 if no daemon runs.\n\
        Examples:\n  mux status\n  mux status --all\n  mux status --json"
    )]
    Status(Status),
    /// Show servers, runs, latencies, tools and approvals in your browser, as they change
    #[command(
        after_help = "It listens on 127.0.0.1, for whoever has the address that it prints, until Ctrl-C.\n\
        Examples:\n  mux ui\n  mux ui --port 8700 --no-open"
    )]
    Ui(Ui),
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
    /// Show what the daemon and the servers log, in the order in which it happened
    #[command(
        after_help = "It is read from the files and needs no daemon. Times are in UTC.\n\
        Examples:\n  mux logs -f\n  mux logs --run 12\n  mux logs --server files --since 10m\n  \
        mux logs --level warn -n 200 --json"
    )]
    Logs(Logs),
    /// Watch the daemon: its servers, runs, calls, latencies, memory
    #[command(
        after_help = "Keys: q quits, s sorts, tab and the arrows select, x stops a run, p pauses.\n\
        Examples:\n  mux top\n  mux top --once"
    )]
    Top(Top),
    /// Print what happened in the daemon in numbers, in Prometheus' text
    #[command(
        after_help = "A Prometheus reads the same over a port, if config.toml has [metrics] listen = \"127.0.0.1:9464\".\n\
        Examples:\n  mux metrics\n  mux metrics --json\n  mux metrics --token"
    )]
    Metrics(Metrics),
    /// Read the configuration again
    #[command(after_help = "Example: mux reload")]
    Reload,
    /// End the daemon when its runs are done
    #[command(after_help = "Example: mux stop --now")]
    Stop(Stop),
    /// End the daemon and start it again
    #[command(after_help = "Examples:\n  mux restart\n  mux restart --upgrade")]
    Restart(Restart),
    /// Let the system start muxd and watch over it: systemd, with a socket, or launchd
    #[command(
        after_help = "Nobody needs it: without a service the first client starts muxd.\n\
        Examples:\n  mux service install --dry-run\n  mux service status"
    )]
    Service(Service),
    /// Write the manual pages of mux and its commands into a directory
    #[command(hide = true, after_help = "Example: mux man ~/.local/share/man/man1")]
    Man { dir: std::path::PathBuf },
    /// Print a completion script
    #[command(
        after_help = "Example: mux completions bash > ~/.local/share/bash-completion/completions/mux"
    )]
    Completions { shell: Shell },
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
