//! HTTP requests to an authorization server.
//!
//! Invariant: every address is checked, redirects are not followed to another origin, and the size and duration of
//! responses are limited.

use std::{sync::Arc, time::Duration};

use mux_http::{
    address_policy::{AddressPolicy, PartyNetwork, may_be_private, url_without_secrets},
    http_client::client_builder,
    issuer_words::{self, one_line_excerpt},
    proxies::used_proxy,
    response_body::read_body,
    token_endpoint::ClientCredentials,
};
use mux_secrets::Secret;
use mux_settings::NetworkSettings;
use mux_text::error_chain::error_causes;
use reqwest::{
    Client, RequestBuilder, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION},
    redirect,
};
use serde_json::{Map, Value};
use url::Url;

/// The timeout of a request to an authorization server.
pub(super) const AUTH_SERVER_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_RESPONSE_BYTES: usize = 1 << 20;
const MAX_REDIRECTS: usize = 10;

/// An HTTP client for the authorization server of one MCP server.
#[derive(Clone)]
pub(super) struct AuthServerClient {
    client: Client,
    policy: AddressPolicy,
    network: NetworkSettings,
}

/// The response to one request.
pub(super) struct AuthServerResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl AuthServerClient {
    /// Creates a client with the network settings of the MCP server, for the endpoints that the server, in this
    /// network, names.
    pub(super) async fn of(
        server: &Url,
        network: &NetworkSettings,
        party: PartyNetwork,
    ) -> Result<Self, String> {
        let proxies: Vec<String> = network.proxies().collect();
        // A proxy does not tell where the server is.
        let is_open = party == PartyNetwork::Unknown
            && used_proxy(network, server).is_none()
            && may_be_private(server).await;
        let party = match party {
            PartyNetwork::Unknown if !is_open => PartyNetwork::Elsewhere,
            party => party,
        };
        let policy = AddressPolicy::of_server(server, &proxies.into(), party);
        let client = client_builder(network, None)?
            .redirect(redirect::Policy::none())
            .timeout(AUTH_SERVER_TIMEOUT)
            .dns_resolver(Arc::new(policy.clone()))
            .build()
            .map_err(|error| error_causes(&error))?;
        Ok(Self {
            client,
            policy,
            network: network.clone(),
        })
    }

    /// The network from which the server answers, as far as its answers have shown it.
    pub(super) fn party_network(&self) -> PartyNetwork {
        self.policy.party_network()
    }

    /// Checks that a URL from the metadata may be used.
    pub(super) fn check_endpoint_url(&self, what: &str, url: &Url) -> Result<(), String> {
        let verdict = self.policy.check(url);
        verdict.map_err(|why| format!("its {what} {} {why}", url_without_secrets(url)))
    }

    /// A GET request whose redirects are not followed.
    pub(super) async fn get(
        &self,
        what: &str,
        url: &Url,
        accept: &str,
    ) -> Result<AuthServerResponse, String> {
        self.check_endpoint_url(what, url)?;
        let request = self.client.get(url.clone()).header(ACCEPT, accept);
        self.send(request).await
    }

    /// A GET request for a JSON document. Redirects are followed within its origin.
    pub(super) async fn get_document(
        &self,
        what: &str,
        url: &Url,
    ) -> Result<AuthServerResponse, String> {
        let mut url = url.clone();
        let mut redirects = 0;
        loop {
            let response = self.get(what, &url, "application/json").await?;
            match response.redirect_target(&url) {
                Some(target) if target.origin() == url.origin() && redirects < MAX_REDIRECTS => {
                    url = target;
                    redirects += 1;
                }
                _ => return Ok(response),
            }
        }
    }

    /// A GET request with a bearer token.
    pub(super) async fn get_with_token(
        &self,
        what: &str,
        url: &Url,
        token: &Secret,
        timeout: Duration,
    ) -> Result<AuthServerResponse, String> {
        self.check_endpoint_url(what, url)?;
        let request = self.client.get(url.clone());
        let request = request.header(ACCEPT, "application/json").timeout(timeout);
        self.send(request.bearer_auth(token.expose())).await
    }

    pub(super) async fn post_json(
        &self,
        what: &str,
        url: &Url,
        body: &Value,
    ) -> Result<AuthServerResponse, String> {
        self.check_endpoint_url(what, url)?;
        let request = self
            .client
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        self.send(request.body(body.to_string())).await
    }

    /// A POST request with form fields, authenticated as this client.
    pub(super) async fn post_form(
        &self,
        what: &str,
        url: &Url,
        client: &ClientCredentials,
        fields: &[(&str, &str)],
    ) -> Result<AuthServerResponse, String> {
        self.check_endpoint_url(what, url)?;
        self.send(client.request(&self.client, url, fields)).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<AuthServerResponse, String> {
        let response = request.send().await.map_err(|error| self.describe(error))?;
        let url = response.url();
        let peer = response.remote_addr().map(|address| address.ip());
        let peer = peer.filter(|_| used_proxy(&self.network, url).is_none());
        // Checked before any of its content is read.
        self.policy.note_answer(url, peer);
        let status = response.status();
        let headers = response.headers().clone();
        let body = read_body(response, MAX_RESPONSE_BYTES).await;
        let body = body.map_err(|error| one_line_excerpt(&error_causes(&error.without_url())))?;
        let body =
            body.ok_or_else(|| format!("its answer is longer than {MAX_RESPONSE_BYTES} bytes"))?;
        Ok(AuthServerResponse {
            status,
            headers,
            body,
        })
    }

    /// Describes a request without a response, with the proxy through which it went.
    fn describe(&self, error: reqwest::Error) -> String {
        let proxy = error.url().and_then(|url| used_proxy(&self.network, url));
        let why = one_line_excerpt(&error_causes(&error.without_url()));
        match proxy {
            Some(proxy) => format!("{why}, through {proxy}; {}", proxy.fix()),
            None => why,
        }
    }
}

impl AuthServerResponse {
    /// The members of the JSON object in the body.
    pub(super) fn members(&self) -> Option<Map<String, Value>> {
        issuer_words::json_members(&self.body)
    }

    /// The response with `***` for these secrets. If a text was cut before, part of a secret may remain.
    pub(super) fn without<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut text = String::from_utf8_lossy(&self.body).into_owned();
        for secret in secrets {
            text = secret.hidden_in(&text);
        }
        Self {
            status: self.status,
            headers: self.headers.clone(),
            body: text.into_bytes(),
        }
    }

    /// The target of a redirect.
    pub(super) fn redirect_target(&self, from: &Url) -> Option<Url> {
        let location = self.headers.get(LOCATION)?.to_str().ok()?;
        let target = from.join(location).ok()?;
        self.status.is_redirection().then_some(target)
    }

    /// Describes an unusable response: the status, the target of a redirect, and the words of the issuer.
    pub(super) fn describe(&self) -> String {
        let status = self.status;
        let location = self
            .headers
            .get(LOCATION)
            .filter(|_| status.is_redirection());
        let said = match location {
            Some(target) => {
                let target = String::from_utf8_lossy(target.as_bytes());
                let target = target.split('?').next().unwrap_or_default().to_owned();
                Some(format!("a redirect to {}", one_line_excerpt(&target)))
            }
            None => issuer_words::words_of(&self.body),
        };
        match said {
            Some(said) => format!("it answered {status}: {said}"),
            None => format!("it answered {status}"),
        }
    }
}
