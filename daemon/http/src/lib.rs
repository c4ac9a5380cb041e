//! Outgoing HTTP: the client for one server, and the policy for addresses that a third party named.
//!
//! Depends on `mux-settings` for the network settings, and on `mux-secrets` and `mux-text` to display them. Knows no
//! server, source or account.
//!
//! - `http_client` builds the client for one server: certificates, timeouts, redirects. `proxies` decides which
//!   requests go through a proxy, and `connect_failure` describes requests that did not reach their server.
//! - `address_policy` decides which addresses an authorization server's metadata or an API's description may name, by
//!   their class as written and as resolved.
//! - `response_body` reads a response of limited length.
//! - `token_endpoint` writes requests for OAuth tokens and reads the answers, and `issuer_words` their errors.
//!
//! Invariants:
//!
//! - The daemon's own environment is not read.
//! - A string from a third party cannot make muxd call this machine, its network, or a cloud metadata service.

pub mod address_policy;
pub mod connect_failure;
pub mod http_client;
pub mod issuer_words;
pub mod proxies;
pub mod response_body;
pub mod token_endpoint;
