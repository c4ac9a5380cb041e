//! Tokens that are fetched with a client's id and secret.
//!
//! Invariant: one request for a token is on its way at a time, however many wait for it; whoever goes leaves it to
//! the others.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use reqwest::{
    Client, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde::Deserialize;
use tokio::time::{Instant, timeout};
use url::{Url, form_urlencoded};

use super::{mask::Mask, origins::Origins};
use crate::CallFailure;
use mux_http::address_policy::{AddressPolicy, Refused, refusal_in};
use mux_secrets::Secret;
use mux_text::error_chain::{causes, excerpt};

/// One request for a token.
const PATIENCE: Duration = Duration::from_secs(30);
/// A token that does not say how long it lives.
const UNSAID: Duration = Duration::from_secs(5 * 60);
/// So long before its end it counts as over.
const MARGIN: Duration = Duration::from_secs(30);
const LONGEST_ANSWER: usize = 1 << 20;
const INVALID_SCOPE: &str = "invalid_scope";
/// Why a token is refused.
const REASONS: [&str; 6] = [
    INVALID_SCOPE,
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
];

/// Of one client at one address.
pub(super) struct Tokens {
    client: Client,
    url: Url,
    /// Why nothing may be sent there.
    withheld: Option<CallFailure>,
    policy: AddressPolicy,
    /// For the line that a user writes.
    origins: Origins,
    scope: String,
    id: String,
    secret: Secret,
    mask: Arc<Mask>,
    held: Mutex<Held>,
}

type Fetching = Shared<BoxFuture<'static, Result<Secret, Problem>>>;

/// Guarded by `Tokens::held`.
#[derive(Default)]
struct Held {
    token: Option<(Secret, Instant)>,
    fetching: Option<Fetching>,
}

/// Why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("{0}")]
    Refused(String),
    /// It says so, of these.
    #[error("{0}")]
    Scopes(String),
    #[error("{0}")]
    Elsewhere(CallFailure),
    #[error("{0}")]
    Unreachable(String),
}

/// With the reason, if it is one of those that are known.
type Refusal = (StatusCode, &'static str);

#[derive(Deserialize)]
struct Granted {
    access_token: Secret,
    expires_in: Option<f64>,
}

impl Problem {
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
                     for its usual ones"
                ),
            },
            Self::Elsewhere(failure) => failure,
            Self::Unreachable(why) => {
                CallFailure::Declined(format!("there is no token for `{scheme}`: {why}"))
            }
        }
    }
}

impl Tokens {
    /// The secret goes to that address, which must be as safe as the API's own.
    pub(super) fn new(
        (client, policy): (Client, AddressPolicy),
        (base, url, origins): (&Url, &str, &Origins),
        scopes: &[String],
        (id, secret): (&str, &str),
        mask: Arc<Mask>,
    ) -> Result<Arc<Self>, String> {
        let url = base
            .join(url)
            .map_err(|_| "its token URL cannot be read".to_owned())?;
        if url.scheme() != "https" && !(url.scheme() == "http" && base.scheme() == "http") {
            return Err("its token URL is not https, and a secret is not sent there".into());
        }
        Ok(Arc::new(Self {
            client,
            withheld: (!origins.have_for_tokens(&url)).then(|| origins.withheld(&url)),
            policy,
            origins: origins.clone(),
            url,
            scope: scopes.join(" "),
            id: id.to_owned(),
            secret: secret.into(),
            mask,
            held: Mutex::default(),
        }))
    }

    /// One that lives, fetched now if need be.
    pub(super) async fn current(self: &Arc<Self>) -> Result<Secret, Problem> {
        if let Some(failure) = &self.withheld {
            return Err(Problem::Elsewhere(failure.clone()));
        }
        let verdict = self.policy.check(&self.url);
        verdict.map_err(|why| self.forbidden(why))?;
        let fetching = {
            let mut held = self.held();
            if let Some((token, until)) = &held.token
                && Instant::now() < *until
            {
                return Ok(token.clone());
            }
            match &held.fetching {
                Some(fetching) => fetching.clone(),
                None => {
                    let this = Arc::clone(self);
                    let task = tokio::spawn(async move { this.fetched().await });
                    let ending = |_| Err(Problem::Unreachable("the daemon is ending".into()));
                    let fetching = task.map(move |done| done.unwrap_or_else(ending));
                    let fetching = fetching.boxed().shared();
                    held.fetching = Some(fetching.clone());
                    fetching
                }
            }
        };
        fetching.await
    }

    fn forbidden(&self, why: Refused) -> Problem {
        Problem::Elsewhere(self.origins.refused(&self.url, why))
    }

    /// Why there will be none.
    pub(super) fn withheld(&self) -> Option<&CallFailure> {
        self.withheld.as_ref()
    }

    /// The API does not take this one any more.
    pub(super) fn stale(&self, token: &str) {
        let mut held = self.held();
        if held
            .token
            .as_ref()
            .is_some_and(|(known, _)| known.expose() == token)
        {
            held.token = None;
        }
    }

    async fn fetched(&self) -> Result<Secret, Problem> {
        let outcome = match timeout(PATIENCE, self.ask()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Problem::Unreachable(format!(
                "{} did not answer within {PATIENCE:?}",
                self.shown()
            ))),
        };
        let mut held = self.held();
        held.fetching = None;
        let granted = outcome?;
        let lives = granted.expires_in.map_or(UNSAID, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(UNSAID)
        });
        let counted = lives.saturating_sub(MARGIN).max(lives / 2);
        self.mask.remember(granted.access_token.expose());
        let until = Instant::now() + counted.min(Duration::from_secs(365 * 24 * 3600));
        held.token = Some((granted.access_token.clone(), until));
        Ok(granted.access_token)
    }

    /// With the client's secret as most want it, and then as the others do.
    async fn ask(&self) -> Result<Granted, Problem> {
        let mut form = vec![("grant_type", "client_credentials")];
        if !self.scope.is_empty() {
            form.push(("scope", &self.scope));
        }
        match self.ask_with(&form, true).await? {
            Ok(granted) => Ok(granted),
            Err((StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED, said))
                if said != INVALID_SCOPE =>
            {
                form.extend([
                    ("client_id", self.id.as_str()),
                    ("client_secret", self.secret.expose()),
                ]);
                let again = self.ask_with(&form, false).await?;
                again.map_err(|refusal| self.refused(refusal))
            }
            Err(refusal) => Err(self.refused(refusal)),
        }
    }

    fn refused(&self, (status, said): Refusal) -> Problem {
        let shown = self.shown();
        match said {
            INVALID_SCOPE => Problem::Scopes(format!(
                "{shown} answers HTTP {status}, {INVALID_SCOPE}, to the scopes {:?}",
                excerpt(&self.scope)
            )),
            "" => Problem::Refused(format!("{shown} answers HTTP {status}")),
            said => Problem::Refused(format!("{shown} answers HTTP {status}, {said}")),
        }
    }

    async fn ask_with(
        &self,
        form: &[(&str, &str)],
        basic: bool,
    ) -> Result<Result<Granted, Refusal>, Problem> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let mut request = self.client.post(self.url.clone());
        request = request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(body);
        if basic {
            let encoded = |text: &str| -> String {
                form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            let pair = format!("{}:{}", encoded(&self.id), encoded(self.secret.expose()));
            request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
        }
        let unreachable = |error: reqwest::Error| {
            if let Some(refused) = refusal_in(&error) {
                return self.forbidden(refused);
            }
            let why = self.mask.words(&causes(&error.without_url()));
            Problem::Unreachable(format!("{} cannot be reached: {why}", self.shown()))
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            answer.extend_from_slice(&chunk);
            if answer.len() > LONGEST_ANSWER {
                break;
            }
        }
        if !status.is_success() {
            return Ok(Err((status, reason(&answer))));
        }
        // Its text may hold the token: no word of it is repeated.
        let granted: Granted = serde_json::from_slice(&answer).map_err(|_| {
            Problem::Refused(format!("{} gives an answer without a token", self.shown()))
        })?;
        Ok(Ok(granted))
    }

    fn shown(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        excerpt(&self.mask.words(&format!(
            "{}://{host}{}",
            self.url.scheme(),
            self.url.path()
        )))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By RFC 6749. Another word is not repeated: it may be the secret.
fn reason(answer: &[u8]) -> &'static str {
    #[derive(Deserialize)]
    struct Said {
        error: String,
    }
    let said = serde_json::from_slice::<Said>(answer).map(|said| said.error);
    let known = REASONS.into_iter();
    let mut known = known.filter(|known| said.as_ref().is_ok_and(|said| said == known));
    known.next().unwrap_or_default()
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("at", &self.shown())
            .finish_non_exhaustive()
    }
}
