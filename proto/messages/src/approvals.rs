//! Calls that must be approved: listing them, deciding them, allowing them always. Also the runs that are kept for
//! them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Selects the approvals to list.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalsRequest {
    /// Only this approval, with all of its arguments.
    pub approval: Option<String>,
    /// Lists the calls that are always allowed, instead of the waiting calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub granted: bool,
    /// The edition that the client has: the answer waits until there is another, or until `wait_ms` have
    /// passed, 30 s at most.
    pub known: Option<u64>,
    #[serde(default)]
    pub wait_ms: u64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalList {
    /// Counts up with every change.
    pub edition: u64,
    pub approvals: Vec<ApprovalInfo>,
    pub granted: Vec<GrantInfo>,
}

/// One call that must be approved.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalInfo {
    /// `A7`, which is never reused. A client that is not the user's own gets the whole name, `A7.` and a random word,
    /// and finds the approval by no other.
    pub approval: String,
    pub state: ApprovalState,
    /// `server.tool`
    pub path: String,
    /// The arguments of the call. Absent if they are too long for a list.
    pub arguments: Option<Value>,
    /// The beginning of the arguments as JSON, if `arguments` is absent.
    pub preview: Option<String>,
    /// The length of the arguments as JSON, in bytes.
    pub bytes: usize,
    /// The client that made the call, by the name that it gave in `hello`.
    pub client: String,
    pub agent: Option<String>,
    pub workspace: Option<PathBuf>,
    /// Absent for a call outside of runs.
    pub run: Option<String>,
    /// The rule that requires the approval, and its reason.
    pub rule: String,
    pub reason: Option<String>,
    /// Identifies the current version of the tool, with the rule: `session` and `always` cover calls with the same
    /// value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cover: String,
    /// Milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Milliseconds until the call fails as `pending`. Absent if it has failed.
    pub left_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalState {
    /// The call waits for an answer.
    Waiting,
    /// The call failed as `pending`. `resume_run` continues the run.
    Pending,
    /// Approved after it failed as `pending`. `resume_run` continues the run.
    Approved,
    /// Denied after it failed as `pending`.
    Denied,
}

/// A user's answer to an approval.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecideRequest {
    pub approval: String,
    pub decision: Decision,
    /// The reason of a denial, for the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other approvals that the user was shown. `session` and `always` also answer the approvals in this list that
    /// they cover. Waiting approvals that are not in the list continue to wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This call, with these arguments.
    Once,
    /// This call, and later calls of this tool by this client, until its connection ends.
    Session,
    /// This call, and later calls of the current version of this tool, for this agent, until the grant is revoked.
    Always,
    Deny,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decided {
    pub approval: ApprovalInfo,
    /// True if the call was still waiting and continues. If false, `resume_run` continues the run.
    pub live: bool,
    /// The number of calls named in `shown` that are approved with it.
    pub released: usize,
    /// Approvals that the decision would cover, but that the user was not shown: they continue to wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<String>,
    /// Why the decision applies to less than was requested, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// A grant: calls that are always allowed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantInfo {
    pub grant: String,
    pub path: String,
    /// Calls of this agent. Absent for calls of clients that name no agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The rule that required the approval. Other rules ask again.
    pub rule: String,
    /// The digest of the tool and of its server's address or command: when either changes, the user is asked again.
    pub digest: String,
    pub since_ms: u64,
}

/// Which run to resume.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeRequest {
    /// A run, or an approval. For a call that failed as `pending`, `details.resume`.
    pub id: String,
    /// The run does not end with this connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detach: bool,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// The run to follow with `events`. This is the requested run if it has not ended or cannot be resumed, otherwise
    /// a new run.
    pub run: String,
    /// True if the program starts again and its completed calls are answered from the record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// A call that must be approved.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalAsked {
    pub approval: String,
    pub path: String,
    /// The arguments as JSON, or the beginning.
    pub arguments: String,
    /// The length of the arguments as JSON, in bytes.
    pub bytes: usize,
    pub rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// As in [`ApprovalInfo::cover`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cover: String,
    /// Milliseconds until the call fails as `pending`.
    pub wait_ms: u64,
}

/// The outcome of an approval.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalOver {
    pub approval: String,
    pub path: String,
    pub ending: ApprovalEnding,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalEnding {
    Approved,
    Denied,
    /// There was no answer in time.
    Pending,
}
