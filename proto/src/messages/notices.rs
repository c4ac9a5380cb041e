//! What a client is told, and asked, without having asked: notices, read by long poll.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Waits for what this connection has not heard yet. The first such request says what it wants to hear;
/// before it, nothing is kept for the connection and nothing is asked of it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct NoticesRequest {
    /// The number of the last notice that the client has; 0 for none. Those are forgotten.
    pub after: u64,
    pub wait_ms: u64,
    /// What this client can answer for its user. Anything else is declined in its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AskKind>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct NoticePage {
    pub notices: Vec<Notice>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Notice {
    /// Counts up from 1 within a connection. A gap means that the client was too slow, and that what it
    /// missed was no question.
    pub seq: u64,
    pub notice: NoticeKind,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoticeKind {
    /// The pool offers something else than before.
    Changed {
        #[serde(default)]
        tools: bool,
        #[serde(default)]
        resources: bool,
        #[serde(default)]
        prompts: bool,
    },
    /// A resource to which this connection subscribed.
    ResourceUpdated { server: String, uri: String },
    /// A call that carries a token moves on. Of a call in a run its events tell.
    Progress {
        cause: Cause,
        progress: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A server logs something while this connection alone has calls on their way to it.
    Log {
        server: String,
        /// As MCP has them: `debug` to `emergency`.
        level: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        logger: Option<String>,
        data: Value,
        cause: Cause,
    },
    /// A server wants to know something of the client whose call made it ask. To be answered with
    /// `answer`, or the call waits until the limit of the question is over. Whoever shows it to a user has to say
    /// first which server asks: its words may claim to be anybody's.
    Ask {
        ask: u64,
        /// The server that asks; `mux` if muxd does.
        server: String,
        /// It is muxd's own question, and no server's, whatever a server is called.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
        cause: Cause,
        kind: AskKind,
        /// The server's own name for the question, if the question came with the answer to a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// `params` of MCP's `elicitation/create`, `sampling/createMessage` or `roots/list`.
        params: Value,
    },
    /// Nobody waits for the answer any more.
    Withdrawn { ask: u64 },
    /// What the user of this connection was asked to do on a page is done.
    ElicitationComplete {
        server: String,
        /// `elicitationId` of the question.
        id: String,
        cause: Cause,
    },
    /// A call of this connection waits for somebody's approval. Of one in a run its events tell, too.
    ApprovalAsked {
        cause: Cause,
        #[serde(flatten)]
        asked: crate::ApprovalAsked,
    },
    /// Another daemon has taken over from this one: a client that is not busy here connects anew, which leads it
    /// there. Told to clients that know `upgrade` only.
    Leaving {},
    /// It waits no more.
    ApprovalOver {
        cause: Cause,
        #[serde(flatten)]
        over: crate::ApprovalOver,
    },
}

/// What of this connection made something happen.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Run(String),
    /// The token of a call, or an empty text if it carried none.
    Call(String),
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    Elicitation,
    Sampling,
    Roots,
    /// A call of this connection is to be approved: `params` is an [`crate::ApprovalAsked`], and the
    /// answer `{"decision": …, "reason"?: …, "shown"?: […]}` as [`crate::DecideRequest`] has it.
    Approval,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AnswerRequest {
    pub ask: u64,
    pub answer: Answer,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The result as MCP has it.
    Result(Value),
    /// It cannot be answered; why.
    Refused(String),
}
