//! For whom something is sent to a server.

use std::{path::PathBuf, sync::Arc};

use super::{CallCause, ClientOrigin, Mailbox, PausableClock, QuestionKind};
use mux_telemetry::trace::TraceScope;

/// Who waits for a call, and why it is made.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Of the connection; none if nobody can be told or asked.
    pub mailbox: Option<Arc<Mailbox>>,
    pub cause: CallCause,
    pub origin: Arc<ClientOrigin>,
    /// The directory in which the client works.
    pub workspace: Option<PathBuf>,
    /// Of the whole of which the call is a part.
    pub clock: Arc<PausableClock>,
    /// In which what is sent for it belongs.
    pub trace: TraceScope,
}

impl Caller {
    /// Its connection, by number.
    pub fn connection(&self) -> Option<u64> {
        self.mailbox.as_ref().map(|mailbox| mailbox.connection())
    }

    /// Whether its client says that it can ask its user whether a call may be made.
    pub fn can_approve(&self) -> bool {
        let mailbox = self.mailbox.as_ref();
        mailbox.is_some_and(|mailbox| mailbox.can_answer(QuestionKind::Approval))
    }
}
