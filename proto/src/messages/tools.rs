//! Tools, and the types that are made of them.

use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ToolsRequest {
    /// Words that must all appear in the path or the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// With the JSON schemas of each tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schemas: bool,
    /// Only those that are offered as ordinary tools beside programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// With each tool's whole definition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub definitions: bool,
    /// Also those that their servers have for the pages of MCP Apps, and for no model. With definitions they are there
    /// anyway: who gets those keeps to what they say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_apps: bool,
    /// How long to wait for servers whose tools nobody knows yet; without it, until they are ready or
    /// have failed. Those that are not ready then are among the missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolList {
    pub tools: Vec<ToolInfo>,
    /// How many match, whatever the limit.
    pub total: usize,
    /// Servers whose tools are not in the list, each with the reason.
    #[serde(default)]
    pub missing: Vec<MissingServer>,
    /// What is unusual about a name: collisions, spellings.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Servers that are not connected, and whose tools are those of their last session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<String>,
    /// Of the server that was asked for, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<ServerInstructions>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MissingServer {
    pub server: String,
    pub error: Error,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ToolInfo {
    /// `server.tool` as a program writes it after `mux.`.
    pub path: String,
    pub server: String,
    /// As the server spells it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `files.read(args: {…}): Promise<…>`.
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Of how many calls the result's type was learned, for a tool that declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_calls: Option<u64>,
    /// Offered as an ordinary tool beside programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// It is not what it was when it was first trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// A function of a source that cannot be called, because of where its description has it called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// Only pages of its server may call it, and no model: it is shown to none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_apps: bool,
    /// MCP's `Tool`, whole, as the server gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TypesRequest {
    /// `server` or `server.tool`; everything if empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Asks for the declarations of everything as soon as they are others than those that the client has.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WatchTypesRequest {
    /// The name of those that the client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    pub wait_ms: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TypesPage {
    /// Names the text by its content.
    pub name: String,
    /// The `.d.ts`; absent if the client has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Whose results to forget.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ForgetTypesRequest {
    /// `server` or `server.tool`; everything if empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Forgotten {
    /// Of so many tools a type had been learned.
    pub tools: usize,
}
