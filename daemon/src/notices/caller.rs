//! For whom something is sent to a server.

use std::{path::PathBuf, sync::Arc};

use super::{Cause, Clock, Mailbox};

/// Who waits for a call, and why it is made.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Of the connection; none if nobody can be told or asked.
    pub mailbox: Option<Arc<Mailbox>>,
    pub cause: Cause,
    /// The directory in which the client works.
    pub workspace: Option<PathBuf>,
    /// Of the whole of which the call is a part.
    pub clock: Arc<Clock>,
}

impl Caller {
    /// Its connection, by number.
    pub fn connection(&self) -> Option<u64> {
        self.mailbox.as_ref().map(|mailbox| mailbox.connection())
    }
}
