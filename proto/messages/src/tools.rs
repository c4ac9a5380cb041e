//! Tools, and the TypeScript declarations that are generated from them.

use serde::{Deserialize, Serialize};

use super::{Error, ServerInstructions, Value};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolsRequest {
    /// Words that must all appear in the path or the description.
    pub query: Option<String>,
    pub server: Option<String>,
    pub limit: Option<usize>,
    /// Whether to include the JSON schemas of each tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schemas: bool,
    /// Whether to list only tools that are offered directly besides programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Whether to include each tool's whole definition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub definitions: bool,
    /// Whether to include tools that servers reserve for the pages of MCP Apps. With `definitions`, such tools are
    /// always included: clients that get definitions must respect their visibility.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_apps: bool,
    /// How long to wait for servers whose tools are not known yet. If absent, until they are ready or have failed.
    /// Servers that are not ready by then are listed as missing.
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolList {
    pub tools: Vec<ToolInfo>,
    /// The number of matching tools, regardless of the limit.
    pub total: usize,
    /// Servers whose tools are not in the list, each with the reason.
    pub missing: Vec<MissingServer>,
    /// Remarks on unusual names, such as collisions.
    pub warnings: Vec<String>,
    /// Servers that are not connected. Their tools are from their last session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<String>,
    /// The instructions of the requested server, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<ServerInstructions>,
    /// The servers whose results must be marked as data where a model reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<FenceInfo>,
}

/// For which servers the user wants results to be marked as data.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FenceInfo {
    /// True if results are marked by default: those of unknown servers, and of servers that are not in `except`.
    pub default: bool,
    /// The servers for which the opposite applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingServer {
    pub server: String,
    pub error: Error,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolInfo {
    /// `server.tool` as a program writes it after `mux.`.
    pub path: String,
    pub server: String,
    /// The tool's name, exactly as the server sends it.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// `files.read(args: {…}): Promise<…>`.
    pub signature: String,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    /// All hints of the server, with the schemas.
    pub annotations: Option<Value>,
    pub input_schema: Option<Value>,
    pub output_schema: Option<Value>,
    /// The number of calls from which the result's type was learned, for a tool that declares none.
    pub observed_calls: Option<u64>,
    /// True if the tool is offered directly besides programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// True if the tool has changed since it was first trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// True if the tool is a source's function that cannot be called, because its description uses an address that is
    /// not allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// True if only pages of its server may call the tool. It is not shown to models.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_apps: bool,
    /// The whole MCP `Tool`, as the server sent it.
    pub definition: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TypesRequest {
    /// `server` or `server.tool`. All tools if empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Waits until the declarations of all tools differ from the client's.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchTypesRequest {
    /// The name of the declarations that the client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    pub wait_ms: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TypesPage {
    /// Identifies the declarations by their content.
    pub name: String,
    /// The `.d.ts` file. Absent if the client already has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The tools whose learned result types to delete.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForgetTypesRequest {
    /// `server` or `server.tool`. All tools if empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forgotten {
    /// The number of tools whose learned types were deleted.
    pub tools: usize,
}
