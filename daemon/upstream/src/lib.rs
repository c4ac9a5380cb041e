//! The sessions to the user's MCP servers: opened when first needed, shared by all callers that may share one.
//!
//! Depends on the crates for settings, logins, the catalog, sources, the keeper, callers and telemetry. It knows no
//! policy, no run and no wire types of clients: a server's requests to a client go through a `ServerRequestPolicy`,
//! which the gateway implements.
//!
//! # Servers, slots, sessions
//!
//! A server has one slot for each key (user, workspace, client, run), and each slot has one task that owns its state.
//!
//! - `server` is one configured server with all its slots; `server_shared` is the state that its sessions share;
//!   `server_view` is a snapshot for readers; `server/server_handover` hands its sessions to the next daemon.
//! - `session_key` identifies the owner of a session, `sharing` decides which callers share one and why,
//!   `session_scope` determines the roots that a session's server gets. If `share` is unset, it is `user` until a
//!   server shows that it depends on the workspace (`${workspace}`, roots, or a short list of known servers): each
//!   server starts in its own fixed directory, so nothing else can depend on the workspace. A server that asks for
//!   roots is remembered: its session moves to the workspace for which it asked, and callers with another key get other
//!   sessions.
//! - `slot` is the slot of one session, with its `slot/slot_usage` and `slot/slot_handover`; `slot_shared` is the state
//!   that outlives its sessions. `slot_owner` is the task that owns it, `slot_owner/session_end` handles the end of its
//!   session, `slot_timers` retries after a backoff and closes unused sessions. `start_queue` performs one start,
//!   `start_limiter` limits how many servers start at once, `call_limiter` limits calls in flight with a fair queue,
//!   `unavailable` holds the errors for callers that get no session.
//! - `circuit_breaker` decides when a failed server is started again: each failure is followed by a backoff; five
//!   failures in a minute open the breaker, and one successful attempt closes it. `slot_owner` opens a session only if
//!   the breaker allows it. `liveness` pings a silent process and ends it after two unanswered pings, unless a call may
//!   be the reason for the silence. `session_health` collects the reasons why a server counts as degraded,
//!   `latency_baseline` detects that it has become slow.
//!
//! Callers with a call in flight when a session ends get `unknown_outcome`; the next caller gets a new session. A call
//! has two time limits: one for silence, which progress resets, and one for the whole call.
//!
//! # One session
//!
//! - `connect` goes from a definition to a ready session; `handshake` finds the era of the protocol; `session` is
//!   shared by many callers; `request` is one request from sending to its answer; `session_watch` follows the session
//!   to its end and sets the cause.
//! - `input_required` handles results that contain questions: the caller answers and the request is made again, at most
//!   eight times. `back_channel` detects tools that send requests of their own in an era without them. `tasks` polls
//!   calls that became tasks until they end, and cancels them with their caller.
//! - `tools_list` lists the tools, `server_catalog_entry` compares them with the pins and makes them callable,
//!   `tools_refresh` tracks announced changes, `parse_off_thread` lists the tools of a source on a blocking thread,
//!   `list_expiry` implements `ttlMs`. `resources_and_prompts` and `list_cache` handle resources, templates and
//!   prompts.
//! - `raw_message` keeps answers as JSON, so that over stdio nothing is lost that rmcp has no type for. `parse_message`
//!   checks the weight of messages and parses them, long ones on a blocking thread.
//! - `process_launcher` starts a server through the keeper, one keeper at a time; `stdio_transport` is JSON-RPC over
//!   its pipes; `stderr` writes its standard error to the log, with `log_stamp` as the prefix of each line.
//! - `incoming_sessions` (sessions expected from the previous daemon), `session_handover` (a session handed to the next
//!   one) and `request_ids` (request ids that outlive a daemon) implement the handover of sessions.
//!
//! A server of unknown era is probed with `server/discover`; after an error, silence or a closed pipe it gets
//! `initialize`, and the era that worked is remembered. A tool that sends a request of its own fails in the modern era:
//! `back_channel` detects it, and the next session is opened in the legacy era, unless the entry's `era` says
//! otherwise.
//!
//! `stdio_transport` replaces rmcp's own: a line that is too long ends the session instead of leaving a call waiting
//! forever, and lines that are not JSON-RPC go to the server's log.
//!
//! # The link to a server
//!
//! `link` carries a session: a process's pipes, streamable HTTP (`link/streamable_http`), HTTP+SSE of 2024-11-05
//! (`link/sse_transport`), or a source in this process (`link/in_process`). `link/http_exchange` makes every HTTP
//! request to a server: with the entry's headers and a token, to one origin, once; a second time only after a 401 or
//! 403, with another token. `link/token_provider` and `link/account_token_provider` supply the token,
//! `link/response_body` limits what a server sends, `link/long_messages` parses long messages ahead of rmcp,
//! `link/sse_backoff` delays the reopening of the event stream, `link/link_ending` keeps the first cause of the end,
//! and `link/link_error` says what happened to a message: not sent or session gone (both go to the next session, once),
//! sign-in required, declined, or lost (`unknown_outcome`).
//!
//! # Messages that servers send on their own
//!
//! rmcp spawns a task for every message that it does not wait for. `intercepting_transport` sits before it and handles
//! messages in order, with a fixed limit on unanswered requests (`intercepting_transport/unanswered_requests`).
//! `notification_router` routes them: progress to the call with that token (`in_flight`, `progress_meter`), the last
//! notification always before the answer; logs to the server's file; `list_changed` to `mux_caller`'s
//! `ListChangeNotifier`, but only if what the clients know is no longer true (`slot_shared`). `subscriptions_listen` is
//! the open request that makes a modern server send notifications; `resource_subscriptions` and `resource_subscribers`
//! follow resources; `url_elicitation` remembers URLs that users were asked to open.
//!
//! `client_request_handler` is the client side of the protocol towards a server. A question (elicitation, sampling,
//! roots) names no call. `server_requests` forwards it to the only connection that has calls in flight on that session,
//! and answers at once itself if there is none, if there are several, or if that one cannot answer. While the question
//! is open, the clocks of that connection's calls there and of their runs are paused. `question_text` sanitizes a
//! question's text.
//!
//! # A configured server's list of tools
//!
//! Every list of tools passes through `server_catalog_entry`, which compares it with the server's pins: a tool that
//! differs is shown by its pinned definition and its calls are refused. The gateway checks again before sending.
//!
//! Invariants:
//!
//! - Servers share nothing but the keeper. A server that is slow, dead or faulty delays no other.
//! - A call is sent at most once over one session.
//! - Locks are std's and span no `.await`, with two exceptions: `stdio_transport` keeps lines from interleaving, and
//!   `process_launcher` starts one keeper at a time.

mod calls;
mod link;
mod listing;
mod server;
mod server_messages;
mod session;
mod sharing;
mod upstreams;

pub use self::{
    calls::{BackChannelRemedy, CallError, NoBackChannel, PermitSlot},
    link::ProcessLauncher,
    listing::ListKind,
    server::{
        CallInFlight, HeldSession, OutgoingSession, Server, ServerContext, ServerView, Slot,
        SlotView, StartLimiter, UpstreamState,
    },
    server_messages::{RequestPolicy, ServerRequest, ServerRequestError, ServerRequestPolicy},
    session::{
        ContentRequest, HandedSession, HandoverKey, HandoverState, IncomingSessions,
        RequestOptions, Session,
    },
    sharing::CallerIdentity,
    upstreams::{ServerChanges, Upstreams},
};
