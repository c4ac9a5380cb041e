//! Finds the authorization server of an MCP server, and creates the authorization request for the user.
//!
//! rmcp does discovery (RFC 9728, RFC 8414, OpenID), registration (RFC 7591), PKCE and the exchange of the code.
//! Violations of the protocol that it accepts are refused here.
//! Invariant: metadata is checked before a client is registered or the user is redirected.

use mux_secrets::Secret;
use rmcp::transport::auth::{
    AuthError as Problem, AuthorizationManager, AuthorizationMetadata,
    AuthorizationMetadataSource as Source, OAuthClientConfig,
};
use serde_json::Value;
use tokio::time::timeout;
use tracing::debug;
use url::Url;

use super::{
    account::{Account, LoginCredentials},
    auth_server_client::{AUTH_SERVER_TIMEOUT, AuthServerClient, chain},
    error::{AuthError, one_line_excerpt},
    identity,
    issuer_bindings::is_same_issuer,
    login_record::{LoginRecord, LoginSecrets, TokenResponse, union},
};
const CLIENT_NAME: &str = "muxd";

/// The `oauth` settings of a server's entry.
#[derive(Clone, Debug, Default)]
pub(super) struct LoginOptions {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    /// The issuer of the client.
    pub(super) issuer: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) port: Option<u16>,
}

/// The authorization server that an MCP server names.
pub(super) struct DiscoveredIssuer {
    endpoints: AuthServerClient,
    manager: AuthorizationManager,
    source: Source,
    metadata: AuthorizationMetadata,
    pub(super) issuer: String,
}

/// An authorization request that waits for its response.
pub(super) struct AuthorizationRequest {
    manager: AuthorizationManager,
    pub(super) url: Url,
    /// The `state` parameter, which the response must contain.
    pub(super) state: Secret,
    record: LoginRecord,
    client_secret: Option<Secret>,
    asked: Vec<String>,
    endpoints: AuthServerClient,
    userinfo_endpoint: Option<String>,
}

/// Finds the authorization server of an MCP server.
pub(super) async fn discover(account: &Account) -> Result<DiscoveredIssuer, AuthError> {
    let endpoints = account.endpoints().await;
    let endpoints = endpoints.map_err(AuthError::Unavailable)?;
    let mut manager = endpoints
        .authorization_manager(&account.server)
        .await
        .map_err(AuthError::Unavailable)?;
    let challenge = account.challenge();
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref());
    let found = limited("its metadata", found).await?;
    check_metadata(&found.metadata, found.source, &endpoints)?;
    let metadata = found.metadata;
    manager.set_metadata(metadata.clone());
    let issuer = match &metadata.issuer {
        Some(issuer) => issuer.clone(),
        None => account.server.origin().ascii_serialization(),
    };
    Ok(DiscoveredIssuer {
        endpoints,
        manager,
        source: found.source,
        metadata,
        issuer,
    })
}

/// Finds the authorization server, registers a client if necessary, and creates the request.
pub(super) async fn question(
    account: &Account,
    terms: &LoginOptions,
    redirect: &str,
) -> Result<AuthorizationRequest, AuthError> {
    let DiscoveredIssuer {
        endpoints,
        mut manager,
        metadata,
        issuer,
        ..
    } = discover(account).await?;
    check_issuer(account, terms, &issuer).await?;
    let before = account.login().await;
    let before = before.filter(|login| login.record.issuer == issuer);
    let mut scopes = match terms.scopes.is_empty() {
        true => {
            let required = manager.select_initial_scopes(&[]).await;
            union(&required, &identity_scopes(&required, terms, &metadata))
        }
        false => terms.scopes.clone(),
    };
    if let Some(before) = &before {
        scopes = union(&scopes, &before.record.scopes);
        scopes = union(&scopes, &before.record.wanted);
    }
    let asked: Vec<&str> = scopes.iter().map(String::as_str).collect();

    let own = terms.client_id.as_deref();
    let own = own.filter(|id| is_usable(id, &metadata));
    let client = match (own, &before) {
        (Some(id), _) => client_config(id, redirect, terms.client_secret.as_ref()),
        // Reuse the registration if the redirect URL is the same, and the client's secret is known.
        (None, Some(before))
            if before.record.redirect == redirect && before.record.shares.is_none() =>
        {
            let secret = before.secrets.client.as_ref();
            client_config(&before.record.client_id, redirect, secret)
        }
        (None, _) => register(&mut manager, &metadata, redirect, &asked).await?,
    };
    // A secret from the entry is not stored.
    let client_secret = client.client_secret.clone().filter(|_| own.is_none());
    let client_secret = client_secret.map(Secret::new);
    let client_id = client.client_id.clone();
    manager.configure_client(client).map_err(map_rmcp_error)?;
    let url = manager
        .get_authorization_url(&asked)
        .await
        .map_err(map_rmcp_error)?;
    let mut url = Url::parse(&url)
        .map_err(|_| AuthError::Unfit("its authorization endpoint is not a URL".into()))?;
    if let Some(account) = &account.key.account {
        choose_account(&mut url, account);
    }
    let state = query_parameter(&url, "state").unwrap_or_default();
    let audience = query_parameter(&url, "resource");
    let record = LoginRecord {
        issuer,
        key: account.key.clone(),
        client_id,
        who: None,
        shares: None,
        redirect: redirect.to_owned(),
        audience: audience.unwrap_or_else(|| account.key.resource.clone()),
        token_endpoint: metadata.token_endpoint.clone(),
        revocation_endpoint: text(&metadata, "revocation_endpoint"),
        secret_in_body: wants_secret_in_body(&metadata),
        scopes: Vec::new(),
        wanted: Vec::new(),
        received_at: 0,
        expires_in: None,
        refreshable: false,
    };
    Ok(AuthorizationRequest {
        manager,
        url,
        state: Secret::new(state),
        record,
        client_secret,
        asked: scopes,
        endpoints,
        userinfo_endpoint: text(&metadata, "userinfo_endpoint"),
    })
}

impl DiscoveredIssuer {
    /// The audience of tokens for the MCP server, if it has metadata of its own (RFC 9728).
    pub(super) async fn audience(&mut self) -> Option<String> {
        if self.source != Source::ProtectedResourceMetadata {
            return None;
        }
        // rmcp tells it only in an authorization URL.
        let client = client_config(CLIENT_NAME, "http://127.0.0.1/callback", None);
        self.manager.configure_client(client).ok()?;
        let url = self.manager.get_authorization_url(&[]).await.ok()?;
        query_parameter(&Url::parse(&url).ok()?, "resource")
    }
}

impl AuthorizationRequest {
    pub(super) fn client_id(&self) -> &str {
        &self.record.client_id
    }

    pub(super) fn issuer(&self) -> &str {
        &self.record.issuer
    }

    /// Exchanges the code in the redirect for tokens.
    pub(super) async fn exchange_code(
        self,
        code: &Secret,
        issuer: Option<&str>,
    ) -> Result<LoginCredentials, AuthError> {
        let exchanged = self.manager.exchange_code_for_token_with_issuer(
            code.expose(),
            self.state.expose(),
            issuer,
        );
        let grant = limited("a token", exchanged).await.map_err(|error| {
            let hidden = |text: &str| code.hidden_in(&self.state.hidden_in(text));
            match error {
                AuthError::Denied(why) => AuthError::Denied(hidden(&why)),
                AuthError::Unfit(why) => AuthError::Unfit(hidden(&why)),
                AuthError::Unavailable(why) => AuthError::Unavailable(hidden(&why)),
                error => error,
            }
        })?;
        let grant = serde_json::to_value(&grant).unwrap_or_default();
        let grant = serde_json::from_value::<TokenResponse>(grant)
            .map_err(|_| "its answer is malformed".to_owned())
            .and_then(TokenResponse::check)
            .map_err(AuthError::Unfit)?;
        let (mut record, mut secrets) = (self.record, LoginSecrets::default());
        secrets.client = self.client_secret;
        record.take(&mut secrets, grant, &self.asked);
        if let (None, Some(endpoint), Some(token)) =
            (&record.who, &self.userinfo_endpoint, &secrets.access)
        {
            match self.endpoints.userinfo(endpoint, token).await {
                Ok(claims) => record.who = identity::of_claims(&claims),
                Err(why) => debug!(why, "the authorization server does not say who signed in"),
            }
        }
        Ok(LoginCredentials { record, secrets })
    }
}

/// The scopes with which an authorization server says who signs in, where it knows them. A client that the user
/// registered may not have them, and without other scopes they would take the place of the server's default ones.
fn identity_scopes(
    required: &[String],
    terms: &LoginOptions,
    metadata: &AuthorizationMetadata,
) -> Vec<String> {
    let supported = metadata.scopes_supported.as_deref().unwrap_or_default();
    let is_known = |scope: &&str| supported.iter().any(|known| known == scope);
    if required.is_empty() || terms.client_id.is_some() || !is_known(&"openid") {
        return Vec::new();
    }
    let scopes = ["openid", "email"].into_iter().filter(is_known);
    scopes.map(str::to_owned).collect()
}

/// Asks for a choice of the user: a browser is often signed in as another one already. Authorization servers ignore
/// parameters that they do not know (RFC 6749, 3.1).
fn choose_account(url: &mut Url, account: &str) {
    let mut query = url.query_pairs_mut();
    query.append_pair("prompt", "select_account");
    if account.contains('@') {
        query.append_pair("login_hint", account);
    }
}

async fn limited<T>(
    what: &str,
    asked: impl Future<Output = Result<T, Problem>>,
) -> Result<T, AuthError> {
    match timeout(AUTH_SERVER_TIMEOUT * 2, asked).await {
        Ok(outcome) => outcome.map_err(map_rmcp_error),
        Err(_) => {
            let limit = AUTH_SERVER_TIMEOUT * 2;
            Err(AuthError::Unavailable(format!(
                "{what} took longer than {limit:?}"
            )))
        }
    }
}

/// Checks requirements of the protocol that rmcp does not check.
fn check_metadata(
    metadata: &AuthorizationMetadata,
    source: Source,
    endpoints: &AuthServerClient,
) -> Result<(), AuthError> {
    let named = [
        (
            "authorization endpoint",
            Some(&metadata.authorization_endpoint),
        ),
        ("token endpoint", Some(&metadata.token_endpoint)),
        (
            "registration endpoint",
            metadata.registration_endpoint.as_ref(),
        ),
    ];
    for (what, endpoint) in named {
        let Some(endpoint) = endpoint else { continue };
        let url = Url::parse(endpoint)
            .map_err(|_| AuthError::Unfit(format!("its {what} is not a URL")))?;
        endpoints
            .check_endpoint_url(what, &url)
            .map_err(AuthError::Unfit)?;
    }
    let methods = metadata.code_challenge_methods_supported.as_deref();
    // Servers of the first revision of MCP have default endpoints in place of metadata.
    let silent = source == Source::LegacyEndpointFallback;
    let proves = methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"));
    match proves || silent {
        true => Ok(()),
        false => Err(AuthError::Unfit(
            "its authorization server does not offer PKCE with S256, without which a code can be stolen"
                .into(),
        )),
    }
}

/// Checks that a client that the user registered is only used with the issuer where it is registered. Otherwise a
/// server could name another issuer and get the client's ID and secret, or show the user its own login page.
async fn check_issuer(
    account: &Account,
    terms: &LoginOptions,
    found: &str,
) -> Result<(), AuthError> {
    let refused = |why: String| {
        Err(AuthError::ForeignIssuer {
            found: one_line_excerpt(found),
            why,
        })
    };
    if let Some(written) = &terms.issuer {
        return match is_same_issuer(written, found) {
            true => Ok(()),
            false => refused(format!("oauth.issuer of its entry is {written}")),
        };
    }
    if !account.key.is_own_client() {
        return Ok(());
    }
    match account.remembered_issuer().await? {
        Some(known) if is_same_issuer(&known, found) => Ok(()),
        Some(known) => refused(format!(
            "its client was used at {} until now",
            one_line_excerpt(&known)
        )),
        None if terms.client_secret.is_some() => {
            refused("its entry has a client_secret and no issuer".into())
        }
        None => Ok(()),
    }
}

/// Whether the client ID can be used. The URL of a client metadata document requires support of the authorization
/// server; without it, muxd registers a client if it can.
fn is_usable(client_id: &str, metadata: &AuthorizationMetadata) -> bool {
    let read = metadata
        .additional_fields
        .get("client_id_metadata_document_supported");
    let is_read = read.and_then(Value::as_bool) == Some(true);
    is_read || metadata.registration_endpoint.is_none() || !client_id.starts_with("https://")
}

fn client_config(id: &str, redirect: &str, secret: Option<&Secret>) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(id, redirect);
    match secret {
        Some(secret) => config.with_client_secret(secret.expose()),
        None => config,
    }
}

async fn register(
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    redirect: &str,
    scopes: &[&str],
) -> Result<OAuthClientConfig, AuthError> {
    if metadata.registration_endpoint.is_none() {
        return Err(AuthError::Unfit(
            "its authorization server does not support dynamic client registration: register muxd there, with the \
             redirect http://127.0.0.1:PORT/callback, and put oauth = { client_id = \"…\", port = PORT } \
             into the entry"
                .into(),
        ));
    }
    let registered = manager.register_client(CLIENT_NAME, redirect, scopes);
    limited("the registration", registered).await
}

/// Maps an error of rmcp to what it means for the user, with a shortened message.
fn map_rmcp_error(problem: Problem) -> AuthError {
    let why = chain(&problem);
    match problem {
        Problem::DiscoveryRequestFailed { .. } | Problem::HttpError(_) => {
            AuthError::Unavailable(why)
        }
        Problem::TokenExchangeFailed(why) if is_parser_message(&why) => {
            AuthError::Unfit(malformed("token endpoint"))
        }
        Problem::RegistrationFailed(why) if is_parser_message(&why) => {
            AuthError::Unfit(malformed("registration endpoint"))
        }
        Problem::TokenExchangeFailed(why) | Problem::RegistrationFailed(why) => {
            AuthError::Denied(one_line_excerpt(&why))
        }
        Problem::NoAuthorizationSupport => {
            AuthError::Unfit("it does not name an authorization server".into())
        }
        _ if is_parser_message(&why) => AuthError::Unfit(malformed("metadata")),
        _ => AuthError::Unfit(why),
    }
}

fn malformed(what: &str) -> String {
    format!(
        "its {what} gave an answer that OAuth does not have; is it another service, or a web page?"
    )
}

/// Whether a text of rmcp means that an answer cannot be read. It is no refusal then, and the parser's words mean nothing
/// to users.
fn is_parser_message(text: &str) -> bool {
    let parts = [
        " at line ",
        "missing field `",
        "invalid type: ",
        "invalid value: ",
        "Failed to parse server response",
        "error decoding response body",
        "unexpected response Content-Type",
        "empty response body",
    ];
    parts.iter().any(|part| text.contains(part))
}

fn query_parameter(url: &Url, name: &str) -> Option<String> {
    let found = url.query_pairs().find(|(key, _)| key == name)?;
    Some(found.1.into_owned())
}

fn text(metadata: &AuthorizationMetadata, name: &str) -> Option<String> {
    let found = metadata.additional_fields.get(name)?;
    found.as_str().map(str::to_owned)
}

/// Decides as rmcp does for the exchange of the code.
fn wants_secret_in_body(metadata: &AuthorizationMetadata) -> bool {
    let methods = metadata
        .additional_fields
        .get("token_endpoint_auth_methods_supported")
        .and_then(Value::as_array);
    let has = |name: &str| methods.is_some_and(|all| all.iter().any(|method| method == name));
    has("client_secret_post") && !has("client_secret_basic")
}
