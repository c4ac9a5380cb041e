//! The credentials of a request, and the ways in which they are sent.
//!
//! Invariant: a request whose credential is missing is not sent.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mux_messages::SourceNote;
use mux_secrets::Secret;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use url::form_urlencoded;

use super::{SecurityScheme, token_fetcher::TokenFetcher};
use crate::source::CallFailure;
use mux_settings::SourceCredential;

/// The entry's credentials, by the security schemes of the description.
#[derive(Debug)]
pub(super) struct CredentialSet {
    source: String,
    schemes: BTreeMap<String, SecurityScheme>,
    credentials: BTreeMap<String, SourceCredential>,
    /// Fetchers for the schemes whose tokens are fetched.
    tokens: BTreeMap<String, Arc<TokenFetcher>>,
    /// The entry's own headers, one of which may be the credential.
    own: HeaderMap,
}

/// The credentials of one request, ready to be added to it.
#[derive(Debug, Default)]
pub(super) struct AppliedCredentials {
    pub(super) headers: HeaderMap,
    /// Names and values, percent-encoded.
    pub(super) query: Vec<(String, String)>,
    pub(super) cookies: Vec<(String, String)>,
    /// Fetched tokens in use, which may have become stale.
    pub(super) fetched: Vec<(Arc<TokenFetcher>, Secret)>,
}

impl CredentialSet {
    pub(super) fn new(
        source: &str,
        schemes: BTreeMap<String, SecurityScheme>,
        credentials: BTreeMap<String, SourceCredential>,
        own: HeaderMap,
        fetch: impl Fn(&str, &[String], (&str, &str)) -> Result<Arc<TokenFetcher>, String>,
    ) -> Result<Self, String> {
        let mut tokens = BTreeMap::new();
        for (name, scheme) in &schemes {
            if let SecurityScheme::ClientCredentials { token_url, scopes } = scheme
                && let Some(SourceCredential::Basic { username, password }) = credentials.get(name)
            {
                let fetched = fetch(token_url, scopes, (username, password.expose()));
                let fetched = fetched.map_err(|why| format!("auth.{name}: {why}"))?;
                tokens.insert(name.clone(), fetched);
            }
        }
        Ok(Self {
            source: source.to_owned(),
            schemes,
            credentials,
            tokens,
            own,
        })
    }

    /// The first alternative whose credentials are all given. An alternative without credentials comes last.
    pub(super) fn pick<'a>(
        &self,
        security: &'a [Vec<String>],
    ) -> Result<&'a [String], CallFailure> {
        let mut given = security
            .iter()
            .filter(|needs| !needs.is_empty() && needs.iter().all(|name| self.has(name)));
        if let Some(needs) = given.next() {
            return Ok(needs);
        }
        if security.is_empty() || security.iter().any(Vec::is_empty) {
            Ok(&[])
        } else {
            Err(self.missing(security))
        }
    }

    /// The security schemes that functions need but that have no credential.
    pub(super) fn wanting<'a>(
        &self,
        securities: impl Iterator<Item = &'a [Vec<String>]>,
    ) -> Vec<String> {
        let mut names: Vec<String> = securities
            .filter(|security| self.pick(security).is_err())
            .filter_map(|security| {
                let first = security.first()?;
                first.iter().find(|name| !self.has(name)).cloned()
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Entries of `auth` that no security scheme uses, each with the reason.
    pub(super) fn idle(&self) -> Vec<SourceNote> {
        let known: Vec<&str> = self.schemes.keys().map(String::as_str).collect();
        let names = self.credentials.keys();
        let idle = names.filter_map(|name| match self.schemes.get(name) {
            None if known.is_empty() => Some(SourceNote::with_fix(
                format!("auth.{name} is not used: the API describes no security scheme"),
                format!(
                    "write the header that it requires into [sources.{}] of config.toml, such as \
                     headers = {{ Authorization = \"Bearer ${{{}}}\" }}",
                    self.source,
                    self.variable(name)
                ),
            )),
            None => Some(SourceNote::with_fix(
                format!(
                    "auth.{name} is not used: the API's security schemes are {}",
                    known.join(", ")
                ),
                format!(
                    "name one of these in auth of [sources.{}] of config.toml",
                    self.source
                ),
            )),
            Some(_) if self.has(name) => None,
            Some(scheme) => {
                let must = format!("auth.{name} must be {}", shape(scheme));
                let fix = format!("correct it in [sources.{}] of config.toml", self.source);
                Some(SourceNote::with_fix(must, fix))
            }
        });
        idle.collect()
    }

    /// Notes on credentials whose token URL is at an origin that is not allowed.
    pub(super) fn withheld(&self) -> Vec<SourceNote> {
        let tokens = self.tokens.iter();
        let withheld = tokens.filter_map(|(name, tokens)| {
            let Some(CallFailure::Credential { why, fix }) = tokens.withheld() else {
                return None;
            };
            let text = format!("auth.{name} fetches no token: {why}");
            Some(SourceNote::with_fix(text, fix.clone()))
        });
        withheld.collect()
    }

    pub(super) fn any_given(&self) -> bool {
        !self.credentials.is_empty()
    }

    /// Makes the headers, query and cookies of these schemes. Waits for tokens that must be fetched.
    pub(super) async fn show(&self, names: &[String]) -> Result<AppliedCredentials, CallFailure> {
        let mut shown = AppliedCredentials::default();
        for name in names {
            let Some(scheme) = self.schemes.get(name) else {
                continue;
            };
            let Some(credential) = self.credentials.get(name) else {
                // One of the entry's headers is the credential.
                continue;
            };
            let authorization = match (scheme, credential) {
                (SecurityScheme::Header(header), SourceCredential::Text(text)) => {
                    let header = HeaderName::try_from(header.as_str()).map_err(|_| {
                        let why =
                            format!("the scheme `{name}` names {header:?}, which is not a header");
                        CallFailure::Declined(why)
                    })?;
                    shown
                        .headers
                        .insert(header, self.value(name, text.expose())?);
                    continue;
                }
                (SecurityScheme::Query(key), SourceCredential::Text(text)) => {
                    shown.query.push((encoded(key), encoded(text.expose())));
                    continue;
                }
                (SecurityScheme::Cookie(key), SourceCredential::Text(text)) => {
                    self.value(name, text.expose())?;
                    shown.cookies.push((key.clone(), text.expose().to_owned()));
                    continue;
                }
                (SecurityScheme::Basic, SourceCredential::Basic { username, password }) => {
                    let pair = format!("{username}:{}", password.expose());
                    format!("Basic {}", STANDARD.encode(pair))
                }
                (SecurityScheme::Basic, SourceCredential::Text(text)) => {
                    format!("Basic {}", STANDARD.encode(text.expose()))
                }
                (
                    SecurityScheme::Bearer | SecurityScheme::ClientCredentials { .. },
                    SourceCredential::Text(text),
                ) => format!("Bearer {}", text.expose()),
                (SecurityScheme::ClientCredentials { .. }, SourceCredential::Basic { .. }) => {
                    let Some(tokens) = self.tokens.get(name) else {
                        continue;
                    };
                    let token = tokens
                        .current()
                        .await
                        .map_err(|problem| problem.failure(name, &self.source))?;
                    let value = format!("Bearer {}", token.expose());
                    shown.fetched.push((Arc::clone(tokens), token));
                    value
                }
                (_, SourceCredential::Basic { .. }) => continue,
            };
            let value = self.value(name, &authorization)?;
            shown.headers.insert(AUTHORIZATION, value);
        }
        Ok(shown)
    }

    /// The configuration keys to check if the API refuses the credentials.
    pub(super) fn config_keys(&self, names: &[String]) -> String {
        let given = names
            .iter()
            .filter(|name| self.credentials.contains_key(*name));
        let config_keys: Vec<String> = given.map(|name| format!("auth.{name}")).collect();
        if config_keys.is_empty() {
            format!("`headers` of [sources.{}]", self.source)
        } else {
            format!("{} of [sources.{}]", config_keys.join(" and "), self.source)
        }
    }

    /// True if the scheme has a credential.
    fn has(&self, name: &str) -> bool {
        let Some(scheme) = self.schemes.get(name) else {
            return false;
        };
        match (scheme, self.credentials.get(name)) {
            (SecurityScheme::Basic, Some(SourceCredential::Text(text))) => {
                text.expose().contains(':')
            }
            (_, Some(SourceCredential::Text(_)))
            | (
                SecurityScheme::Basic | SecurityScheme::ClientCredentials { .. },
                Some(SourceCredential::Basic { .. }),
            ) => true,
            (_, Some(SourceCredential::Basic { .. })) => false,
            (SecurityScheme::Header(header), None) => self.own.contains_key(header.as_str()),
            (SecurityScheme::Cookie(_), None) => self.own.contains_key(COOKIE),
            (SecurityScheme::Query(_), None) => false,
            (_, None) => self.own.contains_key(AUTHORIZATION),
        }
    }

    fn missing(&self, security: &[Vec<String>]) -> CallFailure {
        let needs = |needs: &Vec<String>| {
            let names: Vec<String> = needs.iter().map(|name| format!("`{name}`")).collect();
            names.join(" and ")
        };
        let all: Vec<String> = security.iter().map(needs).collect();
        let first = security.first().into_iter().flatten();
        let lines: Vec<String> = first
            .filter(|name| !self.has(name))
            .map(|name| format!("{name} = {}", self.example(name)))
            .collect();
        CallFailure::Credential {
            why: format!(
                "the API requires the credential {}, which is not configured",
                all.join(" or ")
            ),
            fix: format!(
                "in [sources.{}] of config.toml: auth = {{ {} }}",
                self.source,
                lines.join(", ")
            ),
        }
    }

    /// The name of an environment variable for an example.
    fn variable(&self, name: &str) -> String {
        let words = format!("{}_{name}", self.source);
        let letters = words.chars().map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        });
        letters.collect()
    }

    fn example(&self, name: &str) -> String {
        let variable = self.variable(name);
        match self.schemes.get(name) {
            Some(SecurityScheme::Basic) => {
                format!("{{ username = \"…\", password = \"${{{variable}}}\" }}")
            }
            Some(SecurityScheme::ClientCredentials { .. }) => {
                format!("{{ username = \"CLIENT-ID\", password = \"${{{variable}}}\" }}")
            }
            _ => format!("\"${{{variable}}}\""),
        }
    }

    fn value(&self, name: &str, text: &str) -> Result<HeaderValue, CallFailure> {
        let mut value = HeaderValue::from_str(text).map_err(|_| CallFailure::Credential {
            why: format!("the credential `{name}` cannot be sent: it contains a line break or control character"),
            fix: format!("check {}", self.config_keys(&[name.to_owned()])),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

fn shape(scheme: &SecurityScheme) -> &'static str {
    match scheme {
        SecurityScheme::Basic => "{ username = \"…\", password = \"…\" }",
        SecurityScheme::ClientCredentials { .. } => {
            "a token, or { username = \"CLIENT-ID\", password = \"…\" }"
        }
        _ => "a string: the key or the token",
    }
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests;
