//! An API at its address. All requests to the API are sent here.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use serde_json::Value;

use super::{
    ApiRequest, SecurityScheme,
    allowed_origins::AllowedOrigins,
    api_response::ApiResponse,
    call_result::{self, RequestInfo},
    entry_state::EntryState,
    request_credentials::CredentialSet,
    retry_policy,
    secret_mask::SecretMask,
    source_rate_limiter::SourceRateLimiter,
    token_fetcher::TokenFetcher,
};
use crate::{call_progress::CallProgress, source::CallFailure};
use mux_http::{
    address_policy::{AddressPolicy, url_without_secrets},
    http_client::client_builder,
};
use mux_messages::SourceNote;
use mux_settings::{NetworkSettings, SourceDefinition, SourceKind};
use mux_text::error_chain::error_causes;

const MAX_REDIRECTS: usize = 5;

/// The client for the functions of one source at one base URL. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ApiClient {
    pub(super) shared: Arc<ApiShared>,
    pub(super) base: Arc<str>,
}

/// The state that a source's clients share across base URLs.
pub(super) struct ApiShared {
    pub(super) source: String,
    /// The configuration key of the address.
    pub(super) key: &'static str,
    pub(super) client: Client,
    /// The entry's own headers.
    pub(super) headers: HeaderMap,
    pub(super) keys: CredentialSet,
    /// The origins for credentials and calls.
    pub(super) network: Arc<NetworkSettings>,
    pub(super) origins: AllowedOrigins,
    /// The addresses that the description may name.
    pub(super) policy: AddressPolicy,
    pub(super) rate: Option<Arc<SourceRateLimiter>>,
    pub(super) mask: Arc<SecretMask>,
    pub(super) requests: Arc<AtomicU64>,
}

impl ApiClient {
    /// `base` is the URL of functions without their own address. `origins` are the origins to which credentials may go.
    pub(crate) fn new(
        name: &str,
        settings: &SourceDefinition,
        (base, origins): (&str, AllowedOrigins),
        schemes: BTreeMap<String, SecurityScheme>,
        lasting: &EntryState,
    ) -> Result<Self, String> {
        let key = match settings.kind {
            SourceKind::OpenApi => "base_url",
            SourceKind::Graphql => "graphql",
        };
        let address = Url::parse(base)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                format!("the address of the API must be http:// or https:// and a host; write it as `{key}` in [sources.{name}]")
            })?;
        let headers = entry_headers(settings)?;
        let policy = lasting.policy.clone();
        let client = client_builder(&settings.network, None)?
            .redirect(redirect::Policy::custom(same_origin))
            // A name is judged by the addresses to which it resolves at the time of the call.
            .dns_resolver(Arc::new(policy.clone()))
            .build()
            .map_err(|error| {
                let why = error_causes(&error.without_url());
                format!("cannot create the HTTP client: {why}")
            })?;
        let mask = lasting.mask(base, || SecretMask::of(settings, base));
        let fetch = |url: &str, scopes: &[String], login: (&str, &str)| {
            let at = (&address, url, &origins);
            let scopes = settings.scopes.as_deref().unwrap_or(scopes);
            lasting.tokens((url, scopes, login), || {
                let client = (client.clone(), policy.clone(), &*settings.network);
                TokenFetcher::new(client, at, scopes, login, Arc::clone(&mask))
            })
        };
        let credentials = settings.credentials.clone();
        let keys = CredentialSet::new(name, schemes, credentials, headers.clone(), fetch)?;
        Ok(Self {
            base: base.into(),
            shared: Arc::new(ApiShared {
                source: name.to_owned(),
                key,
                client,
                headers,
                keys,
                network: Arc::clone(&settings.network),
                origins,
                policy,
                rate: lasting.rate.clone(),
                mask,
                requests: Arc::clone(&lasting.requests),
            }),
        })
    }

    /// The same API at another URL that its description names.
    pub(crate) fn at(&self, base: &str) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            base: base.into(),
        }
    }

    /// The security schemes that functions need but that have no credential.
    pub(crate) fn wanting<'a>(
        &self,
        securities: impl Iterator<Item = &'a [Vec<String>]>,
    ) -> Vec<String> {
        self.shared.keys.wanting(securities)
    }

    /// Problems with the entry's credentials.
    pub(crate) fn notes(&self) -> Vec<SourceNote> {
        let keys = &self.shared.keys;
        let notes = keys.idle().into_iter().chain(keys.withheld());
        let masked = |note: SourceNote| SourceNote {
            text: self.mask().words(&note.text),
            fix: note.fix.map(|fix| self.mask().words(&fix)),
        };
        notes.map(masked).collect()
    }

    /// The origin of the functions and the line to write, if they have credentials that must not go there.
    pub(crate) fn withheld(&self) -> Option<(String, String)> {
        let shared = &self.shared;
        let url = Url::parse(&self.base).ok()?;
        let has_any = shared.keys.any_given() || !shared.headers.is_empty();
        (has_any && !shared.origins.have(&url)).then(|| {
            let origin = url.origin().ascii_serialization();
            let line = shared.origins.line(&origin);
            (self.mask().words(&origin), self.mask().words(&line))
        })
    }

    /// The reason the functions cannot be called, and the line to write, if this is known before a call.
    pub(crate) fn forbidden(&self) -> Option<(String, String)> {
        let url = Url::parse(&self.base).ok()?;
        match self.allowed(&url) {
            Err(CallFailure::Forbidden { why, fix }) => {
                Some((self.mask().words(&why), self.mask().words(&fix)))
            }
            _ => None,
        }
    }

    /// Checks the origin and the network of a URL before something is sent there.
    pub(super) fn allowed(&self, url: &Url) -> Result<(), CallFailure> {
        let shared = &self.shared;
        if !shared.origins.may_be_called(url) {
            let why = "its description did not name when it was first read, and its entry does not";
            return Err(shared.origins.forbidden(url, why));
        }
        let verdict = shared.policy.check(url);
        verdict.map_err(|why| shared.origins.refused(url, why))
    }

    /// The number of requests that were sent.
    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn mask(&self) -> &SecretMask {
        &self.shared.mask
    }

    /// Calls a function. Returns an MCP `CallToolResult`.
    pub(crate) async fn call(
        &self,
        request: &ApiRequest,
        telling: &CallProgress,
    ) -> Result<Value, CallFailure> {
        let reply = self.send(request, telling).await?;
        Ok(self.result(request, &reply))
    }

    /// The result of a call with this response.
    pub(crate) fn result(&self, request: &ApiRequest, reply: &ApiResponse) -> Value {
        let asked = self.asked(request);
        if reply.status.is_success() {
            call_result::success(reply, &asked)
        } else {
            call_result::failure(reply, &asked, self.hint(request, reply).as_deref())
        }
    }

    fn hint(&self, request: &ApiRequest, reply: &ApiResponse) -> Option<String> {
        let keys = &self.shared.keys;
        match reply.status.as_u16() {
            status @ (401 | 403) => {
                let needs = keys.pick(&request.security).unwrap_or_default();
                match (needs.is_empty() && self.shared.headers.is_empty(), status) {
                    (false, 401) => Some(format!(
                        "the credential was refused; check {}",
                        keys.config_keys(needs)
                    )),
                    (false, _) => Some(format!(
                        "the credential does not allow it; see {}",
                        keys.config_keys(needs)
                    )),
                    (true, _) => None,
                }
            }
            429 | 503 => {
                let wait = retry_policy::wait(&reply.headers, std::time::SystemTime::now())?;
                Some(format!("it asks to retry after {wait:?}"))
            }
            _ => None,
        }
    }

    pub(super) fn asked<'a>(&'a self, request: &ApiRequest) -> RequestInfo<'a> {
        let mask = self.mask();
        RequestInfo {
            what: mask.words(&format!(
                "{} {}",
                request.method,
                if request.path.is_empty() {
                    self.shown()
                } else {
                    request.path.clone()
                }
            )),
            url: mask.words(&format!("{}{}", self.shown(), request.path)),
            mask,
        }
    }

    /// The base URL without user, password and query, for display.
    pub(super) fn shown(&self) -> String {
        let Ok(url) = Url::parse(&self.base) else {
            return self.shared.source.clone();
        };
        url_without_secrets(&url).trim_end_matches('/').to_owned()
    }
}

impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiClient")
            .field("source", &self.shared.source)
            .field("at", &self.shown())
            .finish_non_exhaustive()
    }
}

/// The headers of an entry, ready to be sent.
pub(crate) fn entry_headers(settings: &SourceDefinition) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        let name = HeaderName::try_from(name)
            .map_err(|_| format!("headers: {name:?} is not a header name"))?;
        let mut value = HeaderValue::from_str(value.expose())
            .map_err(|_| format!("headers: the value of {name} cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Follows redirects only within the origin, because the request carries credentials.
fn same_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().first().map(Url::origin);
    let stays = from.as_ref() == Some(&attempt.url().origin());
    if stays && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
