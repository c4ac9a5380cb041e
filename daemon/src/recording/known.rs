//! The credentials that the daemon gives to servers and APIs.
//!
//! Invariant: they are compared with, and shown nowhere.

use crate::{
    settings::Link,
    sources,
    upstream::{self, Upstreams},
};

/// Of all entries, whoever sees them.
pub fn known(upstreams: &Upstreams) -> Vec<String> {
    let mut found = Vec::new();
    for server in upstreams.all() {
        match server
            .definition()
            .as_ref()
            .map(|definition| &definition.link)
        {
            Ok(Link::Process(process)) => found.extend(process.hidden.iter().map(str::to_owned)),
            Ok(Link::Remote(remote)) => found.extend(upstream::secrets_of(remote)),
            Ok(Link::Source(source)) => found.extend(sources::secrets_of(source)),
            Err(_) => {}
        }
    }
    found
}
