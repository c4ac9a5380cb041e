//! Talks to `muxd`: connects to the one that runs, or starts it.
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
//! The crate knows `mux-proto` and `mux-secrets`, and nothing else of this workspace: it is thin, has no engine and no
//! store. Most methods of the daemon are called on [`Session::client`] itself. What takes more than one request has a
//! function here: [`run`] and its halves [`start`] and [`watch`], and [`Pages`].
//!
//! # The library
//!
//! - `connect` dials the socket, greets, and waits for a successor; `spawn` starts a daemon under the startup lock and
//!   waits for one line of its report; `error` says why there is no connection; `listed` calls only the methods that
//!   `hello` listed; `ending` waits for the end of a daemon that was asked to stop.
//! - `run` starts a run and follows its events by long poll; `pages` reads a value that the daemon keeps, page by page.
//!
//! # The `mux` command
//!
//! The program `main` declares the modules of the command, which use the library as any client does.
//!
//! - `args` is the shape of the command line, one file for each group of commands. `commands` has one file for each
//!   command; `commands/doctor` a file for each group of checks, `commands/logs` reads rotated logs as one family of
//!   files, backward and onward, `commands/service` writes units and property lists, `commands/about` is `--version`,
//!   `commands/import` takes over the servers that agents have, `commands/install` enters `mux mcp` in the agents'
//!   files, `commands/setup` installs TypeScript's compiler after it verified the checksum, `commands/approver` asks
//!   the user at the terminal whether a call may be made. Commands that only read (`logs`, `audit`, `doctor`, `top`,
//!   `metrics`) start no daemon.
//! - `render` is the only code that prints; `exit` the one table from kinds of failure to exit codes.
//! - `agents` edits other programs' files: `document` has one entry put in or taken out of the text, `door` is our own
//!   entry, `file` replaces a file whole and keeps a backup, `json` and `toml` do so for their formats, with comments
//!   kept; `endings`, `layout` and `blocks` keep line endings and layout; `places` knows where the files are, `diff`
//!   shows an edit.
//! - `mcp` is the pool as an MCP server, for agents. `ui` is the pool as a page in the browser.
//! - `exposition` parses the metrics text; `top` computes rates and latencies from two readings of it and draws nothing
//!   (`top/reading`, `history`, `figures`, `screen`); `log_line` takes a line of a log apart; `part` reads a content
//!   block that a program handed over; `steps` how a step program ended; `came_before` the calls that a failed run had
//!   made.
//!
//! # `mux mcp`
//!
//! A client like any other, with rmcp's server side towards the agent. `face` takes the requests of both eras of the
//! protocol and decides nothing; `link` keeps a connection to the daemon, over restarts; `catalog` lists tools,
//! `offers` and `subscriptions` resources and prompts, under other `names`; `own` defines the tools of this server,
//! `work` executes them, `guide` explains them to the agent, `roots` reads where the agent works. Each request is a
//! `job`, which `desk` registers under the run or call that it makes; `follow` brings it progress, logs and questions
//! (`teller`, `audience`). `questions` puts the server's name above its words; `answers` and `transcript` make of a run
//! or call what the agent reads; `ending` notices the end of standard input.
//!
//! # `mux ui`
//!
//! A client with an HTTP server on 127.0.0.1; the daemon serves no page. `guard` judges each request by Host, Origin
//! and token, `token` compares secrets, `neighbours` refuses connections of other users of the machine. `line` is one
//! connection for all tabs, `feed` asks once for all of them and not at all while there are none, `stream` is what one
//! tab hears, `api` the requests of the page, `latencies` how long calls took, `shell` and `page/` the files, which
//! need no token and hold nothing of the pool. The page makes text nodes only and loads nothing from elsewhere.
//!
//! # Packages for Node
//!
//! `client/typescript` is the same contract for Node: `line` is the connection to the daemon, over restarts;
//! `connection`, `envelope` and `frames` the socket; `run` follows a run; `messages` are the types as `proto` has them.
//! `client/vscode` is an extension on top of it: logic that knows no editor, `ui/` that does, `plugin/` for
//! TypeScript's server.
//!
//! Invariants:
//!
//! - A method that the daemon did not list when it was greeted is never called, because it would end the connection;
//!   see [`Session::require`].
//! - Only `render`, `mcp` (the protocol and nothing else) and `main` of each program print; the packages for Node never
//!   do.
//! - A hint names what its reader has: `Fault::hints` has one text for the command line and one for agents, which have
//!   tools in place of commands (`Hello::for_agent`).

mod connect;
mod ending;
mod error;
mod listed;
mod pages;
mod run;
mod spawn;

pub use connect::{Identity, Session, connect, connect_or_spawn, within_seconds};
pub use ending::{StartsHeld, ended, hold_starts, holder};
pub use error::{ConnectError, lost};
pub use pages::Pages;
pub use run::{Finished, run, start, watch};
pub use spawn::beside_us as daemon_program;
