//! The record of a login: its server, client, issuer and endpoints.
//!
//! Invariant: tokens are looked up by resource and client, never by server name. Tokens of an issuer are sent back only
//! to that issuer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mux_http::token_endpoint::{ClientAuthMethod, ClientCredentials, TokenGrant};
use mux_secrets::{Secret, expose_optional};
use serde::{Deserialize, Serialize};
use url::Url;

use super::{account::LoginStatus, client_registration::RegisteredClient, identity};

/// A token that expires within this time, or within a quarter of its lifetime if that is shorter, counts as expired.
const TOKEN_EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// The key by which a login is looked up.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub(super) struct LoginKey {
    /// The canonical URL of the server.
    pub(super) resource: String,
    /// The client that the user registered, if any.
    pub(super) client: Option<String>,
    /// A hash of the client secret, which distinguishes entries with different secrets.
    pub(super) proof: Option<String>,
    /// The `account` of the entry, which distinguishes logins at one server.
    pub(super) account: Option<String>,
}

impl LoginKey {
    /// True if the user registered this client, which then belongs to one issuer.
    pub(super) fn is_own_client(&self) -> bool {
        self.client.is_some() || self.proof.is_some()
    }

    /// The key of the client that the user registered. Accounts of several users share it.
    pub(super) fn of_client(&self) -> Self {
        Self {
            account: None,
            ..self.clone()
        }
    }

    /// A hash that represents a client secret.
    pub(super) fn proof(secret: &Secret) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("muxd 2026-11 secret of an OAuth client");
        hasher.update(secret.expose().as_bytes());
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

/// A login without its secrets.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct LoginRecord {
    pub(super) issuer: String,
    #[serde(flatten)]
    pub(super) key: LoginKey,
    pub(super) client_id: String,
    /// The user who has signed in, according to the authorization server.
    pub(super) who: Option<String>,
    /// The ID of the login whose refresh token this login uses, if it has none itself.
    pub(super) shares: Option<String>,
    /// The redirect URL, to which a registration is bound.
    pub(super) redirect: String,
    /// The `resource` for which tokens are requested (RFC 8707).
    pub(super) audience: String,
    /// The resources for which the sign-in was granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) resources: Vec<String>,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    /// True if a server in a private network named these endpoints. Absent in records of versions that did not store
    /// this.
    pub(super) private: Option<bool>,
    /// The client's authentication method.
    pub(super) client_auth: Option<ClientAuthMethod>,
    /// Version 0.1.0 wrote this instead of `client_auth`: the secret is sent in the body.
    #[serde(default, skip_serializing)]
    pub(super) secret_in_body: bool,
    /// The scopes that the client of muxd's registration may request.
    pub(super) registered_scopes: Option<Vec<String>>,
    /// The scopes for which the registration was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) registration_scopes: Vec<String>,
    /// The expiry of the registration, in seconds since 1970.
    pub(super) client_expires_at: Option<u64>,
    /// The granted scopes.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// Further scopes that the server has requested since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted: Vec<String>,
    /// Seconds since 1970.
    pub(super) received_at: u64,
    pub(super) expires_in: Option<u64>,
    /// Set if there is a refresh token.
    #[serde(default)]
    pub(super) refreshable: bool,
    /// The reason the login has ended.
    pub(super) ended: Option<String>,
    /// The resource of another server for which its refresh token was presented in vain.
    pub(super) presented_for: Option<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct LoginSecrets {
    #[serde(serialize_with = "expose_optional")]
    pub(super) access: Option<Secret>,
    #[serde(serialize_with = "expose_optional")]
    pub(super) refresh: Option<Secret>,
    #[serde(serialize_with = "expose_optional")]
    pub(super) client: Option<Secret>,
}

impl LoginRecord {
    /// An ID of hexadecimal digits.
    pub(super) fn id(&self) -> String {
        let client = self.key.client.as_deref().unwrap_or_default();
        let mut identity = vec![&*self.issuer, &*self.key.resource, client];
        identity.extend(self.key.proof.as_deref());
        // A proof has no space.
        let account = self.key.account.as_ref();
        let account = account.map(|account| format!("account {account}"));
        identity.extend(account.as_deref());
        let identity = identity.join("\n");
        blake3::hash(identity.as_bytes()).to_hex()[..32].to_owned()
    }

    /// Returns true if the client is the entry's own.
    pub(super) fn is_of_own_client(&self) -> bool {
        self.key.client.as_ref() == Some(&self.client_id)
    }

    /// Drops the registration of a client that muxd registered: without a redirect URL, the next login registers a new
    /// client.
    pub(super) fn unregister(&mut self) {
        if !self.is_of_own_client() {
            self.redirect.clear();
        }
    }

    /// The client that muxd registered.
    pub(super) fn registered_client(&self, secrets: &LoginSecrets) -> RegisteredClient {
        RegisteredClient {
            credentials: self.credentials(secrets.client.clone(), None),
            scopes: self.registered_scopes.clone(),
            asked: self.registration_scopes.clone(),
            expires_at: self.client_expires_at,
        }
    }

    /// The client at the token endpoint, with its secret and its entry's method.
    pub(super) fn credentials(
        &self,
        secret: Option<Secret>,
        method: Option<ClientAuthMethod>,
    ) -> ClientCredentials {
        let earlier = if self.secret_in_body {
            ClientAuthMethod::ClientSecretPost
        } else {
            ClientAuthMethod::ClientSecretBasic
        };
        let method = method.or(self.client_auth).unwrap_or(earlier);
        ClientCredentials {
            id: self.client_id.clone(),
            method: secret.as_ref().map_or(ClientAuthMethod::None, |_| method),
            secret,
        }
    }

    /// Returns true if the sign-in was granted for this resource.
    pub(super) fn is_granted_for(&self, resource: &str) -> bool {
        self.resources
            .iter()
            .any(|granted| is_same_resource(granted, resource))
    }

    pub(super) fn status(&self) -> LoginStatus {
        if self.ended.is_some() {
            LoginStatus::Required
        } else {
            LoginStatus::SignedIn
        }
    }

    /// The seconds since the access token was issued.
    pub(super) fn age(&self) -> u64 {
        now().saturating_sub(self.received_at)
    }

    /// The remaining lifetime of the access token. `None` if unknown.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let lifetime = self.expires_in?;
        // A clock that was set back must not extend the lifetime.
        Some(Duration::from_secs(lifetime.saturating_sub(self.age())))
    }

    /// True if the access token should be refreshed.
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

    /// Takes over granted tokens. If the grant has no scopes, the requested scopes count as granted. If it has no
    /// refresh token, the old one stays.
    pub(super) fn take(&mut self, secrets: &mut LoginSecrets, grant: TokenGrant, asked: &[String]) {
        self.scopes = grant.scopes.unwrap_or_else(|| asked.to_vec());
        let token = grant.id_token.as_ref();
        let who = token
            .and_then(|token| identity::of_id_token(token, &self.issuer, &self.client_id))
            .or(grant.who);
        self.who = who.or(self.who.take());
        self.received_at = now();
        self.expires_in = grant.expires_in;
        secrets.access = Some(grant.access);
        if grant.refresh.is_some() {
            secrets.refresh = grant.refresh;
        }
        self.refreshable = secrets.refresh.is_some() || self.shares.is_some();
        (self.ended, self.presented_for) = (None, None);
    }
}

/// Compares two resources. A final slash does not count.
pub(super) fn is_same_resource(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// The canonical URL of a server: without fragment, user name and password.
pub(super) fn canonical(url: &str) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some(url)
}

/// The union of two lists, in order, without duplicates.
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
                ..LoginKey::default()
            },
            client_id: "client".into(),
            redirect: "http://127.0.0.1:1/callback".into(),
            audience: "https://server.test/mcp".into(),
            token_endpoint: "https://issuer.test/token".into(),
            scopes: vec!["read".into()],
            received_at: now() - age,
            expires_in,
            refreshable: true,
            ..LoginRecord::default()
        }
    }

    #[test]
    fn token_is_stale_before_it_expires() {
        for (expires_in, age, stale, over) in [
            (None, 1_000_000, false, false),
            (Some(3600), 10, false, false),
            (Some(3600), 3575, true, false),
            (Some(3600), 3600, true, true),
            // A short lifetime has a short margin, or the token would be stale immediately.
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
    fn missing_refresh_token_and_scopes_keep_the_old_ones() {
        let mut record = record(None, 0);
        let mut secrets = LoginSecrets {
            refresh: Some(Secret::new("r1")),
            ..LoginSecrets::default()
        };
        let grant = |access: &str, refresh: Option<&str>, scopes: Option<&[&str]>| TokenGrant {
            access: Secret::new(access),
            refresh: refresh.map(Secret::new),
            expires_in: None,
            scopes: scopes.map(|all| all.iter().map(|scope| (*scope).to_owned()).collect()),
            id_token: None,
            who: None,
        };
        let asked = ["read".to_owned()];
        record.take(&mut secrets, grant("a2", None, None), &asked);
        assert_eq!(secrets.refresh, Some(Secret::new("r1")));
        assert_eq!(record.scopes, asked);
        let rotated = grant("a3", Some("r2"), Some(&["a", "b"]));
        record.take(&mut secrets, rotated, &asked);
        assert_eq!(secrets.refresh, Some(Secret::new("r2")));
        assert_eq!(record.scopes, ["a", "b"]);
    }

    #[test]
    fn record_of_an_earlier_version_keeps_its_client_authentication() {
        let mut kept = serde_json::to_value(record(None, 0)).unwrap();
        for (in_body, method) in [
            (true, ClientAuthMethod::ClientSecretPost),
            (false, ClientAuthMethod::ClientSecretBasic),
        ] {
            kept["secret_in_body"] = in_body.into();
            let record: LoginRecord = serde_json::from_value(kept.clone()).unwrap();
            let with_secret = record.credentials(Some(Secret::new("s")), None);
            assert_eq!(with_secret.method, method);
            assert_eq!(
                record.credentials(None, None).method,
                ClientAuthMethod::None
            );
        }
    }

    #[test]
    fn canonical_url_drops_user_info_and_fragment() {
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
