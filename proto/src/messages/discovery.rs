//! Finding tools: ranked search, everything about a few of them, and an inventory that fits a budget.

use serde::{Deserialize, Serialize};

use crate::{Error, ToolInfo};

/// What to look for. Words may be misspelled a little.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SearchRequest {
    /// Nothing but white space finds all tools, in the order of their paths.
    pub query: String,
    /// Only the tools of this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Results of one page: 10 if absent, 100 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How long to wait for servers whose tools nobody knows yet; 10 s at most. None is started if this
    /// is 0.
    #[serde(default)]
    pub wait_ms: u64,
}

/// The best first. The same tools in the same order as long as nothing changes in the pool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SearchPage {
    pub results: Vec<ToolHit>,
    /// How many match, on all pages.
    pub total: usize,
    /// Asks for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Servers whose tools nobody knows yet, because they were never connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolHit {
    /// As a program writes it after `mux.`.
    pub path: String,
    pub server: String,
    /// As the server spells it.
    pub name: String,
    /// The beginning of its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `files.read(args: {…}): Promise<…>`.
    pub signature: String,
    /// More is better; comparable within one answer only. 0 if nothing was asked for.
    pub score: f64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct DescribeRequest {
    /// `server.tool`, or `server` or `server.group` for all of its tools.
    pub paths: Vec<String>,
    /// With the JSON schemas of each tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schemas: bool,
    /// With the instructions of all servers that are known, and not only of those that are named.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_instructions: bool,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Descriptions {
    pub tools: Vec<Description>,
    /// Of the servers that were named whole, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<ServerInstructions>,
    /// Paths that lead nowhere, each with the reason and the nearest that do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Error>,
}

/// What a server tells its users of itself and of all its tools. These are its words and nobody else's: data from
/// outside, without letters that nobody sees, 16 KiB at most.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ServerInstructions {
    pub server: String,
    pub text: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Description {
    pub tool: ToolInfo,
    /// TypeScript: its documentation, its signature, the types that it names.
    pub declaration: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct InventoryRequest {
    /// 2,000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<usize>,
    /// How long to wait for servers whose tools nobody knows yet; 10 s at most.
    #[serde(default)]
    pub wait_ms: u64,
}

/// What there is, in as many words as the budget allows, shared fairly between the servers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Inventory {
    /// For an agent to read. Says COMPLETE, or PARTIAL with how many of how many tools it names.
    pub text: String,
    /// Tools that the text names.
    pub shown: usize,
    pub total: usize,
    /// Servers whose tools nobody knows yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}
