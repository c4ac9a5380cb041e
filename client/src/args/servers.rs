//! Arguments of `mux servers` and `mux project`.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, Subcommand};

use super::{AcceptArgs, LogLinesArgs, PinsArgs, timeout::parse_timeout};

#[derive(Debug, ClapArgs)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// List the configured servers, or show one (the default)
    #[command(
        alias = "show",
        after_help = "`mux servers NAME` also shows one server, unless NAME is a subcommand.\n\
        Examples:\n  mux servers list --json\n  mux servers github"
    )]
    List {
        /// Show only this server
        #[arg(value_name = "NAME")]
        server: Option<String>,
    },
    /// Restart a server's session
    #[command(after_help = "Example: mux servers restart files")]
    Restart { server: String },
    /// Add a server to config.toml
    #[command(
        after_help = "Connects once and reports the result. If that fails, the entry stays and the exit code is 3.\n\
        Stores secrets in the file `env` next to it. ${NAME} is a variable, ${cmd:…} a command's output.\n\
        Examples:\n  mux servers add files -- mcp-server-filesystem /home/me/notes\n  \
        mux servers add docs --url https://example.com/mcp --header 'Authorization=Bearer ${cmd:pass docs}'"
    )]
    Add(ServerAddArgs),
    /// Remove a server from config.toml
    #[command(after_help = "Example: mux servers remove files")]
    Remove(ServerChangeArgs),
    /// Enable a disabled server
    #[command(after_help = "Example: mux servers enable files")]
    Enable(ServerChangeArgs),
    /// Disable a server but keep its entry
    #[command(after_help = "Example: mux servers disable files")]
    Disable(ServerChangeArgs),
    /// List a server's tools with their pinned definitions
    #[command(after_help = "Example: mux servers pins github")]
    Pins(PinsArgs),
    /// Show and accept changes to tools since they were pinned
    #[command(
        after_help = "Asks for confirmation; without a terminal, pass --yes. Changes made after the list was shown \
        are not accepted.\nExamples:\n  mux servers accept github\n  mux servers accept github create_issue --yes"
    )]
    Accept(AcceptArgs),
    /// Sign in to a server that requires authorization
    #[command(
        after_help = "Opens a browser; the daemon stores the tokens. If no browser can reach this machine,\n\
        --paste reads the address of the page where the browser ends up.\n\
        Two entries with the same `url` but different accounts each have their own login.\n\
        With --share, a server uses another server's sign-in at the same authorization server if it was\n\
        granted for both. If it was not, the other server's next login asks for it.\n\
        Examples:\n  mux servers login docs\n  mux servers login docs --account work\n  mux servers login wiki --share\n  \
        mux servers login docs --paste"
    )]
    Login(LoginArgs),
    /// Sign out: revoke the tokens and delete them
    #[command(after_help = "Example: mux servers logout docs")]
    Logout { server: String },
    /// Show what a server's sandbox grants and has denied, or suggest a sandbox
    #[command(
        after_help = "--suggest restarts the server without its sandbox and watches which files and hosts it uses while\n\
        your clients call its tools. The suggestion lacks anything that the server does not do meanwhile.\n\
        Examples:\n  mux servers sandbox files\n  mux servers sandbox files --suggest --for 5m\n  \
        mux servers sandbox files --suggest --write"
    )]
    Sandbox(ServerSandboxArgs),
    /// Show a server's standard error
    #[command(after_help = "Example: mux servers logs files -n 20")]
    Logs {
        server: String,
        #[command(flatten)]
        lines: LogLinesArgs,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServerSandboxArgs {
    pub(crate) server: String,
    /// Observe the server until you press Enter, then print a sandbox that allows what it did
    #[arg(long)]
    pub(crate) suggest: bool,
    /// The maximum time to observe, up to 1h [default: 1m]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_timeout, requires = "suggest")]
    pub(crate) time: Option<Duration>,
    /// Write the suggestion to the server's entry in config.toml
    #[arg(long, requires = "suggest")]
    pub(crate) write: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LoginArgs {
    pub(crate) server: String,
    /// Sign in to this account; writes `account` to the server's entry
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Use another server's sign-in if it was granted for this server; writes `oauth.share = true` to the entry
    #[arg(long)]
    pub(crate) share: bool,
    /// Print the address without opening a browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Read from standard input the address that the browser was redirected to
    #[arg(long)]
    pub(crate) paste: bool,
    /// Open the address with this program
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_browser")]
    pub(crate) browser: Option<PathBuf>,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct ServerAddArgs {
    /// The name in programs: mux.NAME
    pub(crate) name: String,
    /// Connect over HTTP to this address
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "cwd"])]
    pub(crate) url: Option<String>,
    /// Send this header with each request; can be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = parse_pair, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,
    /// Name the login; a URL can have one login per account
    #[arg(long, value_name = "NAME", requires = "url")]
    pub(crate) account: Option<String>,
    /// The transport: auto, streamable-http or sse
    #[arg(long, value_name = "TRANSPORT", requires = "url")]
    pub(crate) transport: Option<String>,
    /// Set this environment variable for the server; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Start the server in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The scope of a session: user, workspace, client or run
    #[arg(long, value_name = "WHO")]
    pub(crate) share: Option<String>,
    /// Overwrite an existing entry with this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show what would change without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not connect to the server after adding it
    #[arg(long)]
    pub(crate) no_connect: bool,
    /// The command that starts the server, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// The two forms of `mux servers add`, for errors.
pub(crate) const SERVER_ADD_FORMS: &str =
    "`mux servers add NAME -- COMMAND ARG…`, or `mux servers add NAME --url URL`";

#[derive(Debug, ClapArgs)]
pub(crate) struct ServerChangeArgs {
    pub(crate) name: String,
    /// Show what would change without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ProjectCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// List approved projects, and projects that clients work in (the default)
    #[command(after_help = "Example: mux project list --json")]
    List,
    /// Show what a project's files would start and what has changed since you approved them
    #[command(after_help = "Example: mux project show ~/src/shop")]
    Show {
        /// The project's directory or one below it [default: the current directory]
        dir: Option<PathBuf>,
    },
    /// Approve a project's current files, which gives its servers to clients in the project
    #[command(
        after_help = "Shows the files and asks for confirmation. Without a terminal, pass the digest of the files.\n\
        Examples:\n  mux project approve\n  mux project approve --hash 5f0c93a1d2b47e8806c1f4a39d5be217"
    )]
    Approve {
        /// The project's directory or one below it [default: the current directory]
        dir: Option<PathBuf>,
        /// The digest that `mux project show` printed, or its first 32 digits
        #[arg(long, value_name = "DIGEST")]
        hash: Option<String>,
    },
    /// Revoke an approval and stop the project's servers
    #[command(after_help = "Example: mux project revoke ~/src/shop")]
    Revoke {
        /// The project's directory or one below it [default: the current directory]
        dir: Option<PathBuf>,
    },
}

pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        // The text is not quoted in the message: it may be a secret.
        _ => Err("it must be NAME=VALUE".into()),
    }
}
