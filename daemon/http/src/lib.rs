//! Outgoing HTTP: the client for one server, and which addresses may be called because a stranger named them.
//!
//! It knows `mux-settings` for the network's settings, and no server, source or account.
//!
//! - `http_client` builds the client for one server: proxy, certificates, timeouts.
//! - `address_policy` says which network addresses an authorization server's metadata, and an API's description, may
//!   name: their class, as written and as resolved when they are called.
//!
//! Invariants:
//!
//! - Nothing is read from the daemon's own environment.
//! - A stranger's text cannot make muxd call this machine, its network, or a cloud's metadata service.

pub mod address_policy;
pub mod http_client;
