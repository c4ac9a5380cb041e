//! The contract between `muxd` and its clients: methods, messages, errors, paths and framing.
//!
//! Of the crates of this workspace, this crate depends on `mux-messages` only, which has the requests, the answers and
//! the error type. Of the daemon's crates, only `mux-daemon` depends on it.
//!
//! - [`service`] has the methods; [`version`] the contract's number and features; [`metrics_text`] renders metrics for
//!   Prometheus; [`variables`] has the names of environment variables.
//! - [`endpoint`] has the paths of configuration, state, cache, socket, locks and logs; [`lock_file`] opens a lock;
//!   [`startup`] describes how a client starts a daemon; [`transport`] sends frames over the socket.
//! - `typescript`, a test, generates the messages of `client/typescript` from these types.
//!
//! On the socket: u32-length-delimited (big-endian) JSON frames of at most [`transport::MAX_FRAME`] bytes, each one
//! tarpc envelope. A client in another language sends zeros as trace ids, and a deadline of at most
//! [`transport::MAX_DEADLINE`]. `tests/data/frames` contains one frame of each kind.
//!
//! A daemon that is ending refuses `hello` and new work with `unavailable` ([`Error::is_ending`]). In that case nothing
//! was done, and the request can be sent to the next daemon.
//!
//! A program is started with `start_run` and followed with `events`, from number 0 on: events are numbered without
//! gaps, stay readable for an hour after the end of the run (the latest 200 runs), and can be read again from any
//! number, on any connection that may reach the run. The last event is [`EventKind::Ended`]. `runs` and `run_info` list
//! the runs. Every method that takes the id of a run also accepts the number behind its last dash, if that is
//! unambiguous.
//!
//! A value whose JSON is longer than 256 KiB (by default) is stored instead of sent, whether it is the result of a run,
//! an emitted part or the answer to `call`. A [`Handle`] replaces it. `read` returns its JSON page by page. Request
//! each page from the `next` of the page before; together, the pages are the JSON document. A handle is valid on any
//! connection and in programs (`mux.read`), and survives a restart of the daemon. It expires after `expires_ms`, or
//! when newer values need the space; then `read` fails with `not_found`.
//!
//! `upgrade` has another program take over: new connections reach it, and an open connection stays with the old daemon,
//! which refuses new work on it and exits with its last run.
//!
//! How the contract grows: `hello` and `retire` never change. [`service::Mux`] gets new methods only at its end, each
//! named in [`version::FEATURES`], and a client sends such a method only to a daemon that lists it in `hello`. An added
//! field has a default. Any other change is a new [`version::CONTRACT`].
//!
//! Invariant: in the daemon, only the `rpc` and `lifecycle` modules name this crate.

pub mod endpoint;
pub mod lock_file;
mod metrics_text;
pub mod service;
pub mod startup;
pub mod transport;
#[cfg(test)]
mod typescript;
pub mod variables;
pub mod version;

pub use metrics_text::{MetricsFormat, metrics_text};
pub use mux_messages::*;
pub use service::{Mux, MuxClient};
