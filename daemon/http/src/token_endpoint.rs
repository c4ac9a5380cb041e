//! Requests for tokens, and the tokens in the answers: for logins to MCP servers, and for APIs.
//!
//! Answers are read leniently, because issuers write numbers as strings, scopes as lists, and errors with status 200.
//!
//! Invariant: a secret is sent in the one place that its client's method names, and no error repeats a token.

use mux_secrets::Secret;
use mux_settings::ClientAuthentication;
use reqwest::{
    Client, RequestBuilder,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr};
use url::{Url, form_urlencoded};

use crate::issuer_words::{self, IssuerError, one_line_excerpt};

/// The authentication method of a client at the token endpoint (RFC 7591, 2: `token_endpoint_auth_method`).
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ClientAuthMethod {
    #[default]
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

/// A client at a token endpoint.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    pub id: String,
    pub secret: Option<Secret>,
    pub method: ClientAuthMethod,
}

/// The tokens in an answer.
#[derive(Clone, Debug)]
pub struct TokenGrant {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub expires_in: Option<u64>,
    /// `None` if the grant equals the request.
    pub scopes: Option<Vec<String>>,
    pub id_token: Option<Secret>,
    /// The user who has signed in, for a token that was requested with the refresh token of another login.
    pub who: Option<String>,
}

/// The reason a successful answer has no tokens.
#[derive(Debug, Eq, PartialEq)]
pub enum GrantError {
    /// The issuer refused with an error of OAuth.
    Refused(IssuerError),
    /// The answer is not a valid OAuth answer.
    Malformed(String),
}

impl ClientAuthMethod {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl From<ClientAuthentication> for ClientAuthMethod {
    fn from(written: ClientAuthentication) -> Self {
        match written {
            ClientAuthentication::Basic => Self::ClientSecretBasic,
            ClientAuthentication::Post => Self::ClientSecretPost,
        }
    }
}

impl ClientCredentials {
    /// A POST request with form fields, authenticated with the client's method.
    pub fn request(&self, client: &Client, url: &Url, fields: &[(&str, &str)]) -> RequestBuilder {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let mut request = client
            .post(url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        match (self.method, &self.secret) {
            (ClientAuthMethod::ClientSecretBasic, Some(secret)) => {
                // RFC 6749, 2.3.1: both are encoded before they are joined.
                let encode = |text: &str| -> String {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect()
                };
                request = request.basic_auth(encode(&self.id), Some(encode(secret.expose())));
            }
            (ClientAuthMethod::ClientSecretPost, Some(secret)) => {
                form.append_pair("client_id", &self.id)
                    .append_pair("client_secret", secret.expose());
            }
            _ => {
                form.append_pair("client_id", &self.id);
            }
        }
        request.body(form.finish())
    }
}

/// The tokens in the body of a successful answer.
pub fn read_grant(body: &[u8]) -> Result<TokenGrant, GrantError> {
    let malformed = |why: &str| GrantError::Malformed(why.into());
    let members = issuer_words::members_or_fields(body);
    let members = members.ok_or_else(|| malformed("its answer is neither JSON nor a form"))?;
    let text = |name: &str| {
        let text = members.get(name)?.as_str()?;
        (!text.is_empty()).then_some(text)
    };
    if let Some(error) = issuer_words::error_in(&members) {
        return Err(GrantError::Refused(error));
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
pub fn seconds(members: &Map<String, Value>, name: &str) -> Option<u64> {
    let number = match members.get(name)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // Negative numbers become 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    let seconds = number as u64;
    number.is_finite().then_some(seconds)
}

/// Words separated by spaces, or a list of strings.
pub fn list_of_words(value: &Value) -> Option<Vec<String>> {
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
