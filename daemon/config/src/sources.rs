//! `[sources.NAME]`, as the user wrote it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use super::{ToolsEntry, check_keys};

/// `[sources.NAME]`: an API whose description makes it a server like any other.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SourceEntry {
    /// An OpenAPI description, 3.0 or 3.1, JSON or YAML: a file, or an http(s) URL.
    pub openapi: Option<String>,
    /// The address of a GraphQL endpoint.
    pub graphql: Option<String>,
    /// Its schema, as SDL or as the answer to an introspection: a file or a URL. Otherwise the endpoint is asked.
    pub schema: Option<String>,
    /// In place of the address that the description names.
    pub base_url: Option<String>,
    /// Of that address.
    pub variables: BTreeMap<String, String>,
    /// Where credentials go beside that address, such as `"https://uploads.example.com"`.
    pub origins: Vec<String>,
    pub headers: BTreeMap<String, String>,
    /// By the name of a security scheme.
    pub auth: BTreeMap<String, CredentialEntry>,
    /// Those that a token is fetched for; otherwise all that operations name.
    pub scopes: Option<Vec<String>>,
    /// Requests in a time, such as `"10/s"` or `"5000/h"`.
    pub rate: Option<String>,
    /// How old a description from a URL may be before it is asked for again, such as `"1d"`.
    pub refresh: Option<String>,
    /// How deep a selection goes that a program leaves out.
    pub depth: Option<u32>,
    pub tools: ToolsEntry,
    pub enabled: Option<bool>,
    pub call_timeout: Option<String>,
    pub total_timeout: Option<String>,
    pub calls_at_once: Option<usize>,
    pub retry: Option<String>,
    pub pins: Option<String>,
    pub check_results: Option<String>,
}

/// What is sent for a security scheme.
#[derive(Clone, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum CredentialEntry {
    /// A key, or a token.
    Text(String),
    Basic(BasicEntry),
}

#[derive(Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BasicEntry {
    pub username: String,
    pub password: String,
}

impl SourceEntry {
    const KEYS: &[&str] = &[
        "openapi",
        "graphql",
        "schema",
        "base_url",
        "variables",
        "origins",
        "headers",
        "auth",
        "scopes",
        "rate",
        "refresh",
        "depth",
        "tools",
        "enabled",
        "call_timeout",
        "total_timeout",
        "calls_at_once",
        "retry",
        "pins",
        "check_results",
    ];

    pub(super) fn read(value: Value) -> Result<Self, String> {
        check_keys(
            &value,
            Self::KEYS,
            "must be a table with `openapi` or `graphql`, as in [sources.NAME]",
        )?;
        super::deserialize_entry(value, "the entry")
    }

    /// Where it is, as it was written.
    pub fn address(&self) -> Option<&str> {
        self.openapi.as_deref().or(self.graphql.as_deref())
    }

    /// Those that are expanded.
    pub(super) fn expanded_values(&self) -> impl Iterator<Item = &str> {
        let credentials = self.auth.values().flat_map(|credential| match credential {
            CredentialEntry::Text(text) => [Some(text), None],
            CredentialEntry::Basic(basic) => [Some(&basic.username), Some(&basic.password)],
        });
        let places = [&self.openapi, &self.graphql, &self.schema, &self.base_url];
        let tables = self.variables.values().chain(self.headers.values());
        let all = places
            .into_iter()
            .flatten()
            .chain(&self.origins)
            .chain(tables);
        all.chain(credentials.flatten()).map(String::as_str)
    }
}

impl std::fmt::Debug for CredentialEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CredentialEntry")
    }
}
