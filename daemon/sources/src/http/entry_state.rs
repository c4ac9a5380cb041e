//! The state of an entry that survives a new description or session: its rate limiter, its tokens and its request
//! count.
//!
//! Invariant: a token is sent only to the API for which it was fetched, and is masked as long as it is held.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicU64},
};

use parking_lot::Mutex;
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
    /// The addresses that the description may name.
    pub(crate) policy: AddressPolicy,
    held: Mutex<TokenCache>,
}

/// Tokens of the entry, and the mask that hides them. `EntryState::held` guards them.
#[derive(Debug, Default)]
struct TokenCache {
    /// The URL of the API. At another URL the tokens are discarded.
    base: String,
    mask: Option<Arc<SecretMask>>,
    tokens: HashMap<TokenCacheKey, Arc<TokenFetcher>>,
}

/// Token URL, scopes, client ID and client secret.
type TokenCacheKey = (String, Vec<String>, String, String);

/// The address policy of a description: public addresses, addresses in the class of its own address, and addresses that
/// the entry names. A file is on this machine because the user put it there, so it may name local addresses.
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

    /// The mask for the API at `base`.
    pub(super) fn mask(&self, base: &str, make: impl FnOnce() -> SecretMask) -> Arc<SecretMask> {
        let mut held = self.held.lock();
        if held.base != base {
            *held = TokenCache {
                base: base.to_owned(),
                ..TokenCache::default()
            };
        }
        Arc::clone(held.mask.get_or_insert_with(|| Arc::new(make())))
    }

    /// The tokens of this client at the API with which [`Self::mask`] was last called.
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
        if let Some(tokens) = self.held.lock().tokens.get(&login) {
            return Ok(Arc::clone(tokens));
        }
        let tokens = make()?;
        self.held.lock().tokens.insert(login, Arc::clone(&tokens));
        Ok(tokens)
    }
}
