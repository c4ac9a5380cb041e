//! What a server behind a URL is reached through, and how its address is shown.
//!
//! Invariant: what is shown of an address holds neither a password nor the value of a query, nor a part of a path that
//! looks like a key.

use super::{Remote, literals::looks_made};
use crate::environment::Environment;

/// What lies between us and a server, as the user's environment has it. Never the daemon's own.
#[derive(Clone, Default, PartialEq)]
pub struct Network {
    /// Each with the name of the variable that it comes from.
    pub http_proxy: Option<Variable>,
    pub https_proxy: Option<Variable>,
    pub all_proxy: Option<Variable>,
    /// Hosts for which there is none.
    pub no_proxy: Option<Variable>,
    /// A file of certificates that are trusted beside the system's.
    pub certificates: Option<Variable>,
}

/// A variable that is set, and not to nothing.
#[derive(Clone, PartialEq)]
pub struct Variable {
    pub name: String,
    pub value: String,
}

impl Network {
    pub fn of(environment: &Environment) -> Self {
        let variable = |name: &str| {
            let value = environment.get(name)?;
            (!value.trim().is_empty()).then(|| Variable {
                name: name.to_owned(),
                value: value.to_owned(),
            })
        };
        // The small spelling wins.
        let either = |name: &str| variable(&name.to_ascii_lowercase()).or_else(|| variable(name));
        Self {
            http_proxy: either("HTTP_PROXY"),
            https_proxy: either("HTTPS_PROXY"),
            all_proxy: either("ALL_PROXY"),
            no_proxy: either("NO_PROXY"),
            certificates: variable("SSL_CERT_FILE"),
        }
    }

    /// What may stand in a proxy's address and must not stand elsewhere.
    pub fn passwords(&self) -> impl Iterator<Item = String> {
        [&self.http_proxy, &self.https_proxy, &self.all_proxy]
            .into_iter()
            .flatten()
            .filter_map(|proxy| {
                let url = url::Url::parse(&proxy.value).ok()?;
                url.password().map(str::to_owned)
            })
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A proxy's address may hold a password.
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Remote {
    /// The address without what may be a secret in it: a user with a password, the values of a query.
    pub fn shown(&self) -> String {
        let mut shown = shown(&self.written);
        if let Some(socket) = &self.socket {
            shown.push_str(&format!(" over {}", socket.display()));
        }
        shown
    }
}

/// The same of an address alone.
pub(super) fn shown(written: &str) -> String {
    let (address, query) = match written.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (written, None),
    };
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let parts = path.split('/').map(|part| match looks_made(part) {
        true => "***",
        false => part,
    });
    let path = parts.collect::<Vec<_>>().join("/");
    let mut shown = format!("{scheme}://{host}{path}");
    let query = query.map(|query| query.split('#').next().unwrap_or(query));
    for (index, pair) in query.iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if index == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            // The name of a variable is none.
            Some((_, value)) if value.starts_with("${") && value.ends_with('}') => {
                shown.push_str(pair);
            }
            Some((name, _)) => {
                shown.push_str(name);
                shown.push_str("=***");
            }
            None => shown.push_str("***"),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Oauth;

    fn shown(written: &str) -> String {
        let remote = Remote {
            url: String::new(),
            written: written.into(),
            headers: Default::default(),
            transport: None,
            socket: None,
            network: Default::default(),
            oauth: Oauth::Off,
        };
        remote.shown()
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_secret() {
        for (written, expected) in [
            ("https://x.example/mcp", "https://x.example/mcp"),
            ("https://me:pa@ss@x.example/mcp", "https://x.example/mcp"),
            (
                "https://x/a@b?k=v&flag&l=${TOKEN}#f",
                "https://x/a@b?k=***&***&l=${TOKEN}",
            ),
            ("https://x?k=${A}b", "https://x?k=***"),
            ("https://x/s/aZ81kQ0p2Lm4Xn7Wq/mcp", "https://x/s/***/mcp"),
            ("https://${HOST}/mcp", "https://${HOST}/mcp"),
        ] {
            assert_eq!(shown(written), expected);
        }
    }

    #[test]
    fn the_small_spelling_wins_and_an_empty_one_is_not_set() {
        let pairs = [
            ("HTTP_PROXY", "a"),
            ("http_proxy", "b"),
            ("https_proxy", " "),
            ("HTTPS_PROXY", "c"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let network = Network::of(&Environment::of(pairs));
        let name = |variable: Option<Variable>| variable.map(|v| format!("{}={}", v.name, v.value));
        assert_eq!(name(network.http_proxy).as_deref(), Some("http_proxy=b"));
        assert_eq!(name(network.https_proxy).as_deref(), Some("HTTPS_PROXY=c"));
    }
}
