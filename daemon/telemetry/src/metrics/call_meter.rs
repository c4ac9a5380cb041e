//! Meters one call, from its request to its end.
//!
//! Invariant: a call is counted exactly once, even if its caller no longer exists.

use std::{sync::Arc, time::Instant};

use mux_wire::FaultKind;

use super::server_meters::{EndedCall, ServerMeters};

#[must_use]
pub struct CallMeter {
    server: Arc<ServerMeters>,
    /// Set once the server is known to have the tool: a name that a caller made up must not become a label.
    tool: Option<String>,
    sent: Option<Instant>,
    counted: bool,
}

impl CallMeter {
    pub(super) fn begin(unknown: Arc<ServerMeters>) -> Self {
        Self {
            server: unknown,
            tool: None,
            sent: None,
            counted: false,
        }
    }

    /// Sets the server of the call.
    pub fn at(&mut self, server: &Arc<ServerMeters>) {
        self.server = Arc::clone(server);
    }

    /// Sets the tool of the call.
    pub fn of_tool(&mut self, name: &str) {
        self.tool = Some(name.to_owned());
    }

    /// Marks the call as sent.
    pub fn sent(&mut self) {
        if self.sent.replace(Instant::now()).is_none() {
            self.server.call_sent();
        }
    }

    /// Counts the call. `kind` is `None` on success.
    pub fn ended(mut self, kind: Option<FaultKind>) {
        self.count(kind);
    }

    fn count(&mut self, kind: Option<FaultKind>) {
        if std::mem::replace(&mut self.counted, true) {
            return;
        }
        self.server.call_ended(EndedCall {
            tool: self.tool.take(),
            kind,
            took: self.sent.map(|sent| sent.elapsed()),
        });
    }
}

impl Drop for CallMeter {
    fn drop(&mut self) {
        self.count(Some(FaultKind::Cancelled));
    }
}
