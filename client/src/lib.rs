//! Connects to the running `muxd`, or starts it.
//!
//! ```no_run
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! use mux_proto::{RunRequest, endpoint::Dirs};
//! let dirs = Dirs::resolve(None)?;
//! let me = mux_client::ClientIdentity::new("my-editor", "1.0");
//! let session = mux_client::connect_or_spawn(&dirs, None, &me).await?;
//! let request = RunRequest { source: "return 1 + 1".into(), ..RunRequest::default() };
//! let finished = mux_client::run(&session, request, |_| {}).await?;
//! # Ok(()) }
//! ```
//!
//! The crate depends on `mux-proto`, `mux-secrets` and `mux-typegen` only: it has no JavaScript engine and no store.
//! Most methods of the daemon are called on [`Session::client`] directly. Operations of more than one request have a
//! function here: [`run`] and its halves [`start`] and [`watch`], and [`ValuePages`].
//!
//! # The library
//!
//! - `connect` dials the socket, sends `hello`, and waits for a successor. `spawn` starts a daemon under the startup
//!   lock and reads its one-line report. `error` has the reasons why there is no connection. `feature_gate` rejects
//!   methods that were added to the contract and that the `hello` response did not list. `daemon_exit` waits for a
//!   daemon that was asked to stop, and `process_state` recognizes a suspended one.
//! - `run` starts a run and follows its events by long poll. `value_pages` reads a stored value page by page.
//!
//! # The `mux` command
//!
//! The program `main` declares the modules of the command, which use the library like any other client.
//!
//! - `args` declares the command line, one file for each group of commands. `args/help` is the help of `mux` itself,
//!   `args/shortcuts` are short names of commands, `args/timeout` parses times, `args/suggestions` finds commands for
//!   similar words. `usage` answers command lines that clap rejects. `hinted_commands` tests that the commands in
//!   messages and comments exist.
//! - `commands` has one file for each command: `commands/doctor` a file for each group of checks, `commands/logs` reads
//!   rotated logs as one sequence of files in both directions, `commands/service` writes systemd units and launchd
//!   property lists, `commands/version_report` is `--version`, `commands/import` imports the servers of agents and
//!   moves them out of the agents' files, `commands/init` takes the steps of several commands after one confirmation,
//!   `commands/install` adds `mux mcp` to the agents' files, `commands/setup` installs TypeScript's compiler after
//!   verifying the checksum, `commands/terminal_questions` asks at the terminal for approvals and answers to servers,
//!   `commands/input` reads the input for programs and tools, `commands/hidden_input` a secret, and `commands/confirm`
//!   asks yes-or-no questions. `commands/config` edits config.toml: `config_key` finds the type of a key in the schema,
//!   `values` and `editor` are the edits, `change` checks and writes them. In `commands/policy`, `add` writes a rule,
//!   `reachability` finds rules that another rule covers, `cases` reads the file of `mux policy test`. Read-only
//!   commands (`logs`, `audit`, `doctor`, `top`, `metrics`) never start a daemon.
//! - `render` is the only code that prints, and `render/table` lays out all tables, `render/verbosity` has the settings
//!   of `--quiet`, `--verbose` and `--color`. `exit` has the exit code of
//!   wrong usage, `process_environment` what a command takes from its process, and `request_timeouts` how long it waits
//!   for the daemon.
//! - `completion` answers a shell that completes a command line: `candidates` asks the running daemon or reads `cache`,
//!   the tools of the last lists. `signature` finds the arguments of a tool.
//! - `agents` edits other programs' files: `config_document` adds an entry to the file or removes it, `mux_entry` is
//!   our own entry, `agent_file` replaces a file atomically and keeps a backup, `edit_lock` lets one command at a time
//!   do so, and `commands/repeated_edit` repeats an edit of a file that changed meanwhile. `json`, `toml` and `yaml`
//!   edit syntax trees, which keep comments and layout, and `line_endings` restores line endings. `agent_table` has the
//!   facts about each agent, `agent_paths` the paths of its files, `diff` renders an edit.
//! - `mcp` serves all tools to agents as an MCP server. `commands/ui` serves a page for the browser.
//! - `top` computes rates and latencies from readings of the metrics, without drawing (`top/history`, `figures`,
//!   `top_screen`). `log_line` parses a line of a log. `elicitation` is a
//!   server's question to the user, with the meaning of each typed line. `web_url` decides which addresses a browser
//!   may be sent to. `content_part` reads a content block of a result or a program. `step_outcome` splits the outcome
//!   of a step program. `prior_calls` counts the calls that a failed run had made.
//!
//! # `mux mcp`
//!
//! A client like any other, with rmcp's server side towards the agent. `mcp_server` dispatches the requests of both
//! protocol eras. `daemon_link` keeps a connection to the daemon across restarts. `catalog` lists tools,
//! `resources_and_prompts` and `subscriptions` handle resources and prompts, under unique names (`listed_names`).
//! `builtins` defines the built-in tools, `builtin_calls` executes them, `guide` explains them to the agent, `roots`
//! reads the agent's workspace. Each request is one of the `pending_jobs`, which `question_router` registers under the
//! run or call that it makes. `notice_follower` routes progress, logs and questions to it (`progress_sender`,
//! `subscribers`). `question_messages` puts the server's name above its question. `tool_results` and `transcript`
//! render a run or call for the agent.
//!
//! # `mux ui`
//!
//! A client with an HTTP server on 127.0.0.1. The daemon itself serves no page. `request_guard` checks Host, Origin and
//! token of each request, `access_token` compares secrets, `peer_uid` rejects connections from other users of the
//! machine. `shared_connection` is one connection to the daemon for all tabs, `feed` polls it once for all of them and
//! not at all while there are none, `tab_stream` sends updates to one tab, `api` and `actions` handle the page's
//! requests, `latencies` summarizes call durations, `static_files` and `page/` are the static files, which need no token
//! and contain no user data. The page creates only text nodes and loads no files from other origins.
//!
//! # Packages for Node
//!
//! `client/typescript` is the same client for Node: `line` keeps a connection to the daemon across restarts.
//! `connection`, `envelope` and `frames` speak the socket protocol. `run` follows a run. `messages` is generated from
//! the types of `mux-proto`. `client/vscode` is an extension on top of it: editor-independent logic, `ui/` with the
//! editor's API, `plugin/` for TypeScript's server.
//!
//! Invariants:
//!
//! - A method that the contract did not have from the start is sent only if the `hello` response lists it, because an
//!   unknown method ends the connection. Otherwise `feature_gate` answers it.
//! - Only `render`, `mcp` (protocol messages only) and `main` of each program print. The packages for Node never do.
//! - A hint fits its reader: an error has one hint for the command line and one for agents (`Error::for_agents`), which
//!   have tools instead of commands (`Hello::for_agent`).

mod connect;
mod daemon_exit;
mod error;
mod feature_gate;
mod process_state;
mod run;
mod spawn;
mod value_pages;

pub use connect::{ClientIdentity, Session, connect, connect_or_spawn, within_seconds};
pub use daemon_exit::{StartGuard, block_starts, lock_holder, wait_for_exit};
pub use error::{ConnectError, rpc_error};
pub use run::{FinishedRun, run, start, watch};
pub use spawn::beside_us as daemon_program;
pub use value_pages::ValuePages;
