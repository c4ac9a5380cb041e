//! Where functions may be called, and where the credentials of an entry may go: its headers, its `auth`, and what is
//! fetched with them.
//!
//! A description says where functions are called and where tokens come from, and whoever writes it may say something
//! else tomorrow. So credentials go to what the user has named, and to what was named when he took the description.
//!
//! Invariant: what a description says later adds nothing to this.

use std::collections::BTreeSet;

use url::Url;

use crate::CallFailure;
use mux_http::address_policy::{AddressClass, AddressRefusal};
use mux_settings::SourceDefinition;

/// Each as `https://host`, with a port where it is no usual one.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedOrigins {
    source: String,
    /// Those that the entry lists, for the line to write.
    listed: Vec<String>,
    calls: BTreeSet<String>,
    /// Only for calls without credentials.
    bare_calls: BTreeSet<String>,
    /// Only for what tokens are fetched with.
    tokens: BTreeSet<String>,
}

impl AllowedOrigins {
    /// Those that the entry itself lists.
    pub(crate) fn listed(source: &str, settings: &SourceDefinition) -> Self {
        Self {
            source: source.to_owned(),
            listed: settings.origins.clone(),
            calls: settings.origins.iter().cloned().collect(),
            bare_calls: BTreeSet::new(),
            tokens: BTreeSet::new(),
        }
    }

    /// Where functions may be called, though no credential goes there.
    pub(crate) fn with_bare_calls(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        self.bare_calls.extend(origins);
        self
    }

    pub(crate) fn with_calls(mut self, address: &str) -> Self {
        self.calls.extend(of(address));
        self
    }

    pub(crate) fn with_tokens(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        self.tokens.extend(origins);
        self
    }

    /// Whether anything may be called there.
    pub(super) fn may_be_called(&self, url: &Url) -> bool {
        self.have(url) || self.bare_calls.contains(&spelled(url))
    }

    pub(crate) fn have(&self, url: &Url) -> bool {
        self.calls.contains(&spelled(url))
    }

    pub(super) fn have_for_tokens(&self, url: &Url) -> bool {
        self.have(url) || self.tokens.contains(&spelled(url))
    }

    /// Why nothing is sent there.
    pub(super) fn withheld(&self, url: &Url) -> CallFailure {
        let origin = spelled(url);
        CallFailure::Credential {
            why: format!(
                "credentials of `{}` do not go to {origin}, which its description names and its entry does not",
                self.source
            ),
            fix: self.line(&origin),
        }
    }

    /// Why nothing is called there.
    pub(super) fn forbidden(&self, url: &Url, why: &str) -> CallFailure {
        let origin = spelled(url);
        CallFailure::Forbidden {
            why: format!("`{}` is not called at {origin}, which {why}", self.source),
            fix: self.line(&origin),
        }
    }

    /// The same for a class of network.
    pub(super) fn refused(&self, url: &Url, refused: AddressRefusal) -> CallFailure {
        match (self.forbidden(url, &refused.to_string()), refused) {
            // No line would help.
            (CallFailure::Forbidden { why, .. }, AddressRefusal::Class(AddressClass::Never)) => {
                let fix = format!(
                    "if the API is elsewhere, write in [sources.{}] of config.toml: base_url = \"https://…\"",
                    self.source
                );
                CallFailure::Forbidden { why, fix }
            }
            (failure, _) => failure,
        }
    }

    /// What a user writes who trusts it.
    pub(crate) fn line(&self, origin: &str) -> String {
        let all = self.listed.iter().map(String::as_str).chain([origin]);
        let all: Vec<String> = all.map(|origin| format!("\"{origin}\"")).collect();
        format!(
            "if you trust it, write in [sources.{}] of config.toml: origins = [{}]",
            self.source,
            all.join(", ")
        )
    }
}

/// Of an address that is http:// or https:// and has a host.
pub(crate) fn of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.as_ref().map(spelled)
}

fn spelled(url: &Url) -> String {
    url.origin().ascii_serialization()
}
