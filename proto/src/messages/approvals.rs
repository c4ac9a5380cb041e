//! Calls that wait for somebody's approval: listed, decided, remembered; and the runs that they keep.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to list.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ApprovalsRequest {
    /// Only this one, with all of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// What is always allowed, in place of what waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub granted: bool,
    /// The edition that the client has: the answer waits until there is another, or until `wait_ms` have
    /// passed, 30 s at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
    #[serde(default)]
    pub wait_ms: u64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ApprovalList {
    /// Counts up with every change.
    pub edition: u64,
    #[serde(default)]
    pub approvals: Vec<ApprovalInfo>,
    #[serde(default)]
    pub granted: Vec<GrantInfo>,
}

/// One call that must be approved.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ApprovalInfo {
    /// `A7`, which no other call ever has. A client that is not the user's own is told the whole name, `A7.` and a random
    /// word, and finds it by no other.
    pub approval: String,
    pub state: ApprovalState,
    /// `server.tool`
    pub path: String,
    /// What would be sent; absent if it is too long for a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The beginning of their JSON text, if they are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Length of their JSON text.
    pub bytes: usize,
    /// The program that asks, by the name that it gave in `hello`.
    pub client: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// Absent for a call outside of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The rule of the policy because of which somebody is asked, and its reason.
    pub rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Names the tool as it is now, with the rule: `session` and `always` cover calls that have the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cover: String,
    /// Milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Milliseconds until its program is told that nobody answered; absent if it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalState {
    /// Its program waits.
    Waiting,
    /// Its program was told that nobody answered; `resume_run` goes on.
    Pending,
    /// Approved since; `resume_run` goes on.
    Approved,
    /// Denied since.
    Denied,
}

/// What somebody says of a call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct DecideRequest {
    pub approval: String,
    pub decision: Decision,
    /// For the program, if it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other approvals that the user was shown. `session` and `always` answer those of them that they cover; a call
    /// that waits and is not named here waits on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This call, with these arguments.
    Once,
    /// This call, and later calls of this tool by this client, until its connection ends.
    Session,
    /// This call, and later calls of this tool as it is now, for this agent, until it is revoked.
    Always,
    Deny,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Decided {
    pub approval: ApprovalInfo,
    /// Its program waited and goes on; otherwise `resume_run` does.
    pub live: bool,
    /// Calls named in `shown` that are approved with it.
    #[serde(default)]
    pub released: usize,
    /// Approvals that the decision would cover, but that the user was not shown: they still wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<String>,
    /// Why it holds for less than was said, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What is always allowed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct GrantInfo {
    pub grant: String,
    pub path: String,
    /// Calls of this agent; absent: calls of clients that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Asked because of this rule; another one asks again.
    pub rule: String,
    /// Of the tool and of how its server is reached: when either changes, somebody is asked again.
    pub digest: String,
    pub since_ms: u64,
}

/// Which run goes on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ResumeRequest {
    /// A run, or an approval. Of a call that ended as `pending`, `details.resume`.
    pub id: String,
    /// The run does not end with this connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detach: bool,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Resumed {
    /// To be followed with `events`. The one that was named, if it has not ended or has nothing to go on
    /// with; otherwise a new one.
    pub run: String,
    /// It begins anew, and calls that had ended are answered from the record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// What a client is told of a call that somebody has to approve.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ApprovalAsked {
    pub approval: String,
    pub path: String,
    /// JSON text, or the beginning of it.
    pub arguments: String,
    /// Its length.
    pub bytes: usize,
    pub rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// As in [`ApprovalInfo::cover`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cover: String,
    /// Milliseconds until the program is told that nobody answered.
    pub wait_ms: u64,
}

/// What became of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ApprovalOver {
    pub approval: String,
    pub path: String,
    pub ending: ApprovalEnding,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalEnding {
    Approved,
    Denied,
    /// Nobody answered in time.
    Pending,
}
