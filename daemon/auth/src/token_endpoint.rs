//! Requests to the token and revocation endpoints: the exchange of a code, refresh, revocation, and the user's claims.
//!
//! Answers are read leniently, because issuers write numbers as strings, scopes as lists, and errors with status 200.
//! Invariant: no error repeats a token, a code or a secret.

use std::time::Duration;

use mux_secrets::Secret;
use mux_settings::ClientAuthentication;
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::{
    auth_server_client::{AuthServerClient, AuthServerResponse},
    error::one_line_excerpt,
    issuer_words,
    login_record::{LoginRecord, LoginSecrets},
};

/// The timeout of the userinfo request, which delays the end of a login.
const USERINFO_TIMEOUT: Duration = Duration::from_secs(10);
/// The error codes for which a retry is useless: the codes of RFC 6749, 5.2, and GitHub's and Slack's codes for
/// `invalid_grant`.
const DEFINITIVE_ERRORS: [&str; 6] = [
    "invalid_grant",
    "invalid_client",
    "unauthorized_client",
    "bad_refresh_token",
    "invalid_refresh_token",
    "bad_verification_code",
];

/// The authentication method of a client at the token endpoint (RFC 7591, 2: `token_endpoint_auth_method`).
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum ClientAuthMethod {
    #[default]
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

/// A client at a token endpoint.
#[derive(Clone, Debug)]
pub(super) struct ClientCredentials {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) method: ClientAuthMethod,
}

/// The reason a request to the token or revocation endpoint failed.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum TokenRequestError {
    /// The token or client was rejected. A retry is useless.
    Rejected(String),
    /// The issuer has no token for the named resource (RFC 8707).
    WrongTarget(String),
    /// The issuer refused with another error of OAuth.
    Refused(String),
    /// The answer is not a valid OAuth answer.
    Malformed(String),
    /// The request failed.
    Failed(String),
}

/// The tokens in an answer.
#[derive(Clone, Debug)]
pub(super) struct TokenGrant {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) expires_in: Option<u64>,
    /// `None` if the grant equals the request.
    pub(super) scopes: Option<Vec<String>>,
    pub(super) id_token: Option<Secret>,
    /// The user who has signed in, for a token that was requested with the refresh token of another login.
    pub(super) who: Option<String>,
}

impl ClientAuthMethod {
    /// Parses a method name. `None` if muxd does not offer the method.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::Basic),
            "client_secret_post" => Some(Self::Post),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }
}

impl From<ClientAuthentication> for ClientAuthMethod {
    fn from(written: ClientAuthentication) -> Self {
        match written {
            ClientAuthentication::Basic => Self::Basic,
            ClientAuthentication::Post => Self::Post,
        }
    }
}

impl TokenRequestError {
    /// Returns true if the login can no longer get tokens. A login that shares the sign-in of another server has no
    /// refresh token for another attempt.
    pub(super) fn ends_login(&self, is_shared: bool) -> bool {
        match self {
            Self::Rejected(_) => true,
            Self::WrongTarget(_) | Self::Refused(_) => is_shared,
            Self::Malformed(_) | Self::Failed(_) => false,
        }
    }

    pub(super) fn into_words(self) -> String {
        match self {
            Self::Rejected(why)
            | Self::WrongTarget(why)
            | Self::Refused(why)
            | Self::Malformed(why)
            | Self::Failed(why) => why,
        }
    }
}

impl AuthServerClient {
    /// Requests tokens. Errors do not repeat `secrets`.
    pub(super) async fn request_token(
        &self,
        endpoint: &str,
        client: &ClientCredentials,
        fields: &[(&str, &str)],
        secrets: &[&Secret],
    ) -> Result<TokenGrant, TokenRequestError> {
        let sent = self.post_as_client("token endpoint", endpoint, client, fields);
        let response = sent.await.map_err(TokenRequestError::Failed)?;
        let mut hidden = secrets.to_vec();
        hidden.extend(&client.secret);
        read_grant(&response, &hidden)
    }

    /// Requests a new access token. The answer may replace the refresh token.
    pub(super) async fn refresh(
        &self,
        record: &LoginRecord,
        client: &ClientCredentials,
        token: &Secret,
    ) -> Result<TokenGrant, TokenRequestError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.expose()),
            ("resource", &record.audience),
        ];
        self.request_token(&record.token_endpoint, client, &fields, &[token])
            .await
    }

    /// Revokes the refresh token, or else the access token. `Err` says why it may still be valid.
    pub(super) async fn revoke(
        &self,
        endpoint: &str,
        client: &ClientCredentials,
        secrets: &LoginSecrets,
    ) -> Result<(), String> {
        let (token, hint) = match (&secrets.refresh, &secrets.access) {
            (Some(token), _) => (token, "refresh_token"),
            (None, Some(token)) => (token, "access_token"),
            (None, None) => return Ok(()),
        };
        let fields = [("token", token.expose()), ("token_type_hint", hint)];
        let sent = self.post_as_client("revocation endpoint", endpoint, client, &fields);
        let response = sent.await?;
        if response.status.is_success() {
            return Ok(());
        }
        let mut hidden = vec![token];
        hidden.extend(&client.secret);
        Err(read_error(&response, &hidden).into_words())
    }

    /// The claims of the user to whom a token belongs.
    pub(super) async fn userinfo(&self, endpoint: &str, token: &Secret) -> Result<Value, String> {
        let url = Url::parse(endpoint).map_err(|_| "its userinfo endpoint is not a URL")?;
        let what = "userinfo endpoint";
        let response = self
            .get_with_token(what, &url, token, USERINFO_TIMEOUT)
            .await?;
        if !response.status.is_success() {
            return Err(format!("it answered {}", response.status));
        }
        let claims = response.members();
        claims
            .map(Value::Object)
            .ok_or_else(|| "its answer is malformed".into())
    }

    async fn post_as_client(
        &self,
        what: &str,
        endpoint: &str,
        client: &ClientCredentials,
        fields: &[(&str, &str)],
    ) -> Result<AuthServerResponse, String> {
        let url = Url::parse(endpoint).map_err(|_| format!("its {what} is not a URL"))?;
        let mut fields = fields.to_vec();
        let mut basic = None;
        match (client.method, &client.secret) {
            (ClientAuthMethod::Basic, Some(secret)) => basic = Some((client.id.as_str(), secret)),
            (ClientAuthMethod::Post, Some(secret)) => {
                fields.push(("client_id", &client.id));
                fields.push(("client_secret", secret.expose()));
            }
            _ => fields.push(("client_id", &client.id)),
        }
        self.post_form(what, &url, &fields, basic).await
    }
}

fn read_grant(
    response: &AuthServerResponse,
    secrets: &[&Secret],
) -> Result<TokenGrant, TokenRequestError> {
    if !response.status.is_success() {
        return Err(read_error(response, secrets));
    }
    let malformed = |why: &str| TokenRequestError::Malformed(why.into());
    let members = issuer_words::members_or_fields(&response.body);
    let members = members.ok_or_else(|| malformed("its answer is neither JSON nor a form"))?;
    let text = |name: &str| {
        let text = members.get(name)?.as_str()?;
        (!text.is_empty()).then_some(text)
    };
    if issuer_words::error_in(&members).is_some() {
        return Err(read_error(response, secrets));
    }
    let access = text("access_token").ok_or_else(|| malformed("its answer has no access token"))?;
    // An answer without a type is treated as a bearer token, as the official SDKs do.
    let kind = text("token_type").filter(|kind| !kind.eq_ignore_ascii_case("bearer"));
    if let Some(kind) = kind {
        let kind = one_line_excerpt(kind);
        return Err(malformed(&format!(
            "it returned a token of the type {kind:?}, which is not a bearer token"
        )));
    }
    Ok(TokenGrant {
        access: Secret::new(access),
        refresh: text("refresh_token").map(Secret::new),
        expires_in: seconds(&members, "expires_in"),
        scopes: members.get("scope").and_then(list_of_words),
        id_token: text("id_token").map(Secret::new),
        who: None,
    })
}

/// A number of seconds, also as a string or with a fraction.
pub(super) fn seconds(members: &Map<String, Value>, name: &str) -> Option<u64> {
    let number = match members.get(name)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // Negative numbers become 0.
    number.is_finite().then_some(number as u64)
}

/// Words separated by spaces, or a list of strings.
pub(super) fn list_of_words(value: &Value) -> Option<Vec<String>> {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    match value {
        Value::String(text) => Some(words(text)),
        Value::Array(all) => Some(
            all.iter()
                .filter_map(Value::as_str)
                .flat_map(words)
                .collect(),
        ),
        _ => None,
    }
}

/// Reads an error response. RFC 6749, 5.2.
fn read_error(response: &AuthServerResponse, secrets: &[&Secret]) -> TokenRequestError {
    let response = response.without(secrets.iter().copied());
    let status = response.status;
    let mut members = issuer_words::members_or_fields(&response.body);
    for value in members.iter_mut().flat_map(|members| members.values_mut()) {
        issuer_words::hide_in(value, secrets);
    }
    let error = members.as_ref().and_then(issuer_words::error_in);
    let Some(error) = error else {
        return TokenRequestError::Failed(response.describe());
    };
    let words = error.words;
    // The answer of an overloaded issuer may be wrong.
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return TokenRequestError::Failed(format!("it answered {status}: {words}"));
    }
    match error.code.as_str() {
        code if DEFINITIVE_ERRORS.contains(&code) => TokenRequestError::Rejected(words),
        "invalid_target" => TokenRequestError::WrongTarget(words),
        "temporarily_unavailable" | "server_error" | "slow_down" | "ratelimited" => {
            TokenRequestError::Failed(words)
        }
        _ => TokenRequestError::Refused(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> AuthServerResponse {
        AuthServerResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers: Default::default(),
            body: body.into(),
        }
    }

    #[test]
    fn only_definitive_errors_are_rejections() {
        let token = Secret::new("r-1");
        let of = |status: u16, body: &str| read_error(&response(status, body), &[&token]);
        for error in DEFINITIVE_ERRORS {
            for status in [200, 400, 401] {
                let body = format!("{{\"error\":\"{error}\"}}");
                assert_eq!(of(status, &body), TokenRequestError::Rejected(error.into()));
            }
        }
        let wrong = TokenRequestError::WrongTarget("invalid_target".into());
        assert_eq!(of(400, "{\"error\":\"invalid_target\"}"), wrong);
        for (status, body) in [
            (500, "oh"),
            (503, "{\"error\":\"invalid_grant\"}"),
            (400, "<html>"),
            (429, "{\"error\":\"slow_down\"}"),
        ] {
            let error = of(status, body);
            assert!(
                matches!(error, TokenRequestError::Failed(_)),
                "{status} {body}"
            );
        }
        let body = "{\"error\":\"invalid_grant\",\"error_description\":\"r-1\\nis dead\"}";
        let hidden = TokenRequestError::Rejected("invalid_grant, *** is dead".into());
        assert_eq!(of(400, body), hidden);
    }

    #[test]
    fn grants_are_read_in_every_way_that_issuers_write_them() {
        let read = |body: &str| read_grant(&response(200, body), &[]);
        for (body, expires_in, scopes) in [
            (r#"{"access_token":"a","token_type":"Bearer"}"#, None, None),
            (
                r#"{"access_token":"a","token_type":"bearer","expires_in":"3600","scope":"x y"}"#,
                Some(3600),
                Some("x y"),
            ),
            (
                r#"{"access_token":"a","expires_in":12.5,"scope":["x","y"],"refresh_token":""}"#,
                Some(12),
                Some("x y"),
            ),
            (
                r#"{"access_token":"a","token_type":null,"expires_in":null,"scope":null,"error":null}"#,
                None,
                None,
            ),
            (
                r#"{"access_token":"a","expires_in":-5,"id_token":7}"#,
                Some(0),
                None,
            ),
            (
                "access_token=a&scope=x%20y&token_type=bearer",
                None,
                Some("x y"),
            ),
            ("\u{feff}{\"access_token\":\"a\"}\r\n", None, None),
        ] {
            let grant = read(body).unwrap();
            assert_eq!(grant.access, Secret::new("a"), "{body}");
            assert_eq!(grant.expires_in, expires_in, "{body}");
            assert_eq!(
                grant.scopes.map(|all| all.join(" ")).as_deref(),
                scopes,
                "{body}"
            );
            assert!(
                grant.refresh.is_none() && grant.id_token.is_none(),
                "{body}"
            );
        }
        for (body, error) in [
            (
                r#"{"error":"bad_verification_code","error_description":"it is expired"}"#,
                TokenRequestError::Rejected("bad_verification_code, it is expired".into()),
            ),
            (
                r#"{"access_token":"a","token_type":"DPoP"}"#,
                TokenRequestError::Malformed(
                    "it returned a token of the type \"DPoP\", which is not a bearer token".into(),
                ),
            ),
            (
                "{}",
                TokenRequestError::Malformed("its answer has no access token".into()),
            ),
            (
                "<p>Sign in</p>",
                TokenRequestError::Malformed("its answer is neither JSON nor a form".into()),
            ),
        ] {
            assert_eq!(read(body).unwrap_err(), error, "{body}");
        }
    }
}
