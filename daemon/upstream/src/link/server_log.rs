//! A server's log. Each line begins with the time and the runs with calls in flight there.
//!
//! A server's output names no run. If only one run has calls there, the line is probably about it.
//!
//! Invariant: the first two fields of a line are ours, regardless of the server's output.

use std::{fmt, path::Path, sync::Arc, time::SystemTime};

use mux_files::rotating_log::RotatingLog;

/// The maximum number of runs in one prefix.
const MAX_STAMPED_RUNS: usize = 16;
/// Stands for no runs.
const NO_RUNS_PLACEHOLDER: &str = "-";

/// A server's log, written line by line.
pub(crate) struct ServerLog(RotatingLog);

impl ServerLog {
    pub(crate) fn open(path: &Path) -> Self {
        Self(RotatingLog::new(path.to_owned()))
    }

    pub(crate) fn write(&mut self, line: &str) {
        self.0.append(format!("{line}\n").as_bytes());
    }
}

/// The runs with calls in flight over one link.
pub(crate) trait ActiveRuns: fmt::Debug + Send + Sync {
    fn active_runs(&self) -> Vec<String>;
}

/// Stamps the log lines of one session. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogStamp(Option<Arc<dyn ActiveRuns>>);

impl LogStamp {
    pub(crate) fn of<T: ActiveRuns + 'static>(runs: &Arc<T>) -> Self {
        Self(Some(Arc::<T>::clone(runs)))
    }

    /// `2026-11-22T08:00:00.000000Z RUN,RUN TEXT`
    pub(crate) fn stamp_line(&self, text: &str) -> String {
        let mut runs = self
            .0
            .as_ref()
            .map(|it| it.active_runs())
            .unwrap_or_default();
        runs.truncate(MAX_STAMPED_RUNS);
        let runs = if runs.is_empty() {
            NO_RUNS_PLACEHOLDER.to_owned()
        } else {
            runs.join(",")
        };
        let now = humantime::format_rfc3339_micros(SystemTime::now());
        // Otherwise the further lines would have no prefix.
        let text = text.replace('\n', "\\n");
        format!("{now} {runs} {text}")
    }
}
