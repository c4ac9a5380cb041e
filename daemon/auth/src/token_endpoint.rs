//! Requests to the token and revocation endpoints: the exchange of a code, refresh, revocation, and the user's claims.
//!
//! `mux_http::token_endpoint` writes the requests and reads the tokens; here the errors are classified.
//! Invariant: no error repeats a token, a code or a secret.

use std::time::Duration;

use mux_http::{
    issuer_words,
    token_endpoint::{ClientCredentials, GrantError, TokenGrant, read_grant},
};
use mux_secrets::Secret;
use reqwest::StatusCode;
use serde_json::Value;
use url::Url;

use super::{
    auth_server_client::{AuthServerClient, AuthServerResponse},
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
        read_response(&response, &hidden)
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
        self.post_form(what, &url, client, fields).await
    }
}

fn read_response(
    response: &AuthServerResponse,
    secrets: &[&Secret],
) -> Result<TokenGrant, TokenRequestError> {
    if !response.status.is_success() {
        return Err(read_error(response, secrets));
    }
    read_grant(&response.body).map_err(|problem| match problem {
        GrantError::Refused(_) => read_error(response, secrets),
        GrantError::Malformed(why) => TokenRequestError::Malformed(why),
    })
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
            headers: axum::http::HeaderMap::default(),
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
        let read = |body: &str| read_response(&response(200, body), &[]);
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
