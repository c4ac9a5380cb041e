//! What is known of one login: whose tokens, for which server, from whom.
//!
//! Invariant: tokens are found by resource and client, never by the name of a server; what one issuer has
//! given goes back to that issuer alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mux_secrets::{Secret, expose_optional};
use serde::{Deserialize, Serialize};
use url::Url;

/// A token that ends within this time is as good as ended, unless it lives that short altogether.
const TOKEN_EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// What tokens are found by.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub(super) struct LoginKey {
    /// The server's address, canonical.
    pub(super) resource: String,
    /// The client that the user has registered himself, if he has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    /// Tells apart two entries that give this client different secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proof: Option<String>,
}

impl LoginKey {
    /// Whether the user has registered this client himself, so that it belongs to one issuer.
    pub(super) fn is_own_client(&self) -> bool {
        self.client.is_some() || self.proof.is_some()
    }

    /// What stands for a client's secret: it cannot be read back from it.
    pub(super) fn proof(secret: &Secret) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("muxd 2026-11 secret of an OAuth client");
        hasher.update(secret.expose().as_bytes());
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

/// Everything but the secrets.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct LoginRecord {
    pub(super) issuer: String,
    #[serde(flatten)]
    pub(super) key: LoginKey,
    pub(super) client_id: String,
    /// Where the browser was sent to; a registration is for this one.
    pub(super) redirect: String,
    /// What tokens are asked for: RFC 8707's `resource`.
    pub(super) audience: String,
    pub(super) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    /// The client's secret goes into the body and not into a header.
    #[serde(default)]
    pub(super) secret_in_body: bool,
    /// What was granted.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// What the server has asked for since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted: Vec<String>,
    /// Seconds since 1970.
    pub(super) received_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_in: Option<u64>,
    /// Without one, an access token that has ended is the end.
    #[serde(default)]
    pub(super) refreshable: bool,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct LoginSecrets {
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "expose_optional"
    )]
    pub(super) access: Option<Secret>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "expose_optional"
    )]
    pub(super) refresh: Option<Secret>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "expose_optional"
    )]
    pub(super) client: Option<Secret>,
}

/// What a token endpoint answers.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct TokenResponse {
    pub(super) access_token: Secret,
    #[serde(default)]
    token_type: String,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    pub(super) refresh_token: Option<Secret>,
    #[serde(default)]
    scope: Option<String>,
}

impl LoginRecord {
    /// Names it where a name must hold no more than letters and digits.
    pub(super) fn id(&self) -> String {
        let client = self.key.client.as_deref().unwrap_or_default();
        let mut identity = vec![&*self.issuer, &*self.key.resource, client];
        identity.extend(self.key.proof.as_deref());
        let identity = identity.join("\n");
        blake3::hash(identity.as_bytes()).to_hex()[..32].to_owned()
    }

    /// A client that was registered by us is none any more: without the address it is for, another one is.
    pub(super) fn unregister(&mut self) {
        if self.key.client.is_none() {
            self.redirect.clear();
        }
    }

    /// How long the access token is still good for; `None` if nobody has said.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let lifetime = self.expires_in?;
        // A clock that was set back must not make it live longer.
        let age = now().saturating_sub(self.received_at);
        Some(Duration::from_secs(lifetime.saturating_sub(age)))
    }

    /// Whether it is time for the next one.
    pub(super) fn is_stale(&self) -> bool {
        let margin =
            TOKEN_EXPIRY_MARGIN.min(Duration::from_secs(self.expires_in.unwrap_or_default()) / 4);
        self.remaining()
            .is_some_and(|remaining| remaining <= margin)
    }

    pub(super) fn is_over(&self) -> bool {
        self.remaining()
            .is_some_and(|remaining| remaining.is_zero())
    }

    /// Takes over what was granted. Scopes that are not named are those that were asked for, and a refresh
    /// token that is not named is the old one.
    pub(super) fn take(
        &mut self,
        secrets: &mut LoginSecrets,
        grant: TokenResponse,
        asked: &[String],
    ) {
        self.scopes = match grant.scope {
            Some(scopes) => scopes.split_whitespace().map(str::to_owned).collect(),
            None => asked.to_vec(),
        };
        self.received_at = now();
        self.expires_in = grant.expires_in;
        secrets.access = Some(grant.access_token);
        if grant.refresh_token.is_some() {
            secrets.refresh = grant.refresh_token;
        }
        self.refreshable = secrets.refresh.is_some();
    }
}

impl TokenResponse {
    pub(super) fn check(self) -> Result<Self, String> {
        match self.token_type.to_ascii_lowercase().as_str() {
            "bearer" if !self.access_token.expose().is_empty() => Ok(self),
            "bearer" => Err("it gave an empty token".into()),
            _ => Err("it gave a token that is no bearer token".into()),
        }
    }
}

/// The address of a server as tokens are found by it: without a fragment or a user's name and password.
pub(super) fn canonical(url: &str) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some(url)
}

/// Both, each once, in their order.
pub(super) fn union(some: &[String], more: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in some.iter().chain(more) {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}

pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn record(expires_in: Option<u64>, age: u64) -> LoginRecord {
        LoginRecord {
            issuer: "https://issuer.test".into(),
            key: LoginKey {
                resource: "https://server.test/mcp".into(),
                client: None,
                proof: None,
            },
            client_id: "client".into(),
            redirect: "http://127.0.0.1:1/callback".into(),
            audience: "https://server.test/mcp".into(),
            token_endpoint: "https://issuer.test/token".into(),
            revocation_endpoint: None,
            secret_in_body: false,
            scopes: vec!["read".into()],
            wanted: Vec::new(),
            received_at: now() - age,
            expires_in,
            refreshable: true,
        }
    }

    #[test]
    fn a_token_is_stale_before_it_is_over() {
        for (expires_in, age, stale, over) in [
            (None, 1_000_000, false, false),
            (Some(3600), 10, false, false),
            (Some(3600), 3575, true, false),
            (Some(3600), 3600, true, true),
            // A short life has a short margin, or it would be stale at once.
            (Some(20), 5, false, false),
            (Some(20), 16, true, false),
            (Some(0), 0, true, true),
        ] {
            let record = record(expires_in, age);
            assert_eq!(
                (record.is_stale(), record.is_over()),
                (stale, over),
                "{expires_in:?} {age}"
            );
        }
    }

    #[test]
    fn a_refresh_token_that_is_not_named_is_kept_and_so_are_the_scopes() {
        let (mut record, mut secrets) = (record(None, 0), LoginSecrets::default());
        secrets.refresh = Some(Secret::new("r1"));
        let grant = |text| {
            serde_json::from_str::<TokenResponse>(text)
                .unwrap()
                .check()
                .unwrap()
        };
        let asked = ["read".to_owned()];
        record.take(
            &mut secrets,
            grant(r#"{"access_token":"a2","token_type":"Bearer"}"#),
            &asked,
        );
        assert_eq!(secrets.refresh, Some(Secret::new("r1")));
        assert_eq!(record.scopes, asked);
        let rotated =
            r#"{"access_token":"a3","token_type":"bearer","refresh_token":"r2","scope":"a b"}"#;
        record.take(&mut secrets, grant(rotated), &asked);
        assert_eq!(secrets.refresh, Some(Secret::new("r2")));
        assert_eq!(record.scopes, ["a", "b"]);
    }

    #[test]
    fn addresses_are_compared_without_what_is_no_part_of_the_server() {
        let key = |url| canonical(url).unwrap().to_string();
        assert_eq!(
            key("HTTPS://me:pw@Server.test:443/mcp#x"),
            "https://server.test/mcp"
        );
        assert_ne!(key("https://server.test/a"), key("https://server.test/b"));
        assert_ne!(
            key("https://server.test/?t=1"),
            key("https://server.test/?t=2")
        );
    }
}
