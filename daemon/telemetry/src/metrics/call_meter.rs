//! One call, from the moment somebody asks for it to its end.
//!
//! Invariant: it is counted once, also if whoever waited for the call has gone.

use std::{sync::Arc, time::Instant};

use mux_wire::Kind;

use super::server_meters::{ServerMeters, ToolMeters};

#[must_use]
pub struct CallMeter {
    server: Arc<ServerMeters>,
    /// Once it is known that the server has such a tool: what a caller makes up is no label.
    tool: Option<ToolMeters>,
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

    /// There is such a server.
    pub fn at(&mut self, server: &Arc<ServerMeters>) {
        self.server = Arc::clone(server);
    }

    /// It has such a tool.
    pub fn of_tool(&mut self, name: &str) {
        self.tool = Some(self.server.tool(name));
    }

    /// It goes out.
    pub fn sent(&mut self) {
        if self.sent.replace(Instant::now()).is_none() {
            self.server.in_flight.inc();
        }
    }

    /// `None`: well.
    pub fn ended(mut self, kind: Option<Kind>) {
        self.count(kind);
    }

    fn count(&mut self, kind: Option<Kind>) {
        if std::mem::replace(&mut self.counted, true) {
            return;
        }
        self.server.called(kind);
        if let Some(tool) = &self.tool {
            tool.called(kind.is_none());
        }
        if let Some(sent) = self.sent {
            self.server.in_flight.dec();
            self.server.took(sent.elapsed());
        }
    }
}

impl Drop for CallMeter {
    fn drop(&mut self) {
        self.count(Some(Kind::Cancelled));
    }
}
