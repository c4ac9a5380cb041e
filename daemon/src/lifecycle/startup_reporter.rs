//! Reports the outcome of a start to the parent process, over a channel that the parent has created.

use std::io::{self, Write};

use mux_proto::startup::Report;

/// Sends one report to the parent, if there is a channel.
pub struct StartupReporter(Option<Box<dyn Write + Send>>);

impl StartupReporter {
    pub fn to(channel: impl Write + Send + 'static) -> Self {
        Self(Some(Box::new(channel)))
    }

    /// For a daemon that no parent waits for.
    pub fn nobody() -> Self {
        Self(None)
    }

    /// Sends the report and closes the channel.
    pub fn report(mut self, report: &Report) -> io::Result<()> {
        match self.0.take() {
            Some(mut channel) => {
                let line = serde_json::to_string(report)?;
                writeln!(channel, "{line}")?;
                channel.flush()
            }
            None => Ok(()),
        }
    }
}
