//! The credentials that the daemon gives to servers and APIs.
//!
//! Invariant: they are compared with, and shown nowhere.

use url::Url;

use crate::{
    settings::{Credential, Link, Remote, Source},
    upstream::Upstreams,
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
            Ok(Link::Remote(remote)) => of_remote(remote, &mut found),
            Ok(Link::Source(source)) => of_source(source, &mut found),
            Err(_) => {}
        }
    }
    found
}

fn of_remote(remote: &Remote, found: &mut Vec<String>) {
    of_headers(remote.headers.values(), found);
    of_address(&remote.url, found);
    found.extend(remote.network.passwords());
}

fn of_source(source: &Source, found: &mut Vec<String>) {
    for credential in source.credentials.values() {
        match credential {
            Credential::Text(text) => found.push(text.clone()),
            Credential::Basic { password, .. } => found.push(password.clone()),
        }
    }
    of_headers(source.headers.values(), found);
    found.extend(source.network.passwords());
}

fn of_headers<'a>(values: impl Iterator<Item = &'a String>, found: &mut Vec<String>) {
    for value in values {
        // `Bearer x` is said as `x`, too.
        let words = value.split_whitespace();
        let words = words.filter(|word| !word.eq_ignore_ascii_case("bearer"));
        found.extend(words.map(str::to_owned));
        found.push(value.clone());
    }
}

fn of_address(url: &str, found: &mut Vec<String>) {
    if let Ok(url) = Url::parse(url) {
        found.extend(url.password().map(str::to_owned));
        found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    }
}
