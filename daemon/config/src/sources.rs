//! `[sources.NAME]`, as the user wrote it.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use super::{
    account_name::{account_name, account_pattern},
    parse_errors::wrong_value,
    schema::text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

use super::{
    Count, OnChange, ResultCheck, RetryPolicy, Seconds, SecretSearch, ToolOverrideEntry,
    ToolsEntry, read_entry,
};

/// `[sources.NAME]`: an API whose description turns it into a server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
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
    #[serde(deserialize_with = "account_name")]
    #[schemars(schema_with = "text", extend("pattern" = account_pattern()))]
    pub account: Option<String>,
    /// OpenAPI only: scopes of the tokens that muxd fetches.
    #[serde(deserialize_with = "scopes")]
    #[schemars(extend("x-default" = "what operations name"))]
    pub scopes: Option<Vec<String>>,
    /// Requests per time: a number, `/`, and `s`, `m`, `h` or `d`.
    #[serde(deserialize_with = "request_rate")]
    #[schemars(schema_with = "text", extend("pattern" = r"^\s*[0-9]+\s*/\s*[smhd]\s*$", "x-default" = "unlimited"))]
    pub rate: Option<RequestRate>,
    /// Age at which a description from a URL is requested again.
    pub refresh: Seconds<0, { u64::MAX }, { 24 * 60 * 60 }>,
    /// GraphQL only: depth of the default selection.
    pub depth: Option<Count<1, 6, 2>>,
    /// OpenAPI only: how many operations become functions, in the order of the description. Operations that
    /// `tools.exclude` matches do not count.
    pub max_functions: Option<Count<1, 50_000, 20_000>>,
    /// Which tools are offered, and how.
    pub tools: ToolsEntry,
    /// Changes to individual tools, by tool name.
    #[schemars(with = "BTreeMap<String, ToolOverrideEntry>")]
    pub r#override: BTreeMap<String, Value>,
    /// `false` keeps the entry but disables it.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// `false` keeps arguments and results of this API out of the [history](#history).
    #[schemars(extend("default" = true))]
    pub history: Option<bool>,
    /// Time a call may be silent.
    pub call_timeout: Seconds<0, { u64::MAX }, 60>,
    /// Total time of one call.
    pub total_timeout: Seconds<0, { u64::MAX }, { 10 * 60 }>,
    /// Concurrent calls. Further calls wait in turn.
    #[schemars(extend("x-default" = "`limits.calls_per_server`"))]
    pub calls_at_once: Option<Count<1, 256>>,
    /// Calls to send once more if the answer was lost, by HTTP method or kind of operation.
    pub retry: RetryPolicy,
    /// The reaction to a changed tool definition.
    #[schemars(extend("x-default" = "`pins.on_change`"))]
    pub pins: Option<OnChange>,
    /// The reaction to a result that does not match the description.
    #[schemars(extend("default" = "warn"))]
    pub check_results: Option<ResultCheck>,
    /// `true` marks results as data where a model reads them as text.
    #[schemars(extend("x-default" = "`results.fence`"))]
    pub fence: Option<bool>,
    /// The reaction to a result that seems to contain a secret.
    #[schemars(extend("x-default" = "`results.secrets`"))]
    pub secrets: Option<SecretSearch>,
}

/// The credential that is sent for a security scheme.
#[derive(Clone, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CredentialEntry {
    /// A key, or a token.
    Text(String),
    Basic(BasicEntry),
}

#[derive(Clone, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BasicEntry {
    pub username: String,
    pub password: String,
}

impl SourceEntry {
    pub(super) fn read(value: Value) -> Result<Self, String> {
        let shape = "must be a table with `openapi` or `graphql`, as in [sources.NAME]";
        read_entry(value, shape)
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

/// A rate limit: `count` requests in `per`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestRate {
    pub count: NonZeroU32,
    pub per: Duration,
}

/// Reads a rate such as `10/s`, `300/m` or `5000/h`.
fn request_rate<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RequestRate>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let why = "is not a number per time unit, such as \"10/s\"";
    let rate = parse_rate(&text);
    let rate = rate.ok_or_else(|| wrong_value(format!("{text:?}"), why));
    rate.map(Some)
}

fn parse_rate(text: &str) -> Option<RequestRate> {
    let (count, unit) = text.split_once('/')?;
    let per = match unit.trim() {
        "s" | "sec" | "second" => 1,
        "m" | "min" | "minute" => 60,
        "h" | "hour" => 60 * 60,
        "d" | "day" => 24 * 60 * 60,
        _ => return None,
    };
    Some(RequestRate {
        count: count.trim().parse().ok()?,
        per: Duration::from_secs(per),
    })
}

/// Reads scopes. Each must be one word, because they are sent separated by blanks.
fn scopes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let scopes = Vec::<String>::deserialize(deserializer)?;
    let fits = |scope: &&String| {
        let mut letters = scope.chars();
        !scope.is_empty() && letters.all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'))
    };
    match scopes.iter().find(|scope| !fits(scope)) {
        Some(scope) => {
            let why = "is invalid: each is one word";
            Err(wrong_value(format!("{scope:?}"), why))
        }
        None => Ok(Some(scopes)),
    }
}
