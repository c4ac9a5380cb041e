//! Reports the progress of a call outside runs to its client.

use std::{sync::Arc, time::Duration};

use mux_wire::Fault;

use mux_approvals::ApprovalEvent;
use mux_caller::{CallCause, Caller, ClientNotice, ProgressUpdate};
use mux_gateway::CallObserver;

/// Sends notices of progress if the client gave the call a token, and nothing else.
pub(super) struct ProgressObserver(Arc<Caller>);

impl ProgressObserver {
    pub(super) fn of(caller: &Arc<Caller>) -> Self {
        Self(Arc::clone(caller))
    }
}

impl CallObserver for ProgressObserver {
    fn server_starting(&self, _server: &str) {}

    fn server_ready(&self, _server: &str, _took: Duration) {}

    fn call_started(&self, _path: &str) -> u32 {
        0
    }

    fn call_progress(&self, _call: u32, _path: &str, progress: ProgressUpdate) {
        let cause = &self.0.cause;
        if let (Some(mailbox), CallCause::Call(token)) = (&self.0.mailbox, cause)
            && !token.is_empty()
        {
            let cause = cause.clone();
            mailbox.push_notice(ClientNotice::Progress {
                cause,
                progress: progress.progress,
                total: progress.total,
                message: progress.message,
            });
        }
    }

    /// The connection's notices report approvals.
    fn approval_changed(&self, _word: ApprovalEvent<'_>) {}

    fn call_warned(&self, path: &str, warning: &str) {
        if let Some(mailbox) = &self.0.mailbox {
            mailbox.push_notice(ClientNotice::Log {
                server: "mux".into(),
                level: "warning".into(),
                logger: None,
                data: format!("{path} {warning}").into(),
                cause: self.0.cause.clone(),
            });
        }
    }

    fn call_ended(&self, _call: u32, _path: &str, _took: Duration, _: Result<usize, &Fault>) {}
}
