//! Filters log lines by the options of `mux logs`. Pure, except for the clock.

use std::time::SystemTime;

use super::super::moment;
use crate::{
    args::{Level, Lines},
    log_line::Line,
};

#[derive(Debug, Default)]
pub(super) struct Wanted {
    since: Option<SystemTime>,
    run: Option<String>,
    level: Option<Level>,
}

impl Wanted {
    pub(super) fn of(args: &Lines) -> Result<Self, String> {
        Ok(Self {
            since: args.since.as_deref().map(moment::since).transpose()?,
            run: args.run.clone(),
            level: args.level,
        })
    }

    pub(super) fn has(&self, line: &Line) -> bool {
        let run = self.run.as_deref();
        let is_of = |run: &str| line.runs.iter().any(|id| moment::is_run(id, run));
        !self.is_before(line)
            && run.is_none_or(is_of)
            // Most lines of servers have no level.
            && self.level.is_none_or(|least| line.level.unwrap_or(Level::Info) >= least)
    }

    /// Whether the line is so old that no line before it can match either.
    pub(super) fn is_before(&self, line: &Line) -> bool {
        self.since
            .is_some_and(|since| line.time.is_none_or(|time| time < since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_line::Source;

    #[test]
    fn lines_are_filtered_by_time_run_and_level() {
        let read = |source: &Source, text: &str| Line::read(source, text.as_bytes(), 0);
        let daemon = "2026-11-22T08:00:00.123456Z  WARN run{id=\"f3a-12\"}: x";
        let daemon = read(&Source::Daemon, daemon);
        let server = Source::Server("s".into());
        let server = read(&server, "2026-11-22T08:00:01.000000Z f3a-12,f3a-2 x");
        let rubbish = read(&Source::Daemon, "rubbish");
        let args = Lines::default;
        let text = |text: &str| Some(text.to_owned());
        for (args, expected) in [
            (args(), [true, true, true]),
            (
                Lines {
                    run: text("12"),
                    ..args()
                },
                [true, true, false],
            ),
            (
                Lines {
                    run: text("f3a-2"),
                    ..args()
                },
                [false, true, false],
            ),
            (
                Lines {
                    level: Some(Level::Warn),
                    ..args()
                },
                [true, false, false],
            ),
            (
                Lines {
                    level: Some(Level::Info),
                    ..args()
                },
                [true, true, true],
            ),
            (
                Lines {
                    since: text("2026-11-22T08:00:01Z"),
                    ..args()
                },
                [false, true, false],
            ),
        ] {
            let wanted = Wanted::of(&args).unwrap();
            let found = [&daemon, &server, &rubbish].map(|line| wanted.has(line));
            assert_eq!(found, expected, "{args:?}");
        }
        let since = text("yesterday");
        assert!(Wanted::of(&Lines { since, ..args() }).is_err());
    }
}
