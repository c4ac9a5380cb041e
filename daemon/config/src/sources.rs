//! `[sources.NAME]`, as the user wrote it.

use std::collections::BTreeMap;

use super::{
    account_name::account_pattern,
    schema::{SOURCE_KEYS, duration, text},
};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Value;

use super::{ToolOverrideEntry, ToolsEntry, check_keys};

/// `[sources.NAME]`: an API whose description turns it into a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SourceEntry {
    /// The description, OpenAPI 3.0 or 3.1, JSON or YAML: a file (a relative path starts at your home) or an http(s)
    /// URL.
    pub openapi: Option<String>,
    /// The URL of a GraphQL endpoint.
    pub graphql: Option<String>,
    /// GraphQL only: a file or URL with the schema, as SDL or as the result of an introspection query.
    #[schemars(extend("x-default" = "introspection"))]
    pub schema: Option<String>,
    /// OpenAPI only: the address at which operations are called.
    #[schemars(extend("x-default" = "from the description"))]
    pub base_url: Option<String>,
    /// The values of the variables in the base URL.
    pub variables: BTreeMap<String, String>,
    /// Further origins that credentials may be sent to, such as `"https://uploads.example.com"`.
    pub origins: Vec<String>,
    /// Sent with every request.
    pub headers: BTreeMap<String, String>,
    /// Credentials, by security scheme name.
    pub auth: BTreeMap<String, CredentialEntry>,
    /// A label for the account, shown by `mux servers`.
    #[schemars(schema_with = "text", extend("pattern" = account_pattern()))]
    pub account: Option<String>,
    /// OpenAPI only: scopes of the tokens that muxd fetches.
    #[schemars(extend("x-default" = "what operations name"))]
    pub scopes: Option<Vec<String>>,
    /// Requests per time: a number, `/`, and `s`, `m`, `h` or `d`.
    #[schemars(extend("pattern" = r"^\s*[0-9]+\s*/\s*[smhd]\s*$", "x-default" = "unlimited"))]
    pub rate: Option<String>,
    /// Age at which a description from a URL is requested again.
    #[schemars(schema_with = "duration", extend("default" = "1d"))]
    pub refresh: Option<String>,
    /// GraphQL only: depth of the default selection.
    #[schemars(range(min = 1, max = 6), extend("default" = 2))]
    pub depth: Option<u32>,
    /// OpenAPI only: how many operations become functions, in the order of the description. Operations that
    /// `tools.exclude` matches do not count.
    #[schemars(range(min = 1, max = 50_000), extend("default" = 20_000))]
    pub max_functions: Option<usize>,
    /// Which tools are offered, and how.
    pub tools: ToolsEntry,
    /// Changes to individual tools, by tool name.
    #[schemars(with = "BTreeMap<String, ToolOverrideEntry>")]
    pub r#override: BTreeMap<String, Value>,
    /// `false` keeps the entry but disables it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Time a call may be silent.
    #[schemars(schema_with = "duration", extend("default" = "60s"))]
    pub call_timeout: Option<String>,
    /// Total time of one call.
    #[schemars(schema_with = "duration", extend("default" = "10m"))]
    pub total_timeout: Option<String>,
    /// Concurrent calls. Further calls wait in turn.
    #[schemars(range(min = 1, max = 256), extend("x-default" = "`limits.calls_per_server`"))]
    pub calls_at_once: Option<usize>,
    /// Calls to send once more if the answer was lost, by HTTP method or kind of operation.
    #[schemars(schema_with = "text", extend("enum" = ["never", "read_only", "idempotent"], "default" = "never"))]
    pub retry: Option<String>,
    /// The reaction to a changed tool definition.
    #[schemars(schema_with = "text", extend("enum" = ["refuse", "warn", "off"], "x-default" = "`pins.on_change`"))]
    pub pins: Option<String>,
    /// The reaction to a result that does not match the description.
    #[schemars(schema_with = "text", extend("enum" = ["error", "warn", "off"], "default" = "warn"))]
    pub check_results: Option<String>,
    /// `true` marks results as data where a model reads them as text.
    #[schemars(extend("x-default" = "`results.fence`"))]
    pub fence: Option<bool>,
    /// The reaction to a result that seems to contain a secret.
    #[schemars(schema_with = "text", extend("enum" = ["mask", "warn", "off"], "x-default" = "`results.secrets`"))]
    pub secrets: Option<String>,
}

/// The credential that is sent for a security scheme.
#[derive(Clone, Deserialize, JsonSchema, PartialEq)]
#[serde(untagged)]
pub enum CredentialEntry {
    /// A key, or a token.
    Text(String),
    Basic(BasicEntry),
}

#[derive(Clone, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BasicEntry {
    pub username: String,
    pub password: String,
}

impl SourceEntry {
    pub(super) fn read(value: Value) -> Result<Self, String> {
        check_keys(
            &value,
            &SOURCE_KEYS,
            "must be a table with `openapi` or `graphql`, as in [sources.NAME]",
        )?;
        super::deserialize_entry(value, "the entry")
    }

    /// The address of the description or endpoint, as written.
    pub fn address(&self) -> Option<&str> {
        self.openapi.as_deref().or(self.graphql.as_deref())
    }

    /// The values in which references are expanded.
    pub(super) fn expanded_values(&self) -> impl Iterator<Item = &str> {
        let credentials = self.auth.values().flat_map(|credential| match credential {
            CredentialEntry::Text(text) => [Some(text), None],
            CredentialEntry::Basic(basic) => [Some(&basic.username), Some(&basic.password)],
        });
        let fields = [&self.openapi, &self.graphql, &self.schema, &self.base_url];
        let tables = self.variables.values().chain(self.headers.values());
        let all = fields
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
