//! Outgoing HTTP: the client for one server, and which addresses may be called because a stranger named them.
//!
//! It knows the settings of the network and no server, source or account. Invariants:
//!
//! - Nothing is read from the daemon's own environment.
//! - A stranger's text cannot make muxd call this machine, its network, or a cloud's metadata service.

pub mod address_policy;
pub mod http_client;
