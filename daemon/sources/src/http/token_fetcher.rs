//! Fetches tokens with the OAuth 2 client credentials grant.
//!
//! Invariant: at most one token request is in flight, however many calls wait for it. The request continues if one of
//! them is cancelled.

use std::{fmt, sync::Arc, time::Duration};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use reqwest::{Client, StatusCode};
use tokio::time::{Instant, timeout};
use url::Url;

use super::{allowed_origins::AllowedOrigins, secret_mask::SecretMask};
use crate::source::CallFailure;
use mux_http::{
    address_policy::{AddressPolicy, AddressRefusal, refusal_in},
    issuer_words,
    proxies::{UsedProxy, used_proxy},
    response_body::read_body,
    token_endpoint::{ClientAuthMethod, ClientCredentials, GrantError, TokenGrant, read_grant},
};
use mux_secrets::Secret;
use mux_settings::NetworkSettings;
use mux_text::error_chain::{error_causes, excerpt};

/// The limit for one token request.
const TOKEN_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The lifetime of a token without `expires_in`.
const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_mins(5);
/// How long before its end a token counts as expired.
const TOKEN_EXPIRY_MARGIN: Duration = Duration::from_secs(30);
const MAX_TOKEN_RESPONSE_BYTES: usize = 1 << 20;
const INVALID_SCOPE: &str = "invalid_scope";
/// The error codes of RFC 6749.
const OAUTH_ERROR_CODES: [&str; 6] = [
    INVALID_SCOPE,
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
];

/// The tokens of one client at one token URL.
pub(super) struct TokenFetcher {
    client: Client,
    url: Url,
    /// The reason nothing may be sent to the token URL.
    withheld: Option<CallFailure>,
    policy: AddressPolicy,
    /// For the configuration line that an error proposes.
    origins: AllowedOrigins,
    scope: String,
    credentials: ClientCredentials,
    mask: Arc<SecretMask>,
    proxy: Option<UsedProxy>,
    held: Mutex<TokenState>,
}

type SharedTokenFetch = Shared<BoxFuture<'static, Result<Secret, TokenError>>>;

/// The current token, and the request for the next one. `TokenFetcher::held` guards both.
#[derive(Default)]
struct TokenState {
    token: Option<(Secret, Instant)>,
    fetching: Option<SharedTokenFetch>,
}

/// The reason there is no token.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum TokenError {
    #[error("{0}")]
    Refused(String),
    /// The server refused these scopes.
    #[error("{0}")]
    Scopes(String),
    #[error("{0}")]
    Elsewhere(CallFailure),
    #[error("{0}")]
    Unreachable(String),
}

/// The status and the OAuth error code, or an empty string for any other.
type TokenRefusal = (StatusCode, &'static str);

impl TokenError {
    pub(super) fn failure(self, scheme: &str, source: &str) -> CallFailure {
        match self {
            Self::Refused(why) => CallFailure::Credential {
                why: format!("there is no token for `{scheme}`: {why}"),
                fix: format!(
                    "check auth.{scheme} of [sources.{source}]: the client's id and secret"
                ),
            },
            Self::Scopes(why) => CallFailure::Credential {
                why: format!("there is no token for `{scheme}`: {why}"),
                fix: format!(
                    "in [sources.{source}] of config.toml: scopes = [\"…\"] with those that this client may have, or [] \
                     for its default ones"
                ),
            },
            Self::Elsewhere(failure) => failure,
            Self::Unreachable(why) => {
                CallFailure::Declined(format!("there is no token for `{scheme}`: {why}"))
            }
        }
    }
}

impl TokenFetcher {
    /// The token URL must be https if the API's own URL is, because the secret is sent there.
    pub(super) fn new(
        (client, policy, network): (Client, AddressPolicy, &NetworkSettings),
        (base, url, origins): (&Url, &str, &AllowedOrigins),
        scopes: &[String],
        (id, secret): (&str, &str),
        mask: Arc<SecretMask>,
    ) -> Result<Arc<Self>, String> {
        let url = base
            .join(url)
            .map_err(|_| "its token URL cannot be read".to_owned())?;
        if url.scheme() != "https" && !(url.scheme() == "http" && base.scheme() == "http") {
            return Err("its token URL is not https, and a secret is not sent there".into());
        }
        Ok(Arc::new(Self {
            client,
            proxy: used_proxy(network, &url),
            withheld: (!origins.have_for_tokens(&url)).then(|| origins.withheld(&url)),
            policy,
            origins: origins.clone(),
            url,
            scope: scopes.join(" "),
            credentials: ClientCredentials {
                id: id.to_owned(),
                secret: Some(secret.into()),
                method: ClientAuthMethod::ClientSecretBasic,
            },
            mask,
            held: Mutex::default(),
        }))
    }

    /// A token that has not expired, fetched if necessary.
    pub(super) async fn current(self: &Arc<Self>) -> Result<Secret, TokenError> {
        if let Some(failure) = &self.withheld {
            return Err(TokenError::Elsewhere(failure.clone()));
        }
        let verdict = self.policy.check(&self.url);
        verdict.map_err(|why| self.forbidden(why))?;
        let fetching = {
            let mut held = self.held.lock();
            if let Some((token, until)) = &held.token
                && Instant::now() < *until
            {
                return Ok(token.clone());
            }
            if let Some(fetching) = &held.fetching {
                fetching.clone()
            } else {
                let this = Arc::clone(self);
                let task = tokio::spawn(async move { this.fetched().await });
                let ending = |_| Err(TokenError::Unreachable("the daemon is ending".into()));
                let fetching = task.map(move |done| done.unwrap_or_else(ending));
                let fetching = fetching.boxed().shared();
                held.fetching = Some(fetching.clone());
                fetching
            }
        };
        fetching.await
    }

    fn forbidden(&self, why: AddressRefusal) -> TokenError {
        TokenError::Elsewhere(self.origins.refused(&self.url, why))
    }

    /// The reason no token can be fetched.
    pub(super) fn withheld(&self) -> Option<&CallFailure> {
        self.withheld.as_ref()
    }

    /// Discards this token, because the API has refused it.
    pub(super) fn stale(&self, token: &str) {
        let mut held = self.held.lock();
        if held
            .token
            .as_ref()
            .is_some_and(|(known, _)| known.expose() == token)
        {
            held.token = None;
        }
    }

    async fn fetched(&self) -> Result<Secret, TokenError> {
        let outcome = match timeout(TOKEN_REQUEST_TIMEOUT, self.ask()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(TokenError::Unreachable(format!(
                "{} did not answer within {TOKEN_REQUEST_TIMEOUT:?}",
                self.shown()
            ))),
        };
        let mut held = self.held.lock();
        held.fetching = None;
        let granted = outcome?;
        let lives = granted.expires_in.map(Duration::from_secs);
        let lives = lives.unwrap_or(DEFAULT_TOKEN_LIFETIME);
        let counted = lives.saturating_sub(TOKEN_EXPIRY_MARGIN).max(lives / 2);
        self.mask.remember(granted.access.expose());
        let until = Instant::now() + counted.min(Duration::from_hours(365 * 24));
        held.token = Some((granted.access.clone(), until));
        Ok(granted.access)
    }

    /// Requests a token with the secret in the `Authorization` header, and, if that fails, in the form.
    async fn ask(&self) -> Result<TokenGrant, TokenError> {
        let mut form = vec![("grant_type", "client_credentials")];
        if !self.scope.is_empty() {
            form.push(("scope", &self.scope));
        }
        match self.ask_as(&self.credentials, &form).await? {
            Ok(granted) => Ok(granted),
            Err((StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED, said))
                if said != INVALID_SCOPE =>
            {
                let in_form = ClientCredentials {
                    method: ClientAuthMethod::ClientSecretPost,
                    ..self.credentials.clone()
                };
                let again = self.ask_as(&in_form, &form).await?;
                again.map_err(|refusal| self.refused(refusal))
            }
            Err(refusal) => Err(self.refused(refusal)),
        }
    }

    fn refused(&self, (status, said): TokenRefusal) -> TokenError {
        let shown = self.shown();
        match said {
            INVALID_SCOPE => TokenError::Scopes(format!(
                "{shown} answers HTTP {status}, {INVALID_SCOPE}, to the scopes {:?}",
                excerpt(&self.scope)
            )),
            "" => TokenError::Refused(format!("{shown} answers HTTP {status}")),
            said => TokenError::Refused(format!("{shown} answers HTTP {status}, {said}")),
        }
    }

    async fn ask_as(
        &self,
        credentials: &ClientCredentials,
        form: &[(&str, &str)],
    ) -> Result<Result<TokenGrant, TokenRefusal>, TokenError> {
        let unreachable = |error: reqwest::Error| {
            if let Some(refused) = refusal_in(&error) {
                return self.forbidden(refused);
            }
            let why = error_causes(&error.without_url());
            let through = match &self.proxy {
                Some(proxy) => format!(" through {proxy}"),
                None => String::new(),
            };
            let text = format!("{} cannot be reached{through}: {why}", self.shown());
            TokenError::Unreachable(self.mask.words(&text))
        };
        let request = credentials.request(&self.client, &self.url, form);
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let answer = read_body(response, MAX_TOKEN_RESPONSE_BYTES).await;
        // A longer response contains no token either.
        let answer = answer.map_err(unreachable)?.unwrap_or_default();
        if !status.is_success() {
            return Ok(Err((status, reason(&answer))));
        }
        // The response may contain the token, so nothing of it is repeated.
        match read_grant(&answer) {
            Ok(granted) => Ok(Ok(granted)),
            Err(GrantError::Refused(error)) => Ok(Err((status, known_code(&error.code)))),
            Err(GrantError::Malformed(_)) => Err(TokenError::Refused(format!(
                "{} returned a response without a token",
                self.shown()
            ))),
        }
    }

    fn shown(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        excerpt(&self.mask.words(&format!(
            "{}://{host}{}",
            self.url.scheme(),
            self.url.path()
        )))
    }
}

/// The error code of RFC 6749 in a response.
fn reason(answer: &[u8]) -> &'static str {
    let members = issuer_words::members_or_fields(answer);
    let error = members.as_ref().and_then(issuer_words::error_in);
    error.map_or("", |error| known_code(&error.code))
}

/// Any other text than a code is not repeated, because it may contain the secret.
fn known_code(said: &str) -> &'static str {
    let mut known = OAUTH_ERROR_CODES.into_iter();
    known.find(|known| *known == said).unwrap_or_default()
}

impl fmt::Debug for TokenFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenFetcher")
            .field("at", &self.shown())
            .finish_non_exhaustive()
    }
}
