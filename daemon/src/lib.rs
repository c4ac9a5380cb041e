//! `muxd`: owns every MCP session, the catalog and the runs.
//!
//! This crate connects the others and knows nearly all of them. It is the only crate of the daemon that knows
//! `mux-proto` and `tarpc`. It knows no MCP library and no engine.
//!
//! - The program `main` does what must happen before there are threads: arguments, locks, detaching, and reading the
//!   environment. `successor_command` does the same for a daemon that takes over. `otel`, built with the feature `otel` only,
//!   sends spans to a collector (`otel/batch` repeats a sending, `otel/message` encodes OTLP).
//! - `serve` is the daemon's life between the instance lock and its release; `serve/leaving` is its last part.
//! - `rpc` holds the connections; `daemon` what all connections share; `lifecycle` locks, readiness, idleness and
//!   shutdown; `handover` the way from one daemon to the next; `degraded` the host resources that are exhausted.
//!
//! # rpc
//!
//! Only `rpc`, `lifecycle`, `main`, `successor_command` and this file name `mux_proto`; nothing below `rpc` and `lifecycle`
//! does.
//!
//! - `request_handler` is one client's requests, `hello` first; `connection` is what all requests of one connection share. Runs,
//!   subscriptions and open questions of a connection end with it, unless a run is detached.
//! - `convert` translates by hand between the daemon's types and the contract's: wire types are a second vocabulary.
//! - `catch_panics` makes a request that panics cost itself only; `request_frames` reads long requests on another thread;
//!   `disconnect_watch` notices that the other side has gone; `answer_budget` bounds an answer; `long_value` is a value, or the handle under
//!   which it is kept.
//! - `descriptor_reserve` keeps descriptors aside: where accept finds none, it lends one, and that client may look and stop runs.
//! - `watchdog_probe` is the daemon as its own client, to know whether it still answers.
//! - `approvals`, `tool_call`, `catalog`, `discovery`, `login`, `metrics`, `notices`, `resources_and_prompts`, `pins`, `policy`, `program_steps`,
//!   `projects`, `runs`, `secrets`, `settings`, `source_files`, `status`, `upgrade` are the methods by subject; `progress_observer` is
//!   what a client hears of a call outside of a run.
//!
//! A connection costs what it uses: requests and answers pass through tarpc in boxes. When many clients have gone, the
//! allocator returns freed memory to the system.
//!
//! # state
//!
//! `daemon` is immutable or guards itself; `config_loading` alone has a lock that spans an await, so that two loads never
//! cross.
//!
//! - `config_loading` goes from the files to what is in force, at the start and after each change; `config_files` reads the files
//!   and keeps the last good text; `projects` looks at a project when a client arrives and approves it; `source_files`
//!   follows description files; `telemetry` sets where spans go; `config_inspection` shows what is in force.
//!
//! The configuration is watched by its directory: a wake-up says only that something may have changed, and `config_loading`
//! compares content. What cannot be parsed leaves the last good text in force. Of a project's files, the text that was
//! read is the one that is hashed, approved and parsed. Approved servers join the user's under the key `name@root`, and
//! `Scope` shows them in that project only.
//!
//! # lifecycle
//!
//! - `lock` has the two locks of a start, `startup_reporter` the report to the parent process, `shutdown` the wish to end, after
//!   a drain or at once.
//! - `service_manager` is the service manager above the daemon, `systemd` its protocol, `passed_socket` the socket that it bound,
//!   `watchdog` what it hears from us, `retire_request` a running daemon that is asked to make room.
//! - `predecessor_runs` is the daemon from which this one took over, with the runs that continue there.
//!
//! Three files are locked with `flock`. `startup.lock` is held by the process that starts a daemon, until the daemon
//! serves: a hundred clients start one daemon. `muxd.lock` is held by the daemon until another has taken over, and is
//! passed to `serve` as a value; it lies with the state, so that login sessions with different runtime directories
//! share one daemon. `keeper.lock` is held by the keeper until its last process is gone. A daemon that finds its socket
//! replaced leaves. Node cannot lock a file: its client passes `startup.lock` unlocked, and `muxd child` locks it.
//!
//! A service manager may listen in our place: `passed_socket` is its socket, which we never unlink. Dialing it would start a
//! daemon, so a client that wants none looks at the instance lock first. An activated daemon that finds the lock held
//! has the other daemon retire, and waits; while it ends, it releases all clients that wait, so that none starts the
//! next daemon by accident. The watchdog is notified only after `rpc/probe` was answered.
//!
//! The end: stop accepting → drain 10 s (at a second request: at once) → sessions (EOF, TERM, KILL) → keeper → workers
//! → unlink the socket, unless a successor serves or a service manager owns it → release the lock.
//!
//! # handover
//!
//! An upgrade has two daemons for a moment. The old one (`start_successor`) starts the new one, which (`take_over`) gets the
//! listening socket, the lock and a way to the keeper over a `channel` of `frames` with descriptors, and warms up while
//! the old one serves; the cache changes hands last. Once the new one serves, systemd learns of it, the old one admits
//! nothing new, and `session_transfer` gives each stdio session away when it is free: rmcp's loop ends without closing the
//! pipes, and the other side continues without a handshake. Runs end where they are; the new daemon copies their events
//! for clients that ask. What waits for an approval it reads once the old one has settled it. Until its last run has
//! ended the old one follows the configuration in what concerns rules, scopes and servers, by itself and whenever the
//! new one asks for it (`predecessor_runs`); it leaves everything that writes files to the new one. `elsewhere` refuses handovers
//! where there is no keeper, and `error` says why one failed.
//!
//! # straits
//!
//! Conditions of the host are evaluated when they are asked for, not stored: `disk_space` (free space), the limit of open
//! files, `clock_jump` (the wall clock against one that cannot be set), `process_pause` (times when this process was suspended),
//! logs that could not be written.
//!
//! An idle daemon sleeps: its threads wait without a timeout where another thread wakes them, and those of the cache's
//! store inherit a large timer slack.
//!
//! Invariants:
//!
//! - The lock is a value, and `serve` demands it; readiness is reported, never polled.
//! - `rpc/convert` is the border between wire types and ours.
//! - A panic, or an error, of one request costs that request.

pub mod daemon;
pub mod degraded;
pub mod handover;
pub mod lifecycle;
mod problems;

mod rpc;
mod serve;

pub use serve::{DaemonSetup, ServeError, serve};
