//! What is kept of a run: its program, and its calls with arguments and results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Language};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunJournalRequest {
    /// The run's id, or, for the user's own clients, its number.
    pub run: String,
    /// The number of one call in the run's events. Only this call is returned, with complete values.
    pub call: Option<u32>,
}

/// A run as the history has it. Secrets are masked.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunJournal {
    pub program: RunProgram,
    /// In the order in which the program made them.
    pub calls: Vec<CallRecord>,
    /// True if further calls are not kept, because the run's calls exceeded `approvals.log`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// The program of a run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunProgram {
    #[serde(default, skip_serializing_if = "Language::is_typescript")]
    pub language: Language,
    pub source: String,
    /// The client's name for the program.
    pub name: Option<String>,
    pub input: KeptValue,
    /// The limit of wall time.
    pub timeout_ms: u64,
}

/// A call of a run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRecord {
    /// The number of the call in the run's events. Absent if it did not reach a server.
    pub call: Option<u32>,
    /// The tool as the program wrote it.
    pub tool: String,
    /// Milliseconds from the acceptance of the run to the call.
    pub at_ms: u64,
    /// Milliseconds from the call to its end.
    pub ms: u64,
    pub arguments: KeptValue,
    /// Absent if the call failed or had not ended.
    pub result: Option<KeptValue>,
    pub error: Option<Error>,
}

/// A value in the history.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptValue {
    /// The length of its JSON.
    pub bytes: usize,
    /// Absent if the value is null, withheld, or too long for this answer.
    pub value: Option<Value>,
    /// The beginning of its JSON, if the value is too long for this answer.
    pub preview: Option<String>,
    /// True if the value is not kept: `history = false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}
