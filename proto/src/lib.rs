//! The contract between `muxd` and its clients: what is said, in which shape, and where.
//!
//! On the socket: u32-length-delimited (big-endian) JSON frames of at most [`transport::MAX_FRAME`]
//! bytes, each one tarpc envelope. A client in another language sends zeros as trace ids, and a
//! deadline of at most [`transport::MAX_DEADLINE`]. `tests/data/frames` holds one frame of each kind.
//!
//! A daemon that is ending refuses `hello` and new work with `unavailable`
//! ([`Error::is_ending`]): nothing has happened then, and the next daemon can be asked.
//!
//! How the contract grows: `hello` and `retire` never change. [`service::Mux`] gets new methods at
//! its end only, each named in the features that `hello` lists, and a client calls no method that
//! the other side did not list. A field that is added has a default. Anything else is a new
//! [`version::CONTRACT`].
//!
//! Invariant: these types are plain data. No other crate of muxd appears here, and nothing in the
//! daemon below its `rpc` module names them.

pub mod endpoint;
pub mod error;
pub mod messages;
pub mod service;
pub mod startup;
pub mod transport;
pub mod variables;
pub mod version;

pub use error::{Error, Kind};
pub use messages::*;
pub use service::{Mux, MuxClient};
