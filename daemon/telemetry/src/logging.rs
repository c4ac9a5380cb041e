//! The daemon's log: `muxd.log` and its rotated files, of bounded size.
//!
//! Invariant: no output goes to standard output or error, which a client may read. A log that cannot be written does
//! not keep the daemon from serving. The log contains no token in a published format.

use std::{
    borrow::Cow,
    fs,
    io::{self, Write},
    panic,
    path::Path,
    thread,
    time::Duration,
};

use mux_secrets::Masker;
use tracing::{error, warn};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use mux_files::rotating_log::{RotatingLog, sweep_logs};

const LOG_FILE_NAME: &str = "muxd.log";
/// The number of lines that wait for the disk. Further lines are dropped. The queue's memory is allocated at the start.
const MAX_QUEUED_LINES: usize = 8_192;
/// How long lines are collected after a write. A line that comes later is written immediately.
const COLLECTION_INTERVAL: Duration = Duration::from_millis(10);
const MAX_COLLECTED_BYTES: usize = 64 << 10;
/// The retention of the daily logs that earlier builds wrote.
const DAILY_LOG_RETENTION: Duration = Duration::from_hours(7 * 24);
/// The maximum size of the logs of all servers, including removed ones.
const MAX_SERVER_LOG_BYTES: u64 = 1 << 30;

/// Silences rmcp targets that log whole messages, session IDs and authorization codes, regardless of the configured
/// filter.
const RMCP_LOG_FILTER: &str = "rmcp::service=warn,rmcp::transport=warn";

/// Targets that are silenced unless a filter names them: the cache's store, which logs every page that it writes, and
/// the spans of requests, which repeat identifiers and deadlines before each line.
const QUIET_TARGETS: &[&str] = &["sled", "tarpc"];

/// Adds the silenced targets to a filter.
fn add_silenced_targets(filter: &str) -> String {
    let quiet = QUIET_TARGETS
        .iter()
        .filter(|target| !filter.contains(**target));
    let quiet: Vec<_> = quiet.map(|target| format!("{target}=warn,")).collect();
    format!("{filter},{}{RMCP_LOG_FILTER}", quiet.concat())
}

/// Starts logging to `dir`, including panics. The guard flushes when it is dropped: keep it until the end.
pub fn start_logging(dir: &Path, filter: Option<&str>) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_QUEUED_LINES)
        .finish(CollectingLog {
            log: RotatingLog::new(dir.join(LOG_FILE_NAME)),
            lines: Vec::new(),
        });
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

/// Writes the lines that have arrived in one piece, and then collects for [`COLLECTION_INTERVAL`]: each write looks at
/// the file first, and each line wakes the thread that writes.
struct CollectingLog {
    log: RotatingLog,
    lines: Vec<u8>,
}

impl Write for CollectingLog {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.lines.extend_from_slice(event);
        if self.lines.len() >= MAX_COLLECTED_BYTES {
            self.write_collected();
        }
        Ok(event.len())
    }

    /// Called by the writing thread when its queue is empty.
    fn flush(&mut self) -> io::Result<()> {
        if !self.lines.is_empty() {
            self.write_collected();
            thread::sleep(COLLECTION_INTERVAL);
        }
        Ok(())
    }
}

impl CollectingLog {
    fn write_collected(&mut self) {
        self.log.append(&self.lines);
        self.lines.clear();
    }
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

/// Escapes line ends within an event. Otherwise quoted text could look like another event.
fn one_line(event: &str) -> Cow<'_, str> {
    let (body, end) = match event.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (event, ""),
    };
    if body.contains(['\n', '\r']) {
        format!("{}{end}", body.replace('\r', "\\r").replace('\n', "\\n")).into()
    } else {
        event.into()
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
    fn collected_lines_are_written_at_the_end_of_the_queue_and_when_there_are_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let written = || fs::read_to_string(&path).unwrap_or_default();
        let mut log = CollectingLog {
            log: RotatingLog::new(path.clone()),
            lines: Vec::new(),
        };
        log.write_all(b"first\n").unwrap();
        log.write_all(b"second\n").unwrap();
        assert_eq!(written(), "");
        log.flush().unwrap();
        assert_eq!(written(), "first\nsecond\n");
        log.flush().unwrap();
        let line = vec![b'x'; MAX_COLLECTED_BYTES];
        log.write_all(&line).unwrap();
        assert_eq!(written().len(), "first\nsecond\n".len() + line.len());
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
