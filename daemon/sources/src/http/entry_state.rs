//! What of an entry lasts when its description is read again, or its session is opened again: the line in which its
//! requests wait, the tokens that were fetched, and how many requests there were.
//!
//! Invariant: a token is shown only where it was fetched for, and is hidden by the same mask for as long as it is held.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
};

use reqwest::Url;

use super::{
    secret_mask::SecretMask, source_rate_limiter::SourceRateLimiter, token_fetcher::TokenFetcher,
};
use mux_http::address_policy::AddressPolicy;
use mux_settings::DescriptionLocation;

#[derive(Debug)]
pub(crate) struct EntryState {
    pub(super) rate: Option<Arc<SourceRateLimiter>>,
    pub(super) requests: Arc<AtomicU64>,
    /// What the description may name.
    pub(crate) policy: AddressPolicy,
    held: Mutex<TokenCache>,
}

/// Guarded by `Lasting::held`.
#[derive(Debug, Default)]
struct TokenCache {
    /// Where the API is called; at another address nothing of this counts.
    base: String,
    mask: Option<Arc<SecretMask>>,
    tokens: HashMap<TokenCacheKey, Arc<TokenFetcher>>,
}

/// Token URL, scopes, id and secret.
type TokenCacheKey = (String, Vec<String>, String, String);

/// A description names public addresses, those of the class of its own address, and what the entry names itself. A file
/// lies on this machine, where the user has put it: it may name local addresses.
fn policy(settings: &mux_settings::SourceDefinition) -> AddressPolicy {
    let mut policy = AddressPolicy::public(settings.network.proxies().collect());
    let url = |text: &str| Url::parse(text).ok();
    match &settings.description {
        Some(DescriptionLocation::File(_)) => policy.allow_local(),
        Some(DescriptionLocation::Url(address)) => {
            if let Some(address) = url(address) {
                policy.allow_class_of(&address);
            }
        }
        None => {}
    }
    if let Some(base) = settings.base_url.as_deref().and_then(url) {
        policy.allow_class_of(&base);
        policy.allow_origin(&base);
    }
    for origin in settings.origins.iter().filter_map(|origin| url(origin)) {
        policy.allow_origin(&origin);
    }
    policy
}

impl EntryState {
    pub(crate) fn new(settings: &mux_settings::SourceDefinition) -> Self {
        Self {
            rate: settings.rate.map(SourceRateLimiter::new).map(Arc::new),
            requests: Arc::default(),
            policy: policy(settings),
            held: Mutex::default(),
        }
    }

    /// Of what is secret where the API is called.
    pub(super) fn mask(&self, base: &str, make: impl FnOnce() -> SecretMask) -> Arc<SecretMask> {
        let mut held = self.held();
        if held.base != base {
            *held = TokenCache {
                base: base.to_owned(),
                ..TokenCache::default()
            };
        }
        Arc::clone(held.mask.get_or_insert_with(|| Arc::new(make())))
    }

    /// Those of this login at the address that [`Self::mask`] was told last.
    pub(super) fn tokens(
        &self,
        (url, scopes, (id, secret)): (&str, &[String], (&str, &str)),
        make: impl FnOnce() -> Result<Arc<TokenFetcher>, String>,
    ) -> Result<Arc<TokenFetcher>, String> {
        let login = (
            url.to_owned(),
            scopes.to_vec(),
            id.to_owned(),
            secret.to_owned(),
        );
        if let Some(tokens) = self.held().tokens.get(&login) {
            return Ok(Arc::clone(tokens));
        }
        let tokens = make()?;
        self.held().tokens.insert(login, Arc::clone(&tokens));
        Ok(tokens)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, TokenCache> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
