//! Network settings and secrets of a server behind a URL, and how its URL is displayed.
//!
//! Invariant: a displayed URL contains no password, no query value, and no part of a path that looks like a key.

use std::fmt::Write as _;

use mux_secrets::{KnownSecrets, Secret, url};

use super::RemoteServer;
use mux_config::environment::Environment;

/// Proxies and certificates from the user's environment, never from the daemon's own.
#[derive(Clone, Default, PartialEq)]
pub struct NetworkSettings {
    pub http_proxy: Option<NetworkVariable>,
    pub https_proxy: Option<NetworkVariable>,
    pub all_proxy: Option<NetworkVariable>,
    /// Hosts that are reached without a proxy.
    pub no_proxy: Option<NetworkVariable>,
    /// A file of certificates that are trusted in addition to the system's.
    pub certificates: Option<NetworkVariable>,
}

/// An environment variable with a value that is not blank.
#[derive(Clone, PartialEq)]
pub struct NetworkVariable {
    pub name: String,
    pub value: Secret,
}

impl NetworkSettings {
    pub fn of(environment: &Environment) -> Self {
        let variable = |name: &str| {
            let value = environment.get(name)?;
            (!value.trim().is_empty()).then(|| NetworkVariable {
                name: name.to_owned(),
                value: value.into(),
            })
        };
        // The lower-case name has precedence.
        let either = |name: &str| variable(&name.to_ascii_lowercase()).or_else(|| variable(name));
        Self {
            http_proxy: either("HTTP_PROXY"),
            https_proxy: either("HTTPS_PROXY"),
            all_proxy: either("ALL_PROXY"),
            no_proxy: either("NO_PROXY"),
            certificates: variable("SSL_CERT_FILE"),
        }
    }

    /// The URLs of proxies, as written.
    pub fn proxies(&self) -> impl Iterator<Item = String> {
        let all = [&self.http_proxy, &self.https_proxy, &self.all_proxy];
        all.into_iter()
            .flatten()
            .map(|proxy| proxy.value.expose().to_owned())
    }

    /// The passwords in the URLs of proxies.
    pub fn known_secrets(&self) -> KnownSecrets {
        let mut known = KnownSecrets::new();
        for proxy in self.proxies() {
            known.add_password_of(&proxy);
        }
        known
    }
}

impl std::fmt::Debug for NetworkSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A proxy's URL may contain a password.
        f.debug_struct("NetworkSettings").finish_non_exhaustive()
    }
}

impl RemoteServer {
    /// The URL as written, with secrets masked.
    pub fn redacted_url(&self) -> String {
        let mut shown = url::shown(&self.written);
        if let Some(socket) = &self.socket {
            _ = write!(shown, " over {}", socket.display());
        }
        shown
    }

    /// Returns true if the user can sign in. A token for the host in the URL must not be sent to a local socket.
    pub fn has_login(&self) -> bool {
        let mut headers = self.headers.keys();
        let own = headers.any(|name| name.eq_ignore_ascii_case("authorization"));
        self.oauth.is_some() && !own && self.socket.is_none()
    }

    /// The secrets that are masked in errors: values of headers and of the query, and passwords.
    pub fn known_secrets(&self) -> KnownSecrets {
        let mut known = self.network.known_secrets();
        for value in self.headers.values() {
            known.add_header(value.expose());
        }
        known.add_password_of(self.url.expose());
        known.add_query_of(self.url.expose());
        known
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn secrets_of_an_entry_are_masked_and_short_words_are_not() {
        let headers = [("Authorization", "Bearer t0ken-123"), ("X-Short", "on")];
        let remote = RemoteServer {
            url: "https://me:p4ssw0rd@h/mcp?key=a%20secret&n=1".into(),
            written: String::new(),
            headers: headers.map(|(n, v)| (n.into(), v.into())).into(),
            transport: None,
            socket: None,
            network: Arc::default(),
            oauth: None,
            account: None,
        };
        let said = "bearer Bearer t0ken-123 or t0ken-123, p4ssw0rd, a%20secret, a secret; 1 is on";
        let masker = mux_secrets::Masker::new(&remote.known_secrets());
        assert_eq!(
            masker.text(said),
            "bearer *** or ***, ***, ***, ***; 1 is on"
        );
        assert!(!format!("{remote:?}").contains("t0ken"));
    }

    #[test]
    fn lower_case_variable_wins_unless_blank() {
        let pairs = [
            ("HTTP_PROXY", "a"),
            ("http_proxy", "b"),
            ("https_proxy", " "),
            ("HTTPS_PROXY", "c"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let network = NetworkSettings::of(&Environment::of(pairs));
        let name = |variable: Option<NetworkVariable>| {
            variable.map(|v| format!("{}={}", v.name, v.value.expose()))
        };
        assert_eq!(name(network.http_proxy).as_deref(), Some("http_proxy=b"));
        assert_eq!(name(network.https_proxy).as_deref(), Some("HTTPS_PROXY=c"));
    }
}
