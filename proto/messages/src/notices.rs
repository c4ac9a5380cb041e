//! Notices and questions that the daemon sends to a client, read by long poll.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Waits for notices that this connection has not read yet. The first such request says which questions the client can
/// answer. Before it, no notices are kept for the connection and no questions are sent to it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticesRequest {
    /// The number of the last notice that the client has; 0 for none. Notices up to it are dropped.
    pub after: u64,
    pub wait_ms: u64,
    /// The kinds of questions that this client can answer for its user. All others are declined on its behalf. An
    /// approval is asked in the first of the kinds `approval` and `elicitation` (a form) that is listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AskKind>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticePage {
    pub notices: Vec<Notice>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// Counts up from 1 within a connection. A gap means that the client was too slow, and missed notices other than
    /// questions.
    pub seq: u64,
    pub notice: NoticeKind,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoticeKind {
    /// The tools, resources or prompts of the servers have changed.
    Changed {
        tools: bool,
        resources: bool,
        prompts: bool,
    },
    /// A resource has changed to which this connection is subscribed.
    ResourceUpdated { server: String, uri: String },
    /// Progress of a call with a token. For a call in a run, the progress is among the run's events.
    Progress {
        cause: Cause,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// A server's log message, sent while only this connection has calls in flight to it.
    Log {
        server: String,
        /// The level as in MCP: `debug` to `emergency`.
        level: String,
        logger: Option<String>,
        data: Value,
        cause: Cause,
    },
    /// A server's question to the client whose call caused it. The client answers with `answer`. Without an answer, the
    /// call waits until the time limit of the question. A client that shows the question to a user must name the server
    /// first, because the question may claim to be from anyone.
    Ask {
        ask: u64,
        /// The server that asks, or `mux` for a question from muxd itself.
        server: String,
        /// True if the question is muxd's own, even if a server is called `mux`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
        cause: Cause,
        /// The path of the tool whose call made the server ask, if it is known: a server may have other requests in
        /// progress.
        tool: Option<String>,
        kind: AskKind,
        /// The server's own key for the question, if it came with the answer to a call.
        key: Option<String>,
        /// The `params` of MCP's `elicitation/create`, `sampling/createMessage` or `roots/list`.
        params: Value,
    },
    /// The question is no longer open.
    Withdrawn { ask: u64 },
    /// A server's question was declined, because the client does not answer this kind, or for the given reason.
    Declined {
        server: String,
        kind: AskKind,
        cause: Cause,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The user has completed the page of a URL elicitation.
    ElicitationComplete {
        server: String,
        /// The `elicitationId` of the question.
        id: String,
        cause: Cause,
    },
    /// A call of this connection waits for approval. For a call in a run, there is also an event of the run.
    ApprovalAsked {
        cause: Cause,
        #[serde(flatten)]
        asked: crate::ApprovalAsked,
    },
    /// Another daemon has taken over from this one: a client without work in progress should reconnect, which leads it
    /// there.
    Leaving {},
    /// The approval was answered, or timed out.
    ApprovalOver {
        cause: Cause,
        #[serde(flatten)]
        over: crate::ApprovalOver,
    },
}

/// The run or call of this connection that caused a notice.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Run(String),
    /// The token of a call, or an empty string if it had none.
    Call(String),
}

impl Default for Cause {
    fn default() -> Self {
        Self::Call(String::new())
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    Elicitation,
    Sampling,
    Roots,
    /// A call of this connection must be approved: `params` is an [`crate::ApprovalAsked`], and the answer
    /// `{"decision": …, "reason"?: …, "shown"?: […]}` as in [`crate::DecideRequest`].
    Approval,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerRequest {
    pub ask: u64,
    pub answer: Answer,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The result as MCP defines it.
    Result(Value),
    /// The client cannot answer, for this reason.
    Refused(String),
}
