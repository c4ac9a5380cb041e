//! The sessions to the user's MCP servers: opened when first needed, shared by all callers that may share one.
//!
//! Depends on the crates for settings, logins, the catalog, sources, the keeper, callers and telemetry. It knows no
//! policy, no run and no wire types of clients: a server's requests to a client go through a `ServerRequestPolicy`,
//! which the gateway implements.
//!
//! # Folders
//!
//! Each folder knows only those that stand before it here; `scripts/check-layers` proves it. A folder's own file lists
//! what it gives to the others.
//!
//! | folder | what it is |
//! |---|---|
//! | `link` | the link to one server: a process's pipes, HTTP, or a source in this process; messages as JSON, and what happened to them |
//! | `calls` | calls on their way: permits, callers, progress, and why they have no result |
//! | `listing` | a server's lists: fetched, compared with the pins, cached, refreshed |
//! | `sharing` | which callers share a session, and what they share beside it |
//! | `server_messages` | what a server sends on its own: notifications, and requests to a client |
//! | `session` | one open session: connected, called, watched, ended, handed over |
//! | `server` | one configured server, its slots, and the task that opens and closes the session of each |
//!
//! `upstreams` holds all servers and applies configurations.
//!
//! Three arrows that would point back are turned around: `link` asks `ActiveRuns` for the runs in flight, a
//! `SessionScope` tells a `RootsObserver` that its server has asked for roots, and `ServerRequestPolicy` decides on
//! questions.
//!
//! # `server`: servers, slots, sessions
//!
//! A server has one slot for each key (user, workspace, client, run), and each slot has one task that owns its state.
//!
//! - `server` is one configured server with all its slots; `server_shared` is the state that its sessions share;
//!   `server_context` is what every server depends on; `server_view` is a snapshot for readers; `server_handover` hands
//!   its sessions to the next daemon; `unavailable` holds the errors for callers that get no session.
//! - `slot` is the slot of one session, with its `slot_status`, `slot_usage` and `slot_handover`. `slot_owner` is the
//!   task that owns it and handles each `slot_event`; `session_end` handles the end of its session, `slot_timers`
//!   retries after a backoff and closes unused sessions. `start_queue` performs one start, `start_limiter` limits how
//!   many servers start at once. A server that was called lately is also started in the background, with the daemon or
//!   when its process has ended in use: such a start waits for those of callers, and a caller that comes joins it.
//!   `resource_subscriptions` renews subscriptions with each session.
//! - `circuit_breaker` decides when a failed server is started again: each failure is followed by a backoff; five
//!   failures in a minute open the breaker, and one successful attempt closes it. `slot_owner` opens a session only if
//!   the breaker allows it.
//!
//! Callers with a call in flight when a session ends get `unknown_outcome`; the next caller gets a new session. A call
//! has two time limits: one for silence, which progress resets, and one for the whole call.
//!
//! # `sharing`: who shares a session
//!
//! `session_key` identifies the owner of a session, `session_sharing` decides which callers share one and why,
//! `session_scope` determines the roots that a session's server gets. `slot_shared` is the state of a slot that outlives
//! its sessions: the lists that clients know (`announced_lists`) and the resources that they follow
//! (`resource_subscribers`).
//!
//! If `share` is unset, it is `user` until a server shows that it depends on the workspace (`${workspace}`, roots, or a
//! short list of known servers): each server starts in its own fixed directory, so nothing else can depend on the
//! workspace. A server that asks for roots is remembered: its session moves to the workspace for which it asked, and
//! callers with another key get other sessions.
//!
//! # `session`: one session
//!
//! - `connect` goes from a definition to a ready session; `handshake` finds the era of the protocol; `session` is
//!   shared by many callers; `tool_call` is one call, `request` one request from sending to its answer; `session_watch`
//!   follows the session to its end and sets the cause.
//! - `input_required` handles results that contain questions: the caller answers and the request is made again, at most
//!   eight times. `back_channel` detects tools that send requests of their own in an era without them. `tasks` polls
//!   calls that became tasks until they end, and cancels them with their caller. `resources_and_prompts` handles
//!   resources, templates and prompts.
//! - `liveness` pings a silent process and ends it after two unanswered pings, unless a call may be the reason for the
//!   silence. `lost_session` detects a session that its server no longer knows. `session_health` collects the reasons why a server counts as degraded, `latency_baseline` detects that it
//!   has become slow.
//! - `incoming_sessions` (sessions expected from the previous daemon) and `session_handover` (the state of a session
//!   that is handed to the next one) implement the handover, with `request_ids` of the link (request ids that outlive a
//!   daemon).
//!
//! A process gets `initialize` first, and `server/discover` only if it refuses; a remote server of unknown era gets
//! `server/discover` first, and `initialize` after an error, silence or a closed connection. The era that worked is
//! remembered. A tool that sends a request of its own fails in the modern era:
//! `back_channel` detects it, and the next session is opened in the legacy era, unless the entry's `era` says
//! otherwise.
//!
//! # `server_messages`: what servers send on their own
//!
//! rmcp spawns a task for every message that it does not wait for. `intercepting_transport` sits before it and handles
//! messages in order, with a fixed limit on `unanswered_requests`. `notification_router` routes them: progress to the
//! call with that token (`in_flight`, `progress_meter`), the last notification always before the answer; logs to the
//! server's file; `list_changed` to `mux_caller`'s `ListChangeNotifier`, but only if what the clients know is no longer
//! true. `subscriptions_listen` is the open request that makes a modern server send notifications; `url_elicitation`
//! remembers URLs that users were asked to open; `last_heard` is the time of the last message.
//!
//! `client_request_handler` is the client side of the protocol towards a server. A question (elicitation, sampling,
//! roots) names no call. `server_requests` forwards it to the only connection that has calls in flight on that session,
//! and answers at once itself if there is none, if there are several, or if that one cannot answer. While the question
//! is open, the clocks of that connection's calls there and of their runs are paused. `question_text` sanitizes a
//! question's text.
//!
//! # `listing`: lists of tools, resources and prompts
//!
//! `tools_list` lists the tools, `server_catalog_entry` compares them with the server's pins and makes them callable,
//! `tools_refresh` tracks announced changes, `list_cache` keeps the other lists (`list_kind`), `list_expiry` implements
//! `ttlMs`. `list_pages` ends a list whatever its server does with cursors, `refresh_pacing` limits how often a list is
//! fetched again. A tool that differs from its pin is shown by its pinned definition and its calls are refused; the gateway
//! checks again before sending.
//!
//! # `calls`: calls in flight
//!
//! `call_limiter` limits calls in flight with a fair queue; `in_flight` knows who made a request and how far it is;
//! `progress_meter` limits the rate of progress; `cancel_on_drop` cancels at the server what nothing waits for.
//!
//! # `link`: the link to a server
//!
//! `process` starts a server through the keeper, one keeper at a time (`process_launcher`), and speaks JSON-RPC over its
//! pipes (`stdio_transport`, in place of rmcp's own: a line that is too long ends the session instead of leaving a call
//! waiting forever, and lines that are not JSON-RPC go to the server's log). `stderr` writes its standard error to the
//! `server_log`.
//!
//! `http` is streamable HTTP (`streamable_http`) and HTTP+SSE of 2024-11-05 (`sse_transport`). `http_exchange` makes
//! every HTTP request to a server: with the entry's headers and a token, to one origin, once; a second time only after
//! a 401 or 403, with another token. `token_provider` and `account_token_provider` supply the token, `response_body`
//! limits what a server sends, `long_messages` parses long messages ahead of rmcp, `sse_backoff` delays the reopening of
//! the event stream.
//!
//! `server_launcher` is what starts a server that is configured as a command: in muxd `process_launcher`; a program that
//! embeds the daemon may run servers itself. `in_process` is a source in this process. `raw_message` keeps answers as JSON, so that over stdio nothing is lost
//! that rmcp has no type for. `parse_message` checks the weight of messages and parses them, long ones on a blocking
//! thread. `link_ending` keeps the first cause of the end, and `link_error` says what happened to a message: not sent or
//! session gone (both go to the next session, once), sign-in required, declined, or lost (`unknown_outcome`).
//!
//! Invariants:
//!
//! - Servers share nothing but the keeper. A server that is slow, dead or faulty delays no other.
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
    ChangeableLink, DeniedFile, GrantRecord, RefusedConnection, SandboxDirs, SandboxGrants,
    SuggestedNetwork, SuggestedSandbox, WriteGrant, changeable_link,
};

pub use self::{
    calls::{BackChannelRemedy, CallError, NoBackChannel, PermitSlot},
    link::{
        LaunchedServer, ObservationError, OpenError, ProcessLauncher, RunningSandbox,
        SandboxReport, SandboxState, ServerLauncher, without_output,
    },
    listing::ListKind,
    server::{
        CallInFlight, HeldSession, OutgoingSession, Server, ServerContext, ServerView, Slot,
        SlotView, StartLimiter, UnavailableCause, UpstreamState,
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
