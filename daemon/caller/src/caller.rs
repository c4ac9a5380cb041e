//! The caller on whose behalf a request is sent to a server.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Map, Value};

use super::{CallCause, ClientOrigin, Mailbox, PausableClock, QuestionKind};
use mux_telemetry::trace::TraceScope;

/// The client and cause of a call.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The mailbox of the connection, or `None` if no client can be notified or asked.
    pub mailbox: Option<Arc<Mailbox>>,
    pub cause: CallCause,
    pub origin: Arc<ClientOrigin>,
    /// The working directory of the client.
    pub workspace: Option<PathBuf>,
    /// The clock of the run or request that the call is a part of.
    pub clock: Arc<PausableClock>,
    /// The path of the tool that is being called, if it is known.
    pub tool: Option<Arc<str>>,
    /// The trace that requests for this call belong to.
    pub trace: TraceScope,
    /// The `_meta` that the client passes on to the server with this call. Calls of programs have
    /// none.
    pub meta: Option<Arc<Map<String, Value>>>,
}

impl Caller {
    /// The number of its connection.
    pub fn connection(&self) -> Option<u64> {
        self.mailbox.as_ref().map(|mailbox| mailbox.connection())
    }

    /// Returns true if its client says that it can ask its user to approve calls.
    pub fn can_approve(&self) -> bool {
        let mailbox = self.mailbox.as_ref();
        mailbox.is_some_and(|mailbox| mailbox.can_answer(QuestionKind::Approval))
    }
}
