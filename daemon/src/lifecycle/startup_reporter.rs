//! What a daemon that is starting tells its parent, over a channel that existed before it did.

use std::io::{self, Write};

use mux_proto::startup::Report;

/// Tells the parent once, if there is one that listens.
pub struct StartupReporter(Option<Box<dyn Write + Send>>);

impl StartupReporter {
    pub fn to(channel: impl Write + Send + 'static) -> Self {
        Self(Some(Box::new(channel)))
    }

    /// For a daemon that nobody waits for.
    pub fn nobody() -> Self {
        Self(None)
    }

    /// Says it and closes the channel.
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
