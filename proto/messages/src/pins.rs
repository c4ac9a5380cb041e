//! Pins: the tool definitions when they were first trusted, and the acceptance of changed tools.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinsRequest {
    pub server: String,
    /// Whether to request a new tool list, and start the server if necessary, instead of using its last list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub current: bool,
}

/// The tools of one server, each with its pin.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinList {
    pub server: String,
    pub tools: Vec<PinInfo>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinInfo {
    /// The tool's name, exactly as the server sends it.
    pub name: String,
    pub standing: PinStanding,
    /// The digest of the tool's current definition, in hexadecimal. Absent if the tool is not pinned.
    pub digest: Option<String>,
    /// When the pin was made, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// The trusted definition, as JSON. Absent if the tool is unchanged, or if the definition is not known.
    pub before: Option<String>,
    /// The current definition, as JSON. Invisible characters are escaped.
    pub now: Option<String>,
    /// Why the tool is offered as trusted although its current definition differs.
    pub note: Option<String>,
    /// Where the definitions differ, as paths in the trusted definition: descriptions and arguments first, then hints
    /// that permit more, then hints that permit less and added output schemas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_paths: Vec<String>,
    /// The parts of the current definition that may instruct a model, each as a code and an excerpt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PinStanding {
    /// The tool is as it was trusted.
    Trusted,
    /// The tool was added after its server was first trusted, and was not accepted yet.
    New,
    /// The tool has changed since it was trusted, and can be called.
    Changed,
    /// The tool has changed since it was trusted, and its calls are refused.
    Refused,
    /// The tool is not compared with a pin.
    Unpinned,
}

/// Pins tools as they are now.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceptPinsRequest {
    pub server: String,
    pub tools: Vec<SeenTool>,
}

/// A tool with the digest of the definition that the user has seen: if it has changed since, it is not accepted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeenTool {
    pub name: String,
    pub digest: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceptedPins {
    pub tools: usize,
}
