//! Resources, prompts and completions, which servers offer besides tools. Each `Value` here is as MCP defines it, with
//! the server's own names and URIs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::MissingServer;

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OfferKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OffersRequest {
    pub kind: OfferKind,
    /// The server to ask, or all servers if absent.
    pub server: Option<String>,
    /// How long to wait for each server. Slower servers are listed as missing. If absent: 10 s if all servers are
    /// asked, or the maximum duration of a call if one server is asked.
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferList {
    pub offers: Vec<Offered>,
    /// Servers that could not be asked, each with the reason. A server that has none of the kind is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingServer>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offered {
    /// The server's name in the configuration.
    pub server: String,
    /// MCP's `Resource`, `ResourceTemplate` or `Prompt`.
    pub offer: Value,
}

/// Reads a resource. The answer is MCP's `ReadResourceResult`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceRequest {
    pub server: String,
    pub uri: String,
    /// The client's own name for this request, by which notices refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// As in [`CallRequest`](crate::CallRequest).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// Gets a prompt. The answer is MCP's `GetPromptResult`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptRequest {
    pub server: String,
    pub name: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// As in [`CallRequest`](crate::CallRequest).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The `params` of MCP's `completion/complete`, with `_meta` as in [`CallRequest`](crate::CallRequest). The answer is its result.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompleteRequest {
    pub server: String,
    pub params: Value,
}

/// Subscribes to changes of a resource, or ends the subscription.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubscribeRequest {
    pub server: String,
    pub uri: String,
    pub subscribe: bool,
}
