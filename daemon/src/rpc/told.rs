//! What a client is told of a call that is no part of a run.

use std::{sync::Arc, time::Duration};

use mux_wire::Fault;

use mux_approvals::Word;
use mux_caller::{Caller, Cause, Notice, Progress};
use mux_gateway::CallObserver;

/// Tells of progress if the client gave the call a name, and of nothing else.
pub(super) struct Told(Arc<Caller>);

impl Told {
    pub(super) fn of(caller: &Arc<Caller>) -> Self {
        Self(Arc::clone(caller))
    }
}

impl CallObserver for Told {
    fn server_starting(&self, _server: &str) {}

    fn server_ready(&self, _server: &str, _took: Duration) {}

    fn call_started(&self, _path: &str) -> u32 {
        0
    }

    fn call_progress(&self, _call: u32, _path: &str, progress: Progress) {
        let cause = &self.0.cause;
        if let (Some(mailbox), Cause::Call(token)) = (&self.0.mailbox, cause)
            && !token.is_empty()
        {
            let cause = cause.clone();
            mailbox.tell(Notice::Progress { cause, progress });
        }
    }

    /// The notices of its connection tell of it.
    fn approval(&self, _word: Word<'_>) {}

    fn call_repeated(&self, _path: &str, _cause: &str) {}

    fn call_ended(&self, _call: u32, _path: &str, _took: Duration, _: Result<usize, &Fault>) {}
}
