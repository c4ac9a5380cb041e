//! Filters log lines by the options of `mux logs`. Pure.

use crate::{
    args::{LogLevel, LogLinesArgs},
    log_line::{LogLine, matches_run},
};

impl LogLinesArgs {
    pub(super) fn matches_line(&self, line: &LogLine) -> bool {
        let run = self.run.as_deref();
        let is_of = |run: &str| line.runs.iter().any(|id| matches_run(id, run));
        !self.is_too_old(line)
            && run.is_none_or(is_of)
            // Most lines of servers have no level.
            && self.level.is_none_or(|least| line.level.unwrap_or(LogLevel::Info) >= least)
    }

    /// Returns true if the line is so old that no line before it can match either.
    pub(super) fn is_too_old(&self, line: &LogLine) -> bool {
        self.since
            .is_some_and(|since| line.time.is_none_or(|time| time < since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_line::LogSource;

    #[test]
    fn lines_are_filtered_by_time_run_and_level() {
        let read =
            |source: &LogSource, text: &str| LogLine::parse_log_line(source, text.as_bytes(), 0);
        let daemon = "2026-11-22T08:00:00.123456Z  WARN run{id=\"f3a-12\"}: x";
        let daemon = read(&LogSource::Daemon, daemon);
        let server = LogSource::Server("s".into());
        let server = read(&server, "2026-11-22T08:00:01.000000Z f3a-12,f3a-2 x");
        let rubbish = read(&LogSource::Daemon, "rubbish");
        let args = LogLinesArgs::default;
        let text = |text: &str| Some(text.to_owned());
        for (args, expected) in [
            (args(), [true, true, true]),
            (
                LogLinesArgs {
                    run: text("12"),
                    ..args()
                },
                [true, true, false],
            ),
            (
                LogLinesArgs {
                    run: text("f3a-2"),
                    ..args()
                },
                [false, true, false],
            ),
            (
                LogLinesArgs {
                    level: Some(LogLevel::Warn),
                    ..args()
                },
                [true, false, false],
            ),
            (
                LogLinesArgs {
                    level: Some(LogLevel::Info),
                    ..args()
                },
                [true, true, true],
            ),
            (
                LogLinesArgs {
                    since: Some(humantime::parse_rfc3339("2026-11-22T08:00:01Z").unwrap()),
                    ..args()
                },
                [false, true, false],
            ),
        ] {
            let found = [&daemon, &server, &rubbish].map(|line| args.matches_line(line));
            assert_eq!(found, expected, "{args:?}");
        }
    }
}
