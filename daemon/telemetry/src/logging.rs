//! The daemon's log: `muxd.log` and its rotated files, of bounded size.
//!
//! Invariant: nothing is written to standard output or error, which a client may read. A log that cannot be written
//! does not keep the daemon from serving. The log contains no token in a published format.

use std::{
    borrow::Cow,
    fs,
    io::{self, Write},
    panic,
    path::Path,
    time::Duration,
};

use mux_secrets::Masker;
use tracing::{error, warn};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use mux_files::rotating_log::{RotatingLog, sweep_logs};

const LOG_FILE_NAME: &str = "muxd.log";
/// Lines that wait for the disk; more are dropped. The queue's memory is allocated at the start.
const MAX_QUEUED_LINES: usize = 8_192;
/// The retention of the daily logs that earlier builds wrote.
const DAILY_LOG_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The maximum size of the logs of all servers, including removed ones.
const MAX_SERVER_LOG_BYTES: u64 = 1 << 30;

/// Silences rmcp targets that log whole messages, session IDs and authorization codes, whatever filter is configured.
const RMCP_LOG_FILTER: &str = "rmcp::service=warn,rmcp::transport=warn";

/// Targets that are silenced unless a filter names them: the cache's store, which logs every page that it writes, and
/// the spans of requests, which repeat identifiers and deadlines before each line.
const QUIET_TARGETS: &[&str] = &["sled", "tarpc"];

/// Adds the silenced targets to a filter.
fn add_silenced_targets(filter: &str) -> String {
    let quiet = QUIET_TARGETS
        .iter()
        .filter(|target| !filter.contains(**target));
    let quiet: String = quiet.map(|target| format!("{target}=warn,")).collect();
    format!("{filter},{quiet}{RMCP_LOG_FILTER}")
}

/// Starts logging to `dir`, including panics. The guard flushes when it is dropped: keep it until the end.
pub fn start_logging(dir: &Path, filter: Option<&str>) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_QUEUED_LINES)
        .finish(RotatingLog::new(dir.join(LOG_FILE_NAME)));
    let filter = filter
        .and_then(|text| EnvFilter::try_new(add_silenced_targets(text)).ok())
        .unwrap_or_else(|| EnvFilter::new(add_silenced_targets("info")));
    // A second daemon in one process, as in tests, uses the first one's log.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(move || MaskedLog(writer.clone()))
            .with_ansi(false)
            .try_init(),
    );
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        // A panic ends only its task, and standard error is not read.
        error!("{panicked}");
        default_hook(panicked);
    }));
    remove_daily_logs(dir);
    guard
}

/// Masks tokens in published formats, whichever library or server put them into a message.
struct MaskedLog(NonBlocking);

impl Write for MaskedLog {
    /// Writes one event, as the formatter passes it.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let masked = Masker::default().text(&text);
        self.0.write_all(one_line(&masked).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes line ends within an event, so that quoted text cannot look like another event.
fn one_line(event: &str) -> Cow<'_, str> {
    let (body, end) = match event.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (event, ""),
    };
    match body.contains(['\n', '\r']) {
        true => format!("{}{end}", body.replace('\r', "\\r").replace('\n', "\\n")).into(),
        false => event.into(),
    }
}

/// Removes the oldest server logs beyond the size limit.
pub fn sweep_server_logs(folder: &Path) {
    if let Err(error) = sweep_logs(folder, MAX_SERVER_LOG_BYTES) {
        warn!(%error, "cannot remove old server logs");
    }
}

fn remove_daily_logs(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_of_a_day = name.starts_with("muxd.2") && name.ends_with(".log");
        let age = entry.metadata().and_then(|found| found.modified());
        let age = age.ok().and_then(|then| then.elapsed().ok());
        if is_of_a_day && age.is_some_and(|age| age > DAILY_LOG_RETENTION) {
            // The next start tries again.
            drop(fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_targets_are_silenced_unless_the_filter_names_them() {
        for (filter, all) in [
            ("info", "info,sled=warn,tarpc=warn,"),
            ("info,tarpc=debug", "info,tarpc=debug,sled=warn,"),
        ] {
            let expected = format!("{all}{RMCP_LOG_FILTER}");
            assert_eq!(add_silenced_targets(filter), expected);
        }
    }

    #[test]
    fn event_is_one_line_whatever_it_quotes() {
        for (event, line) in [
            ("INFO a\n", "INFO a\n"),
            ("INFO a\nERROR b\r\n", "INFO a\\nERROR b\\r\n"),
            ("INFO a\n\n", "INFO a\\n\n"),
            ("INFO a", "INFO a"),
        ] {
            assert_eq!(one_line(event), line);
        }
    }
}
