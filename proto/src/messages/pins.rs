//! What tools were when they were first trusted, and what somebody accepts of what they are now.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PinsRequest {
    pub server: String,
    /// Asks the server itself, which is started if need be, and not what it listed last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub current: bool,
}

/// The tools of one server beside their pins.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PinList {
    pub server: String,
    pub tools: Vec<PinInfo>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PinInfo {
    /// As the server spells it.
    pub name: String,
    pub standing: PinStanding,
    /// Names the definition that the tool has now, in hexadecimal digits; absent if nothing is pinned of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When the pin was made, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// What was trusted, as JSON with its names in order; absent if the tool is what it was, or if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What the server says now, the same way. Letters that nobody sees are escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PinStanding {
    /// It is what was trusted.
    Trusted,
    /// It came after its server was first trusted, and nobody has taken note.
    New,
    /// It is not what was trusted, and can be called.
    Changed,
    /// It is not what was trusted, and its calls are refused.
    Refused,
    /// Nobody compares.
    Unpinned,
}

/// Pins tools as they are now.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct AcceptPinsRequest {
    pub server: String,
    pub tools: Vec<SeenTool>,
}

/// A tool with the digest of what somebody has seen of it: what it has become meanwhile is not accepted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SeenTool {
    pub name: String,
    pub digest: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct AcceptedPins {
    pub tools: usize,
}
