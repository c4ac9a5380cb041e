//! The daemon's log: one file a day, the last seven kept.
//!
//! Invariant: standard output and error stay silent; a client may be reading them.

use std::{io, panic, path::Path};

use tracing::error;
use tracing_appender::{
    non_blocking::{NonBlockingBuilder, WorkerGuard},
    rolling::{RollingFileAppender, Rotation},
};
use tracing_subscriber::EnvFilter;

use crate::cache::CHATTY;

const KEPT: usize = 7;
/// Lines that wait for the disk; more are dropped. Room for all of them is taken at the start, for the daemon's
/// life.
const WAITING: usize = 8_192;
/// The files are `muxd.DATE.log`.
const NAME: &str = "muxd";

/// What rmcp logs here are whole messages, the ids of sessions, codes that tokens are given for: none of it
/// stands in a log, whoever asks for more.
const MESSAGES: &str = "rmcp::service=warn,rmcp::transport=warn";

/// The cache's store tells every page that it writes. Who wants to hear that names it.
fn quiet(filter: &str) -> String {
    match filter.contains(CHATTY) {
        true => format!("{filter},{MESSAGES}"),
        false => format!("{filter},{CHATTY}=warn,{MESSAGES}"),
    }
}

/// Starts logging to `dir`, panics included. The guard flushes when it is dropped; keep it until the end.
pub fn start(dir: &Path, filter: Option<&str>) -> io::Result<WorkerGuard> {
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(NAME)
        .filename_suffix("log")
        .max_log_files(KEPT)
        .build(dir)
        .map_err(io::Error::other)?;
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING)
        .finish(appender);
    let filter = filter
        .and_then(|text| EnvFilter::try_new(quiet(text)).ok())
        .unwrap_or_else(|| EnvFilter::new(quiet("info")));
    // A second daemon in one process, as tests have it, keeps the first one's log.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(writer)
            .with_ansi(false)
            .try_init(),
    );
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        // A task that panics ends alone, and nobody reads our standard error.
        error!("{panicked}");
        told(panicked);
    }));
    Ok(guard)
}
