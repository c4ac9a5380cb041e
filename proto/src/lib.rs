//! The contract between `muxd` and its clients: what is said, in which shape, and where.
//!
//! It knows no other crate of this workspace. Of the daemon, `mux-daemon` alone knows it.
//!
//! - [`service`] has the methods; [`messages`] what they carry, one module for each subject; [`error`] the one shape of
//!   a failure; [`version`] and [`variables`] the names of versions and environment variables.
//! - [`endpoint`] says where configuration, state, cache, socket, locks and logs are; [`lock_file`] opens a lock;
//!   [`startup`] how a client starts a daemon; [`transport`] frames over the socket.
//!
//! On the socket: u32-length-delimited (big-endian) JSON frames of at most [`transport::MAX_FRAME`] bytes, each one
//! tarpc envelope. A client in another language sends zeros as trace ids, and a deadline of at most
//! [`transport::MAX_DEADLINE`]. `tests/data/frames` holds one frame of each kind.
//!
//! A daemon that is ending refuses `hello` and new work with `unavailable` ([`Error::is_ending`]): nothing has happened
//! then, and the next daemon can be asked.
//!
//! A program is started with `start_run` and followed with `events`, from number 0 on: events are numbered without
//! gaps, stay readable for an hour after the end of the run (the latest 200 runs), and can be read again from any
//! number, on any connection that may reach the run. The last one is [`EventKind::Ended`]. `runs` and `run_info` list
//! the runs; every method that takes the id of a run takes the number behind its last dash as well, where that is
//! unambiguous.
//!
//! A value whose JSON is longer than 256 KiB (a daemon may be configured otherwise) is not sent but kept, whether it is
//! the result of a run, an emitted part or the answer to `call`: a [`Handle`] takes its place. `read` gives its JSON
//! text page by page; the texts of all pages, each asked for from the `next` of the one before, are the JSON document.
//! A handle is good on any connection and in programs (`mux.read`), survives a restart of the daemon, and ends with
//! `expires_ms`, or when newer values need the space: `not_found` then.
//!
//! `upgrade` has another program take over: new connections reach it, and a connection that is open stays with the
//! daemon that leaves, which refuses new work on it and ends with its last run.
//!
//! How the contract grows: `hello` and `retire` never change. [`service::Mux`] gets new methods at its end only, each
//! named in the features that `hello` lists, and a client calls no method that the other side did not list. A field
//! that is added has a default. Anything else is a new [`version::CONTRACT`].
//!
//! Invariant: these types are plain data. No other crate of muxd appears here, and nothing in the daemon below its
//! `rpc` module names them, `lifecycle` excepted.

pub mod endpoint;
pub mod error;
pub mod lock_file;
pub mod messages;
pub mod service;
pub mod startup;
pub mod transport;
pub mod variables;
pub mod version;

pub use error::{Error, Kind};
pub use messages::*;
pub use service::{Mux, MuxClient};
