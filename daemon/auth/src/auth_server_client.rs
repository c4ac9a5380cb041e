//! Requests to an authorization server: token refresh and revocation, and the requests of rmcp.
//!
//! Invariant: redirects are not followed, and the size of responses is limited.

use std::{path::Path, sync::Arc, time::Duration};

use mux_secrets::Secret;
use reqwest::{
    Client, ClientBuilder, Request, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
    redirect,
};
use rmcp::transport::auth::{
    AuthorizationManager, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest,
};
use serde::Deserialize;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::{
    error::one_line_excerpt,
    login_record::{LoginRecord, LoginSecrets, TokenResponse},
};
use mux_http::{
    address_policy::{AddressPolicy, url_without_secrets},
    proxies::used_proxy,
    response_body::read_body,
};
use mux_settings::NetworkSettings;

/// The timeout of a request to an authorization server.
pub(super) const AUTH_SERVER_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of the question who has signed in, which delays the end of a login.
const USERINFO_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Creates an HTTP client with the user's proxies and certificates.
pub type HttpClientFactory = fn(&NetworkSettings, Option<&Path>) -> Result<ClientBuilder, String>;

/// Why a request to the token or revocation endpoint failed.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum TokenRequestError {
    /// The token or client was rejected: a retry will not help.
    Rejected(String),
    /// The server issues no token for the named resource (RFC 8707). The token stays valid for others.
    WrongTarget(String),
    /// The request failed, or its response is not usable.
    Failed(String),
}

/// An HTTP client for the authorization server of one MCP server.
#[derive(Clone)]
pub(super) struct AuthServerClient {
    client: Client,
    pub(super) policy: AddressPolicy,
    network: NetworkSettings,
}

#[derive(Deserialize)]
struct OAuthErrorResponse {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl AuthServerClient {
    /// Creates a client with the network settings of the MCP server.
    pub(super) async fn of(
        server: &Url,
        network: &NetworkSettings,
        make: HttpClientFactory,
    ) -> Result<Self, String> {
        let proxies: Vec<String> = network.proxies().collect();
        let policy = AddressPolicy::of_server(server, &proxies.into()).await;
        let client = make(network, None)?
            .redirect(redirect::Policy::none())
            .timeout(AUTH_SERVER_TIMEOUT)
            .dns_resolver(Arc::new(policy.clone()))
            .build()
            .map_err(|error| chain(&error))?;
        Ok(Self {
            client,
            policy,
            network: network.clone(),
        })
    }

    /// Checks that a URL from the metadata may be used.
    pub(super) fn check_endpoint_url(&self, what: &str, url: &Url) -> Result<(), String> {
        let verdict = self.policy.check(url);
        verdict.map_err(|why| format!("its {what} {} {why}", url_without_secrets(url)))
    }

    /// Creates the rmcp manager for discovery, registration and the exchange of the code.
    pub(super) async fn authorization_manager(
        &self,
        server: &Url,
    ) -> Result<AuthorizationManager, String> {
        let manager = match self.policy.allows_private() {
            // Only a manager created this way accepts a private address in metadata. It checks addresses as written
            // and reads at most 1 MiB, as we do. Proxies, certificates and the resolver are those of our client.
            true => AuthorizationManager::new_allowing_private_addresses(server.clone())
                .await
                .and_then(|mut manager| {
                    manager.with_client(self.client.clone())?;
                    Ok(manager)
                }),
            false => {
                let client = Arc::new(self.clone());
                AuthorizationManager::new_with_oauth_http_client(server.clone(), client).await
            }
        };
        manager.map_err(|error| chain(&error))
    }

    /// Requests a new access token. The response may replace the refresh token.
    pub(super) async fn refresh(
        &self,
        record: &LoginRecord,
        secrets: &LoginSecrets,
        token: &Secret,
    ) -> Result<TokenResponse, TokenRequestError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.expose()),
            ("resource", &record.audience),
        ];
        let endpoint = ("token endpoint", record.token_endpoint.as_str());
        let (status, body) = self
            .post(endpoint, &fields, record, secrets)
            .await
            .map_err(TokenRequestError::Failed)?;
        if status.is_success() {
            let grant = serde_json::from_slice::<TokenResponse>(&body)
                .map_err(|error| format!("line {}", error.line()))
                .and_then(TokenResponse::check);
            // The parser's message could repeat a token.
            return grant.map_err(|problem| {
                TokenRequestError::Failed(format!("its answer is malformed: {problem}"))
            });
        }
        Err(parse_token_error(status, &body, &[token]))
    }

    /// Revokes the refresh token, or else the access token. `Err` is why it may still be valid.
    pub(super) async fn revoke(
        &self,
        endpoint: &str,
        record: &LoginRecord,
        secrets: &LoginSecrets,
    ) -> Result<(), String> {
        let (token, hint) = match (&secrets.refresh, &secrets.access) {
            (Some(token), _) => (token, "refresh_token"),
            (None, Some(token)) => (token, "access_token"),
            (None, None) => return Ok(()),
        };
        let fields = [("token", token.expose()), ("token_type_hint", hint)];
        let endpoint = ("revocation endpoint", endpoint);
        let (status, body) = self.post(endpoint, &fields, record, secrets).await?;
        match status.is_success() {
            true => Ok(()),
            false => match parse_token_error(status, &body, &[token]) {
                TokenRequestError::Rejected(why)
                | TokenRequestError::WrongTarget(why)
                | TokenRequestError::Failed(why) => Err(why),
            },
        }
    }

    /// The claims of the user to whom a token belongs.
    pub(super) async fn userinfo(&self, endpoint: &str, token: &Secret) -> Result<Value, String> {
        let url = Url::parse(endpoint).map_err(|_| "its userinfo endpoint is not a URL")?;
        self.check_endpoint_url("userinfo endpoint", &url)?;
        let request = self.client.get(url).header(ACCEPT, "application/json");
        let request = request
            .timeout(USERINFO_TIMEOUT)
            .bearer_auth(token.expose());
        let sent = request.send().await;
        let response = sent.map_err(|error| self.describe(error))?;
        let status = response.status();
        let body = whole(response).await?;
        match status.is_success() {
            true => serde_json::from_slice(&body).map_err(|_| "its answer is malformed".into()),
            false => Err(format!("it answered {status}")),
        }
    }

    async fn post(
        &self,
        (what, endpoint): (&str, &str),
        fields: &[(&str, &str)],
        record: &LoginRecord,
        secrets: &LoginSecrets,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        let url = Url::parse(endpoint).map_err(|_| format!("its {what} is not a URL"))?;
        self.check_endpoint_url(what, &url)?;
        let mut fields = fields.to_vec();
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        match &secrets.client {
            Some(secret) if !record.secret_in_body => {
                // RFC 6749, 2.3.1: both are encoded before they are joined.
                let encoded = |text: &str| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let (id, secret) = (encoded(&record.client_id), encoded(secret.expose()));
                request = request.basic_auth(id, Some(secret));
            }
            Some(secret) => {
                fields.push(("client_id", &record.client_id));
                fields.push(("client_secret", secret.expose()));
            }
            None => fields.push(("client_id", &record.client_id)),
        }
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let sent = request.body(form).send().await;
        let response = sent.map_err(|error| self.describe(error))?;
        let status = response.status();
        Ok((status, whole(response).await?))
    }

    /// Describes a request without a response, with the proxy that it went through.
    fn describe(&self, error: reqwest::Error) -> String {
        let proxy = error.url().and_then(|url| used_proxy(&self.network, url));
        let why = chain(&error.without_url());
        match proxy {
            Some(proxy) => format!("{why}, through {proxy}; {}", proxy.fix()),
            None => why,
        }
    }

    async fn execute(&self, request: Request) -> Result<Response, String> {
        self.check_endpoint_url("address", request.url())?;
        let sent = self.client.execute(request).await;
        sent.map_err(|error| self.describe(error))
    }
}

/// rmcp sends its requests through this client, too.
impl OAuthHttpClient for AuthServerClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = Request::try_from(asked.request)?;
            let response = self.execute(request).await?;
            // rmcp takes a response with a buffered body.
            let (status, headers) = (response.status(), response.headers().clone());
            let body = whole(response).await?;
            let mut answer = http::Response::new(body);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}

async fn whole(response: Response) -> Result<Vec<u8>, String> {
    let body = read_body(response, MAX_RESPONSE_BYTES).await;
    let body = body.map_err(|error| chain(&error.without_url()))?;
    body.ok_or_else(|| format!("its answer is longer than {MAX_RESPONSE_BYTES} bytes"))
}

/// Parses an error response. RFC 6749, 5.2.
fn parse_token_error(status: StatusCode, body: &[u8], secrets: &[&Secret]) -> TokenRequestError {
    let Ok(refused) = serde_json::from_slice::<OAuthErrorResponse>(body) else {
        return TokenRequestError::Failed(format!("it answered {status}"));
    };
    let mut why = match refused.error_description.is_empty() {
        true => refused.error.clone(),
        false => format!("{}, {}", refused.error, refused.error_description),
    };
    for secret in secrets {
        why = secret.hidden_in(&why);
    }
    let why = one_line_excerpt(&why);
    let definitive = ["invalid_grant", "invalid_client", "unauthorized_client"];
    match &*refused.error {
        error if status.is_client_error() && definitive.contains(&error) => {
            TokenRequestError::Rejected(why)
        }
        "invalid_target" if status.is_client_error() => TokenRequestError::WrongTarget(why),
        _ => TokenRequestError::Failed(format!("it answered {status}: {why}")),
    }
}

/// The message of an error with those of its sources.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    one_line_excerpt(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_definitive_errors_are_rejections() {
        let token = Secret::new("r-1");
        let of = |status: u16, body: &str| {
            parse_token_error(
                StatusCode::from_u16(status).unwrap(),
                body.as_bytes(),
                &[&token],
            )
        };
        for error in ["invalid_grant", "invalid_client", "unauthorized_client"] {
            let body = format!("{{\"error\":\"{error}\"}}");
            assert_eq!(of(400, &body), TokenRequestError::Rejected(error.into()));
        }
        let body = "{\"error\":\"invalid_target\"}";
        let wrong = TokenRequestError::WrongTarget("invalid_target".into());
        assert_eq!(of(400, body), wrong);
        for (status, body) in [
            (500, "oh"),
            (503, "{\"error\":\"invalid_grant\"}"),
            (400, "<html>"),
            (429, "{\"error\":\"slow_down\"}"),
        ] {
            assert!(
                matches!(of(status, body), TokenRequestError::Failed(_)),
                "{status} {body}"
            );
        }
        let body = "{\"error\":\"invalid_grant\",\"error_description\":\"r-1\\nis dead\"}";
        assert_eq!(
            of(400, body),
            TokenRequestError::Rejected("invalid_grant, *** is dead".into())
        );
    }
}
