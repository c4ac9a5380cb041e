//! The origins at which functions may be called, and to which an entry's credentials may go: its headers, its `auth`,
//! and tokens fetched with them.
//!
//! A description names these origins, and its author may name other origins later. So credentials go only to origins
//! that the entry names, or that the description named when it was first read.
//!
//! Invariant: a later description adds no origin.

use std::collections::BTreeSet;

use url::Url;

use crate::source::CallFailure;
use mux_http::address_policy::{AddressClass, AddressRefusal};
use mux_settings::SourceDefinition;

/// Origins such as `https://host`, with a port if it is not the default port.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedOrigins {
    source: String,
    /// The origins that the entry lists, for the configuration line that an error proposes.
    listed: Vec<String>,
    calls: BTreeSet<String>,
    /// Origins for calls without credentials.
    bare_calls: BTreeSet<String>,
    /// Origins to which client credentials go for tokens.
    tokens: BTreeSet<String>,
}

impl AllowedOrigins {
    /// The origins that the entry itself lists.
    pub(crate) fn listed(source: &str, settings: &SourceDefinition) -> Self {
        Self {
            source: source.to_owned(),
            listed: settings.origins.clone(),
            calls: settings.origins.iter().cloned().collect(),
            bare_calls: BTreeSet::new(),
            tokens: BTreeSet::new(),
        }
    }

    /// Adds origins at which functions may be called without credentials.
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

    /// True if functions may be called there, with or without credentials.
    pub(super) fn may_be_called(&self, url: &Url) -> bool {
        self.have(url) || self.bare_calls.contains(&spelled(url))
    }

    pub(crate) fn have(&self, url: &Url) -> bool {
        self.calls.contains(&spelled(url))
    }

    pub(super) fn have_for_tokens(&self, url: &Url) -> bool {
        self.have(url) || self.tokens.contains(&spelled(url))
    }

    /// The error for credentials that must not go there.
    pub(super) fn withheld(&self, url: &Url) -> CallFailure {
        let origin = spelled(url);
        CallFailure::Credential {
            why: format!(
                "credentials of `{}` are not sent to {origin}, which its description names but its entry does not",
                self.source
            ),
            fix: self.line(&origin),
        }
    }

    /// The error for a call that must not go there.
    pub(super) fn forbidden(&self, url: &Url, why: &str) -> CallFailure {
        let origin = spelled(url);
        CallFailure::Forbidden {
            why: format!("`{}` is not called at {origin}, which {why}", self.source),
            fix: self.line(&origin),
        }
    }

    /// The error for an address that the policy refuses.
    pub(super) fn refused(&self, url: &Url, refused: AddressRefusal) -> CallFailure {
        match (self.forbidden(url, &refused.to_string()), refused) {
            // Listing the origin would not help.
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

    /// The configuration line that allows `origin`.
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

/// The origin of an `http` or `https` URL with a host.
pub(crate) fn of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.as_ref().map(spelled)
}

fn spelled(url: &Url) -> String {
    url.origin().ascii_serialization()
}
