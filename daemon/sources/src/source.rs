//! A source as its callers see it: the functions of a description, calls of them, and what users may want to know.

use std::{collections::BTreeSet, fmt, sync::Arc};

use futures::future::BoxFuture;
use mux_messages::SourceNote;
use serde_json::{Map, Value};

use super::{
    call_progress::CallProgress,
    graphql::{CallEffects, DocumentError, FieldJudge},
};

/// The member of a result's `_meta` with a warning about the result. The client for agents reads it, too.
pub const SOURCE_WARNING: &str = "mux/warning";

/// A description that was read: its functions, and the way to call each.
pub trait Source: Send + Sync + fmt::Debug {
    /// The name and the version that the API gives itself.
    fn identity(&self) -> (String, String);

    /// The functions of a page as MCP tools. Pages are counted from 0.
    fn tools(&self, page: usize) -> Vec<Value>;

    /// The number of pages, 0 if there are no functions.
    fn tool_page_count(&self) -> usize {
        1
    }

    /// The number of functions.
    fn function_count(&self) -> usize;

    /// Facts about the source for the user.
    fn report(&self) -> SourceReport {
        SourceReport::default()
    }

    /// Reports to `judge` the other functions whose work a call does. The time that this takes depends on the
    /// arguments, within limits, so it must not run on the runtime's threads.
    fn equivalent_fields(
        &self,
        _tool: &str,
        _arguments: &Map<String, Value>,
        _judge: &mut FieldJudge<'_>,
    ) -> Result<CallEffects, DocumentError> {
        Ok(CallEffects::default())
    }

    /// The members of object arguments that are sent like separate arguments, in the form of those arguments. Members
    /// that a server may read as one name are in different objects.
    fn members_as_arguments(
        &self,
        _tool: &str,
        _arguments: &Map<String, Value>,
    ) -> Vec<Map<String, Value>> {
        Vec::new()
    }

    /// Returns an MCP `CallToolResult`. Dropping the future cancels the request.
    fn call(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: CallProgress,
    ) -> BoxFuture<'static, Result<Value, CallFailure>>;
}

/// Facts about a source that a user may want to know.
#[derive(Clone, Debug, Default)]
pub struct SourceReport {
    /// Problems, such as skipped operations and credentials that match no security scheme.
    pub notes: Vec<SourceNote>,
    /// The security schemes that functions need but that have no credential.
    pub missing: Vec<String>,
    /// Functions that cannot be called because their origin is not allowed.
    pub forbidden: BTreeSet<String>,
    /// The origins at which functions are called and tokens are fetched, for display.
    pub origins: BTreeSet<String>,
    /// The number of requests sent so far.
    pub requests: u64,
}

/// The reason a call has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallFailure {
    /// Nothing happened: the request could not be sent, or the API did not accept it.
    #[error("{0}")]
    Declined(String),
    /// Nothing was sent: a credential is missing or cannot be used.
    #[error("{why}")]
    Credential { why: String, fix: String },
    /// Nothing was sent: the user has not allowed the origin of the function.
    #[error("{why}")]
    Forbidden { why: String, fix: String },
    /// The request was sent, and the response exceeds a limit.
    #[error("{0}")]
    TooMuch(String),
    /// The request was sent, and its outcome is unknown.
    #[error("{0}")]
    Lost(String),
    /// The arguments do not make a valid request.
    #[error("{0}")]
    Unfit(String),
    /// The description no longer has this function.
    #[error("there is no function {0:?}")]
    Unknown(String),
}
