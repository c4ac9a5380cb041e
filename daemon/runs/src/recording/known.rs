//! The credentials that the daemon gives to servers and APIs.
//!
//! Invariant: they are compared with, and shown nowhere.

use mux_secrets::KnownSecrets;

use mux_settings::Link;
use mux_upstream::Upstreams;

/// Of all entries, whoever sees them.
pub fn known(upstreams: &Upstreams) -> KnownSecrets {
    let mut found = KnownSecrets::new();
    for server in upstreams.all() {
        match server
            .definition()
            .as_ref()
            .map(|definition| &definition.link)
        {
            Ok(Link::Process(process)) => found.extend(&process.hidden),
            Ok(Link::Remote(remote)) => found.extend(&remote.secrets()),
            Ok(Link::Source(source)) => found.extend(&mux_sources::secrets_of(source)),
            Err(_) => {}
        }
    }
    found
}
