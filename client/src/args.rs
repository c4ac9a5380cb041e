//! The command line, declared with clap.

mod agents;
mod approvals;
mod audit;
mod daemon;
mod help;
mod logs;
mod metrics;
mod offers;
mod output;
mod pins;
mod policy;
mod program;
mod runs;
mod secrets;
mod servers;
mod service;
mod shortcuts;
mod sources;
mod suggestions;
mod timeout;
mod tools;
mod trace;
mod ui;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::{
    agents::*, approvals::*, audit::*, daemon::*, help::*, logs::*, metrics::*, offers::*,
    output::*, pins::*, policy::*, program::*, runs::*, secrets::*, servers::*, service::*,
    shortcuts::*, sources::*, suggestions::*, tools::*, trace::*, ui::*,
};

/// Call the tools of all your MCP servers, one by one or with one typed program.
#[derive(Debug, Parser)]
#[command(
    name = "mux",
    version,
    propagate_version = true,
    // `mux help` has an option of its own.
    disable_help_subcommand = true
)]
#[command(
    after_help = "The daemon starts automatically with the first command that needs it.\n\
    Example: mux run -e 'return Object.keys(mux)'"
)]
pub(crate) struct MuxCli {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// `None` prints the help.
    #[command(subcommand)]
    pub(crate) command: Option<MuxCommand>,
}

impl MuxCli {
    /// Parses a command line, which begins with the program's name.
    pub(crate) fn parse_words<I, T>(words: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<OsString> + Clone,
    {
        let mut command = Self::command().override_help(grouped_help());
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum MuxCommand {
    /// Run a TypeScript program that calls tools
    #[command(
        after_help = "Examples:\n  mux run summary.ts --input dir=/srv --input limit=3\n  \
        mux run summary.ts --input @input.json\n  \
        mux run -e 'return (await mux.files.list_directory({ path: \"/srv\" })).length'\n  \
        generate-code | mux run -\n  \
        mux run chart.ts --save-parts charts\n  \
        mux runs watch $(mux run long.ts --timeout 5m --detach)"
    )]
    Run(RunArgs),
    /// Run a step program written in JSON
    #[command(
        after_help = "Each step calls a tool. In its arguments, {{id.result.path}} refers to an earlier step's result.\n\
        Examples:\n  mux program sizes.json --input dir=/srv\n  \
        mux program -e '{\"steps\": [{\"id\": \"a\", \"tool\": \"git.git_status\", \"args\": {\"repo_path\": \".\"}}]}'\n  \
        mux program sizes.json --explain > sizes.ts"
    )]
    Program(ProgramArgs),
    /// Replay a recorded run, answering its calls from the recording without any server
    #[command(
        after_help = "Sends no requests. Use it in tests, or to debug a run from another machine.\n\
        Examples:\n  mux run report.ts --record report.muxrec && mux replay report.muxrec\n  \
        mux replay report.muxrec --verify"
    )]
    Replay(ReplayArgs),
    /// List the runs of all clients; show, follow or cancel one
    #[command(after_help = "Examples:\n  mux runs --running\n  mux runs 12")]
    Runs(RunsArgs),
    /// List the calls that are waiting for your approval, and the permanent grants
    #[command(
        after_help = "Examples:\n  mux approvals\n  mux approvals A7\n  mux approvals --watch\n  \
        mux approvals --granted\n  mux approvals revoke g5f0c93a1"
    )]
    Approvals(ApprovalsArgs),
    /// Approve a waiting call with the arguments shown
    #[command(after_help = "Examples:\n  mux approve A7\n  mux approve A7 --session")]
    Approve(ApproveArgs),
    /// Deny a waiting call
    #[command(after_help = "Example: mux deny A7 --reason 'not before Friday'")]
    Deny(DenyArgs),
    /// Resume a run that ended because an approval timed out
    #[command(
        after_help = "Completed calls are not repeated. Calls that still lack approval ask for it again.\n\
        Examples:\n  mux approve A7 && mux resume A7\n  mux resume 12"
    )]
    Resume(ResumeArgs),
    /// Check a program without running it
    #[command(after_help = "Example: mux check summary.ts")]
    Check(SourceArgs),
    /// Call one tool
    #[command(
        after_help = "Examples:\n  mux call files.read_text_file path=/etc/hostname head=1\n  \
        mux call 'git.git_log(repo_path: \".\", max_count: 3)'\n  \
        mux call git git_log @arguments.json\n  \
        mux call --stdio 'npx -y @modelcontextprotocol/server-everything' get-sum a=1 b=2\n  \
        echo '{\"query\": \"mux\"}' | mux call memory.search_nodes -"
    )]
    Call(CallArgs),
    /// List tools, search them, or show one with its types
    #[command(
        aliases = ["ls", "search"],
        after_help = "A search prints the ten best matches, best first, and tolerates small typos.\n\
        Examples:\n  mux tools read file --server files\n  mux tools files.read_text_file"
    )]
    Tools(ToolsArgs),
    /// List the servers' resources, or print one
    #[command(
        after_help = "Examples:\n  mux resources docs\n  mux resources docs file:///guide.md"
    )]
    Resources(ResourcesArgs),
    /// List the servers' prompts, or print one prompt's messages
    #[command(
        after_help = "Examples:\n  mux prompts\n  mux prompts git commit_message style=short"
    )]
    Prompts(PromptsArgs),
    /// Print the tools' TypeScript declarations
    #[command(
        after_help = "Result types that a server does not declare are inferred from past calls.\n\
        Examples:\n  mux types files memory.search_nodes > mux.d.ts\n  \
        mux types --watch scripts      editors then complete `mux.` in scripts/*.ts\n  \
        mux types --forget files"
    )]
    Types(TypesArgs),
    /// Serve all tools to an agent over stdio, as an MCP server
    #[command(
        after_help = "Agents start this command; `mux install` adds it to their configuration.\n\
        Examples:\n  mux mcp\n  mux mcp --agent small-model\n  \
        mux mcp --passthrough=files      one server unchanged, shared by all clients"
    )]
    Mcp(McpArgs),
    /// List the configured servers and their sessions; add, remove, restart or disable one
    #[command(after_help = "Example: mux servers restart files")]
    Servers(ServersArgs),
    /// List the APIs that muxd offers as tools; add, remove or refresh one
    #[command(after_help = "Example: mux sources add petstore --openapi petstore.json")]
    Sources(SourcesArgs),
    /// Show and approve what a project's files (.mux.toml, .mcp.json) define
    #[command(after_help = "Examples:\n  mux project show\n  mux project approve")]
    Project(ProjectArgs),
    /// List the policy rules, explain or test which rule decides a call, or add a rule
    #[command(
        after_help = "Examples:\n  mux policy explain github.delete_repo\n  mux policy add 'github.delete_*' ask"
    )]
    Policy(PolicyArgs),
    /// Print the effective settings, and edit or check config.toml
    #[command(
        after_help = "Examples:\n  mux config show --agent small-model\n  mux config set limits.wall 2m\n  \
        mux config edit\n  mux config check"
    )]
    Config(ConfigArgs),
    /// Manage the secrets that entries reference as ${keyring:NAME}
    #[command(after_help = "Examples:\n  mux secrets set GITHUB_TOKEN\n  mux secrets list")]
    Secrets(SecretsArgs),
    /// Show the audit log: calls and decisions, with client, outcome and duration
    #[command(
        after_help = "Reads the log files; needs no daemon. Times are local.\n\
        Examples:\n  mux audit --since 1h --tool 'github.*'\n  mux audit --outcome denied --since 2026-11-22\n  \
        mux audit -f"
    )]
    Audit(AuditArgs),
    /// Show the state of the daemon
    #[command(
        after_help = "The output fits on one screen. Exits with 3 if no daemon is running.\n\
        Examples:\n  mux status\n  mux status --all\n  mux status --json"
    )]
    Status(StatusArgs),
    /// Show servers, runs, latencies, tools and approvals live in your browser
    #[command(
        after_help = "Listens on 127.0.0.1 until Ctrl-C. The printed address contains the access token.\n\
        Examples:\n  mux ui\n  mux ui --port 8700 --no-open"
    )]
    Ui(UiArgs),
    /// Diagnose problems, with a fix for each
    #[command(
        after_help = "Queries a running daemon but does not start one. Exits with 1 if something does not work.\nExample: mux doctor --json"
    )]
    Doctor,
    /// Install the TypeScript compiler that checks programs
    #[command(
        after_help = "Downloads one version from npm (10 MB) and verifies it against a built-in checksum.\n\
        Examples:\n  mux setup\n  mux setup --check\n  mux setup --from typescript-linux-x64-7.0.2.tgz"
    )]
    Setup(SetupArgs),
    /// Set up muxd: import your agents' servers, add mux to the agents, install the type checker
    #[command(
        after_help = "Shows every file it would write and asks once. Steps that are already done are skipped.\n\
        Examples:\n  mux init\n  mux init --dry-run\n  mux init --agents claude,cursor --move --yes"
    )]
    Init(InitArgs),
    /// Add `mux mcp` to your agents' configuration
    #[command(
        after_help = "Shows each change and keeps a backup next to the file.\n\
        Examples:\n  mux install claude cursor\n  mux install --dry-run\n  mux install --list\n  \
        mux install codex --undo"
    )]
    Install(InstallArgs),
    /// Import your agents' servers
    #[command(
        after_help = "Stores secrets in the file `env` next to config.toml. Keeps existing entries unless you pass --replace.\n\
        --move edits the files of agents that have mux and keeps a backup next to each.\n\
        Examples:\n  mux import --dry-run\n  mux import --from claude,vscode\n  mux import --move\n  mux import --undo"
    )]
    Import(ImportArgs),
    /// Show the daemon and server logs in chronological order
    #[command(
        after_help = "Reads the log files; needs no daemon. Times are local.\n\
        Examples:\n  mux logs -f\n  mux logs --run 12\n  mux logs --server files --since 10m\n  \
        mux logs --level warn -n 200 --json"
    )]
    Logs(LogsArgs),
    /// Watch the daemon live: servers, runs, calls, latencies, memory
    #[command(
        after_help = "Keys: q quits, s sorts, tab and the arrows select, x stops a run, p pauses.\n\
        Examples:\n  mux top\n  mux top --once"
    )]
    Top(TopArgs),
    /// Print the daemon's metrics in the Prometheus text format
    #[command(
        after_help = "To serve them to Prometheus over HTTP, set [metrics] listen = \"127.0.0.1:9464\" in config.toml.\n\
        Examples:\n  mux metrics\n  mux metrics --json\n  mux metrics --token"
    )]
    Metrics(MetricsArgs),
    /// Reload the configuration
    #[command(after_help = "Example: mux reload")]
    Reload,
    /// Stop the daemon when its runs have finished
    #[command(after_help = "Example: mux stop --now")]
    Stop(StopArgs),
    /// Restart the daemon
    #[command(after_help = "Examples:\n  mux restart\n  mux restart --upgrade")]
    Restart(RestartArgs),
    /// Run muxd as a service: systemd with socket activation, or launchd
    #[command(
        after_help = "Optional: without a service, the first client starts muxd.\n\
        Examples:\n  mux service install --dry-run\n  mux service status"
    )]
    Service(ServiceArgs),
    /// Write the manual pages of mux and its commands to a directory
    #[command(hide = true, after_help = "Example: mux man ~/.local/share/man/man1")]
    Man { dir: std::path::PathBuf },
    /// Print a completion script
    #[command(
        after_help = "Example: mux completions bash > ~/.local/share/bash-completion/completions/mux"
    )]
    Completions { shell: Shell },
    /// Print the help of a command, or list all commands
    #[command(after_help = "Examples:\n  mux help run\n  mux help --all")]
    Help(HelpArgs),
    #[command(flatten)]
    Shortcut(ShortcutCommand),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_passes_clap_debug_assertions() {
        MuxCli::command().debug_assert();
    }
}
