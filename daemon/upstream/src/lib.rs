//! The sessions to the user's MCP servers: opened when first needed, shared by all callers that may share them.
//!
//! Depends on the crates for settings, logins, the catalog, sources, the keeper, callers and telemetry. The crate knows
//! neither policy nor runs nor the clients' wire types: a server's requests to a client go through a
//! `ServerRequestPolicy`, which the gateway implements.
//!
//! # Folders
//!
//! Each folder knows only the folders listed before it here, which `scripts/check-layers` proves. A folder's own file
//! lists its exports.
//!
//! | folder | content |
//! |---|---|
//! | `link` | the link to one server: a process's pipes, HTTP, or a source in this process, with messages as JSON and their outcomes |
//! | `calls` | calls on their way: permits, callers, progress, and the reasons they have no result |
//! | `listing` | a server's lists: fetched, compared with the pins, cached, refreshed |
//! | `sharing` | the callers that share a session, and the state that they share beside it |
//! | `server_messages` | a server's own messages: notifications, and requests to a client |
//! | `session` | one open session: connected, called, watched, ended, handed over |
//! | `server` | one configured server, its slots, and the task that opens and closes the session of each |
//!
//! `upstreams` holds all servers and applies configurations.
//!
//! Three dependencies that would point back are inverted: `link` asks `ActiveRuns` for the runs in flight, a
//! `SessionScope` tells a `RootsObserver` that its server has asked for roots, and `ServerRequestPolicy` decides on
//! questions.
//!
//! # `server`: servers, slots, sessions
//!
//! A server has one slot for each key (user, workspace, client, run), and each slot has one task that owns its state.
//!
//! - `server` is one configured server with all its slots, and `server_shared` is the state that its sessions share.
//!   `server_context` has every server's dependencies, and `server_view` is a snapshot for readers. `server_handover`
//!   hands its sessions to the next daemon. `unavailable` holds the errors for callers that get no session.
//! - `slot` is the slot of one session, with its `slot_status`, `slot_usage` and `slot_handover`. `slot_owner` is the
//!   task that owns it and handles each `slot_event`. `session_end` handles the end of its session, and `slot_timers`
//!   retries after a backoff and closes unused sessions. `start_queue` performs one start, and `start_limiter` limits
//!   how many servers start at once. A recently called server is also started in the background, with the daemon or
//!   when its process has ended in use. Such a start waits for starts by callers, and a new caller joins it.
//!   `resource_subscriptions` renews subscriptions with each session.
//! - `circuit_breaker` decides when a failed server is started again: each failure is followed by a backoff. Five
//!   failures in a minute open the breaker, and one successful attempt closes it. `slot_owner` opens a session only if
//!   the breaker allows it.
//!
//! Callers with a call in flight when a session ends get `unknown_outcome`, and the next caller gets a new session. A
//! call has two time limits: a limit for silence, which progress resets, and a limit for the whole call.
//!
//! # `sharing`: who shares a session
//!
//! `session_key` identifies the owner of a session, `session_sharing` decides which callers share a session and why,
//! `session_scope` determines the roots that a session's server gets. `slot_shared` is the state of a slot that
//! outlives its sessions: the lists that clients know (`announced_lists`) and the resources that they follow
//! (`resource_subscribers`).
//!
//! If `share` is unset, it is `user` until a server shows that it depends on the workspace (`${workspace}`, roots, or a
//! short list of known servers): each server starts in its own fixed directory, so nothing else can depend on the
//! workspace. A server that asks for roots is remembered: its session moves to the workspace for which it asked, and
//! callers with another key get other sessions.
//!
//! # `session`: one session
//!
//! - `connect` goes from a definition to a ready session, and `handshake` finds the protocol era. `session` is shared
//!   by many callers. `tool_call` is one call, and `request` one request from sending to its answer. `session_watch`
//!   follows the session to its end and sets the cause.
//! - `input_required` handles results that contain questions: the caller answers and the request is made again, at most
//!   eight times. `back_channel` detects tools that send their own requests in an era without them. `tasks` polls calls
//!   that became tasks until they end, and cancels them with their caller. `resources_and_prompts` handles resources,
//!   templates and prompts.
//! - `liveness` pings a silent process and ends it after two unanswered pings, unless a call may be the reason for the
//!   silence. `lost_session` detects a session that its server no longer knows. `session_health` collects the reasons a
//!   server counts as degraded, `latency_baseline` detects that it has become slow.
//! - `incoming_sessions` (sessions expected from the previous daemon) and `session_handover` (the state of a session
//!   that is handed to the next daemon) implement the handover, with `request_ids` of the link (request ids that
//!   outlive a daemon).
//!
//! A process gets `initialize` first, and `server/discover` only if it refuses. A remote server of unknown era gets
//! `server/discover` first, and `initialize` after an error, silence or a closed connection. The era that worked is
//! remembered. A tool that sends its own request fails in the modern era: `back_channel` detects it, and the next
//! session is opened in the legacy era, unless the entry's `era` says otherwise.
//!
//! # `server_messages`: messages that servers send unasked
//!
//! rmcp spawns a task for every message that it does not wait for. `intercepting_transport` sits before rmcp and
//! handles messages in order, with a fixed limit on `unanswered_requests`. `notification_router` routes them. Progress
//! goes to the call with that token (`in_flight`, `progress_meter`), the last notification always before the answer.
//! Logs go to the server's file, and `list_changed` to `mux_caller`'s `ListChangeNotifier`, but only if the clients'
//! lists are outdated. `subscriptions_listen` is the open request that makes a modern server send notifications.
//! `url_elicitation` remembers URLs that users were asked to open.
//!
//! `client_request_handler` is the client side of the protocol towards a server. A question (elicitation, sampling,
//! roots) names no call. `server_requests` forwards it to the only connection that has calls in flight on that session,
//! and answers immediately itself if there is no such connection, if there are several, or if the client cannot answer.
//! While the question is open, the clocks of that connection's calls there and of their runs are paused.
//! `question_text` sanitizes a question's text.
//!
//! # `listing`: lists of tools, resources and prompts
//!
//! `tools_list` lists the tools, `server_catalog_entry` compares them with the server's pins and makes them callable,
//! `tools_refresh` tracks announced changes, `list_cache` keeps the other lists (`list_kind`), `list_expiry` implements
//! `ttlMs`. `list_pages` ends a list regardless of its server's cursors, and `refresh_pacing` limits how often a list
//! is fetched again. A tool that differs from its pin is shown by its pinned definition and its calls are refused. The
//! gateway checks again before sending.
//!
//! # `calls`: calls in flight
//!
//! `call_limiter` limits calls in flight with a fair queue. `in_flight` knows who made a request and how far it is.
//! `progress_meter` limits the rate of progress. `cancel_on_drop` cancels requests at the server for which nothing
//! waits any longer.
//!
//! # `link`: the link to a server
//!
//! `process` starts a server through the keeper, one keeper at a time (`process_launcher`), and speaks JSON-RPC over its
//! pipes (`stdio_transport`, instead of rmcp's own: a line that is too long ends the session instead of leaving a call
//! waiting forever, and lines that are not JSON-RPC go to the server's log). `stderr` writes its standard error to the
//! `server_log`.
//!
//! `http` is streamable HTTP (`streamable_http`) and HTTP+SSE of 2024-11-05 (`sse_transport`). `http_exchange` makes
//! every HTTP request to a server: with the entry's headers and a token, to one origin, once. A request is sent a
//! second time only after a 401 or 403, with another token. `token_provider` supplies the token, `response_body` limits a
//! server's responses, `kept_messages` passes messages around rmcp, `sse_backoff` delays the retry of a dropped event
//! stream.
//!
//! `server_launcher` starts servers that are configured as a command: in muxd, `process_launcher`. A program that
//! embeds the daemon may run servers itself. `in_process` is a source in this process. `raw_message` keeps answers as
//! JSON, so nothing without a type in rmcp is lost over stdio. `reader` checks the weight of messages and parses
//! them, long ones on a blocking thread. `link_ending` keeps the first cause of the end, and `link_error` names the
//! outcome of a message: not sent or session gone (both go to the next session, once), sign-in required, declined, or
//! lost (`unknown_outcome`).
//!
//! Invariants:
//!
//! - Servers share only the keeper. A slow, dead or faulty server delays no other.
//! - A call is sent at most once over one session.
//! - No lock spans an `.await`, with two exceptions: `stdio_transport` keeps lines from interleaving, and
//!   `process_launcher` starts one keeper at a time.

mod calls;
mod link;
mod listing;
mod server;
mod server_messages;
mod session;
mod sharing;
mod upstreams;

pub use mux_confine::{
    ChangeableLink, Denial, GrantRecord, ImplicitGrants, SandboxDirs, WriteGrant, changeable_link,
};

pub use self::{
    calls::{BackChannelRemedy, CallError, NoBackChannel, PermitSlot},
    link::{
        LaunchedServer, ObservationError, OpenError, ProcessLauncher, RunningSandbox,
        SandboxReport, SandboxState, ServerIdentity, ServerLauncher, without_output,
    },
    listing::ListKind,
    server::{
        CallInFlight, HeldSession, OutgoingSession, Server, ServerContext, ServerView, Slot,
        SlotView, StartLimiter,
    },
    server_messages::{
        DENIED_BY_DEFAULT, RequestPolicy, ServerRequest, ServerRequestError, ServerRequestPolicy,
    },
    session::{
        ContentRequest, HandedSession, HandoverKey, HandoverState, IncomingSessions,
        RequestOptions, Session,
    },
    sharing::CallerIdentity,
    upstreams::{ServerChanges, Upstreams},
};
