//! Connects to the running `muxd`, or starts it.
//!
//! ```no_run
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! use mux_proto::{RunRequest, endpoint::Dirs};
//! let dirs = Dirs::resolve(None)?;
//! let me = mux_client::Identity::new("my-editor", "1.0");
//! let session = mux_client::connect_or_spawn(&dirs, None, &me).await?;
//! let request = RunRequest { source: "return 1 + 1".into(), ..RunRequest::default() };
//! let finished = mux_client::run(&session, request, |event| drop(event)).await?;
//! # Ok(()) }
//! ```
//!
//! The crate depends on `mux-proto`, `mux-secrets` and `mux-typegen` only: it has no JavaScript engine and no store.
//! Most methods of the daemon are called on [`Session::client`] directly. Operations of more than one request have a
//! function here: [`run`] and its halves [`start`] and [`watch`], and [`ValuePages`].
//!
//! # The library
//!
//! - `connect` dials the socket, sends `hello`, and waits for a successor; `spawn` starts a daemon under the startup
//!   lock and reads its one-line report; `error` has the reasons why there is no connection; `listed` rejects methods
//!   that the `hello` response did not list; `ending` waits for a daemon that was asked to stop.
//! - `run` starts a run and follows its events by long poll; `pages` reads a stored value page by page.
//!
//! # The `mux` command
//!
//! The program `main` declares the modules of the command, which use the library like any other client.
//!
//! - `args` declares the command line, one file for each group of commands; `args/help` is the help of `mux` itself,
//!   `args/shortcuts` are short names of commands, `args/timeout` parses times, `args/suggestions` finds commands
//!   for words that mean one. `usage` answers command lines that clap rejects. `hinted_commands` tests
//!   that the commands in messages and comments exist.
//! - `commands` has one file for each command: `commands/doctor` a file for each group of checks, `commands/logs` reads rotated logs as one sequence of files in
//!   both directions, `commands/service` writes systemd units and launchd property lists, `commands/about` is
//!   `--version`, `commands/import` imports the servers of agents and moves them out of the agents' files,
//!   `commands/init` takes the steps of several commands after one confirmation, `commands/install` adds `mux mcp` to
//!   the agents' files, `commands/setup` installs TypeScript's compiler after verifying the checksum,
//!   `commands/terminal_questions` asks at the terminal for approvals and answers to servers, `commands/input` reads
//!   what is passed to programs and tools, `commands/hidden_input` a secret, and `commands/confirm` asks yes-or-no
//!   questions. `commands/config` edits config.toml: `config_key` finds the type of a key in the schema, `values` and
//!   `editor` are the edits, `change` checks and writes them. In `commands/policy`, `add` writes a rule,
//!   `reachability` finds rules that another one covers, `cases` reads the file of `mux policy test`.
//!   Read-only commands (`logs`, `audit`, `doctor`, `top`, `metrics`) never start a daemon.
//! - `render` is the only code that prints, and `render/table` lays out all tables, `render/verbosity` holds what
//!   `--quiet`, `--verbose` and `--color` ask for; `exit` maps error kinds to exit
//!   codes.
//! - `completion` answers a shell that completes a command line: `candidates` asks the running daemon or reads `cache`,
//!   the tools of the last lists; `signature` finds the arguments of a tool.
//! - `agents` edits other programs' files: `document` adds an entry to the text or removes it, `door` is our own
//!   entry, `file` replaces a file atomically and keeps a backup, `json` and `toml` edit their formats and keep
//!   comments; `endings`, `layout` and `blocks` keep line endings and layout; `places` has the paths of the files,
//!   `diff` renders an edit.
//! - `mcp` serves all tools to agents as an MCP server. `ui` serves a page for the browser.
//! - `exposition` parses the metrics text; `top` computes rates and latencies from readings of it, without drawing
//!   (`top/reading`, `history`, `figures`, `screen`); `log_line` parses a line of a log; `elicitation` is a server's
//!   question to the user, with the meaning of each typed line; `web_url` decides which addresses a browser may be sent
//!   to; `part` reads a content block of a result or a program; `steps` splits the outcome of a step program;
//!   `came_before` counts the calls that a failed run had made.
//!
//! # `mux mcp`
//!
//! A client like any other, with rmcp's server side towards the agent. `face` dispatches the requests of both protocol
//! eras; `link` keeps a connection to the daemon across restarts; `catalog` lists tools, `offers` and `subscriptions`
//! handle resources and prompts, under `names` that are unique here; `own` defines the built-in tools, `work` executes
//! them, `guide` explains them to the agent, `roots` reads the agent's workspace. Each request is a `job`, which `desk`
//! registers under the run or call that it makes; `follow` routes progress, logs and questions to it (`teller`,
//! `audience`). `questions` puts the server's name above its question; `answers` and `transcript` render a run or call
//! for the agent; `ending` detects the end of standard input.
//!
//! # `mux ui`
//!
//! A client with an HTTP server on 127.0.0.1; the daemon itself serves no page. `guard` checks Host, Origin and token
//! of each request, `token` compares secrets, `neighbours` rejects connections of other users of the machine. `line` is
//! one connection to the daemon for all tabs, `feed` polls it once for all of them and not at all while there are none,
//! `stream` sends updates to one tab, `api` handles the page's requests, `latencies` aggregates call durations, `shell`
//! and `page/` are the static files, which need no token and contain no user data. The page creates text nodes only and
//! loads nothing from other origins.
//!
//! # Packages for Node
//!
//! `client/typescript` is the same client for Node: `line` keeps a connection to the daemon across restarts;
//! `connection`, `envelope` and `frames` speak the socket protocol; `run` follows a run; `messages` is generated from the
//! types of `mux-proto`. `client/vscode` is an extension on top of it: editor-independent logic, `ui/` with the editor's
//! API, `plugin/` for TypeScript's server.
//!
//! Invariants:
//!
//! - A method that the `hello` response did not list is never called, because an unknown method ends the connection;
//!   see [`Session::require_feature`].
//! - Only `render`, `mcp` (protocol messages only) and `main` of each program print; the packages for Node never do.
//! - A hint fits its reader: an error has one hint for the command line and one for agents (`Error::for_agents`), which
//!   have tools instead of commands (`Hello::for_agent`).

mod connect;
mod ending;
mod error;
mod listed;
mod pages;
mod run;
mod spawn;

pub use connect::{ClientIdentity, Session, connect, connect_or_spawn, within_seconds};
pub use ending::{StartGuard, block_starts, lock_holder, wait_for_exit};
pub use error::{ConnectError, rpc_error};
pub use pages::ValuePages;
pub use run::{FinishedRun, run, start, watch};
pub use spawn::beside_us as daemon_program;
