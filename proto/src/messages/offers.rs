//! What servers offer beside tools: resources, prompts, completions. What stands in a `Value` here is as
//! MCP has it, with the server's own names and uris.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::MissingServer;

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct OffersRequest {
    pub kind: OfferKind,
    /// Of one server; of all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How long to wait for each server; one that comes later is among the missing. Without it, 10 s where
    /// all are listed, and for one server as long as a call of it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OfferList {
    pub offers: Vec<Offered>,
    /// Servers that could not be asked, each with the reason. One that offers nothing of the kind is not
    /// among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingServer>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Offered {
    /// Its name in the configuration.
    pub server: String,
    /// MCP's `Resource`, `ResourceTemplate` or `Prompt`.
    pub offer: Value,
}

/// Answered with MCP's `ReadResourceResult`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ResourceRequest {
    pub server: String,
    pub uri: String,
    /// The client's own name for this request, under which notices speak of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Answered with MCP's `GetPromptResult`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PromptRequest {
    pub server: String,
    pub name: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// `params` of MCP's `completion/complete`; answered with its result.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CompleteRequest {
    pub server: String,
    pub params: Value,
}

/// Whether this client is to be told when the resource changes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SubscribeRequest {
    pub server: String,
    pub uri: String,
    pub subscribe: bool,
}
