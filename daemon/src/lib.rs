//! `muxd`: owns every MCP session, the catalog and the runs.
//!
//! This crate connects the other crates of the daemon. Only this crate uses `mux-proto` and `tarpc`. The crate uses no
//! MCP library and no JavaScript engine.
//!
//! - `main`, the program, does everything that must happen before the first thread starts: arguments, locks, detaching,
//!   and reading the environment. `successor_command` does the same for a daemon that takes over. `otel`, built with
//!   the feature `otel` only, sends spans to a collector (`otel/batch_sender` batches and retries, `otel/otlp_message`
//!   encodes OTLP).
//! - `serve` is the daemon's life from the instance lock to its release, of a first daemon (`serve_first`) and of a
//!   successor (`serve_after`): `serve/daemon_build` builds all parts, and
//!   `serve/exit_sequence` shuts them down. `serve/embedded` is a daemon inside another program, without socket, locks,
//!   keeper and workers. The program opens the streams that the daemon serves.
//! - `rpc` serves the connections, and `daemon` is the state that all connections share. `lifecycle` has locks,
//!   readiness, service managers and shutdown, and `handover` replaces one daemon with the next. `degraded` reports
//!   exhausted host resources. `problems` has the problems that `mux status` and `mux doctor` name.
//!
//! # rpc
//!
//! Only `rpc`, `lifecycle`, `main`, `successor_command` and this file name `mux_proto`. Nothing below `rpc` and
//! `lifecycle` does.
//!
//! - `request_handler` answers the requests of one client, `hello` first, and `connection` is the state that all
//!   requests of one connection share. Runs, subscriptions and open questions of a connection end with it, unless a run
//!   is detached.
//! - `convert` makes the answers that need more than one of the daemon's types.
//! - `catch_panics` confines a panic to its request, and `request_frames` parses long requests on another thread.
//!   `disconnect_watch` detects that the client has closed the connection. `answer_budget` bounds the length of an
//!   answer, and `long_value` answers with a value, or with its handle if it is too long for a message.
//! - `descriptor_reserve` reserves file descriptors: if accept finds none, it lends one, and that client may only ask
//!   for the status and stop the daemon.
//! - `watchdog_probe` connects to the daemon as a client, to check that it still answers.
//! - `approvals`, `catalog`, `discovery`, `login`, `metrics`, `notices`, `pins`, `policy`, `program_steps`, `projects`,
//!   `resources_and_prompts`, `runs`, `secrets`, `settings`, `sources`, `status`, `tool_call`, `upgrade` are the
//!   methods by subject. `request_meta` is `_meta` of a client's request, and `progress_observer` sends a client the
//!   progress of a call outside a run.
//!
//! A connection takes only the memory that it uses: requests and answers pass through tarpc in boxes. When many clients
//! have disconnected, the allocator returns freed memory to the system.
//!
//! # daemon
//!
//! Every field of `Daemon` is immutable or synchronizes itself. Only `config_loading` holds a lock across an await,
//! because two loads must never overlap.
//!
//! - `config_loading` applies the configuration, at the start and after each change, and `config_files` reads the files
//!   and keeps the last good text. `projects` looks up the project of a connecting client and approves it.
//!   `source_files` reloads sources whose description files changed. `telemetry` sets the destination of spans.
//!   `config_inspection` reports the active configuration, and checks a configuration without applying it.
//!   `sandbox_grants` checks that the paths granted by sandboxes exist.
//!
//! Directories are watched, not files: an event says only that something may have changed, and `config_loading`
//! compares content. If a file cannot be parsed, its last good text stays active. A project's files are read once, and
//! the same text is hashed, approved and parsed. Approved servers join the user's under the key `name@root`, and
//! `Scope` shows them in that project only.
//!
//! # lifecycle
//!
//! - `daemon_setup` names the programs and files of a daemon, and `lock` has the two locks of a start.
//!   `startup_reporter` reports to the parent process. `shutdown` is the request to stop, after a drain or immediately.
//! - `service_manager` is the service manager that started the daemon, `systemd` its protocol, `passed_socket` the
//!   socket that it bound. `watchdog` notifies it, and `retire_request` asks a running daemon to retire.
//! - `predecessor_runs` follows the runs that continue in the daemon from which this daemon took over.
//!
//! Three files are locked with `flock`. The process that starts a daemon holds `startup.lock` until the daemon serves:
//! a hundred clients start one daemon. The daemon holds `muxd.lock` until another daemon has taken over, and passes it
//! to `serve` as a value. The file is in the state directory, because login sessions with different runtime directories
//! share one daemon. The keeper holds `keeper.lock` until its last process is gone. A daemon whose socket was replaced
//! shuts down. Node cannot lock a file, and on Windows a lock is not inherited: such a client passes `startup.lock`
//! unlocked, and `muxd child` locks it.
//!
//! A service manager may own the listening socket (`passed_socket`), which the daemon then never unlinks. Connecting to
//! it would start a daemon, so a client that must not start a daemon checks the instance lock first. An activated
//! daemon that finds the lock held asks the other daemon to retire, and waits. While a daemon ends, it drops all
//! clients that wait at the socket: none of them may start the next daemon by accident. The watchdog is notified only
//! after `rpc/watchdog_probe` was answered.
//!
//! Shutdown: stop accepting → drain 10 s (at a second request: immediately) → sessions (EOF, TERM, KILL) → keeper →
//! workers → unlink the socket, unless a successor serves or a service manager owns it → release the lock.
//!
//! # handover
//!
//! During an upgrade two daemons run. The predecessor (`start_successor`) starts the successor, which (`take_over`)
//! receives the listening socket, the lock and a socket to the keeper over a `channel` of `frames` with descriptors,
//! and warms up while the predecessor serves. The cache is handed over last. Once the successor serves, systemd is
//! notified, the predecessor accepts no new work, and `session_transfer` hands over each stdio session when it is idle:
//! rmcp's loop ends without closing the pipes, and the successor continues without a handshake. Runs end in the
//! predecessor, and the successor copies their events for clients. The successor reads pending approvals once the
//! predecessor has written them. Until its last run has ended, the predecessor applies changes of the configuration to
//! rules, scopes and servers, by itself and at the successor's request (`predecessor_runs`). Everything that writes
//! files is left to the successor. `elsewhere` refuses handovers on systems without a keeper, and `error` has the
//! reasons for which a handover fails.
//!
//! # degraded
//!
//! Host conditions are evaluated on request, not stored: `disk_space` (free space), the limit of open files,
//! `clock_jump` (the wall clock against a clock that cannot be set), `process_pause` (times when this process was
//! suspended), logs that could not be written.
//!
//! An idle daemon sleeps: its threads wait without a timeout where another thread wakes them, and the cache store's
//! threads inherit a large timer slack.
//!
//! Invariants:
//!
//! - The lock is a value that `serve` requires. Readiness is reported, never polled.
//! - Only `rpc` makes answers to clients.
//! - A panic or an error in one request affects no other request.

pub mod daemon;
pub mod degraded;
pub mod handover;
pub mod lifecycle;
mod problems;

mod rpc;
mod serve;

pub use serve::{DaemonStart, ServeError, embedded::EmbeddedDaemon, serve_after, serve_first};
