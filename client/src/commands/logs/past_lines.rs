//! Reads the latest matching lines of a log.

use std::io;

use super::{
    backward_lines::BackwardLines,
    log_files::{LogFile, LogFileSet},
    log_filter::LogFilter,
};
use crate::log_line::{LineContext, LogLine};

/// Maximum consecutive lines without a time that are attributed to the line before them.
const MAX_UNTIMED_LINES: usize = 1000;

/// The latest matching lines of a log, and where to continue.
pub(super) struct PastLines {
    /// The oldest first.
    pub(super) lines: Vec<LogLine>,
    /// The latest file, and how much of it was read.
    pub(super) read: Option<(LogFile, u64)>,
    /// The context that a line without a time inherits from the last line, matching or not.
    pub(super) before: LineContext,
}

/// `whole`: a line that is not terminated yet is left for later.
pub(super) fn read_past_lines(
    family: &LogFileSet,
    wanted: &LogFilter,
    most: usize,
    whole: bool,
) -> io::Result<PastLines> {
    let mut found = LineCollector {
        wanted,
        most,
        lines: Vec::new(),
        behind: Vec::new(),
        before: None,
        is_over: most == 0,
    };
    let mut read = None;
    for path in family.files().iter().rev() {
        let Some(log) = LogFile::open(path)? else {
            continue;
        };
        let mut end = log.length;
        if whole && read.is_none() {
            end = BackwardLines::new(log.file.try_clone()?, end).end_of_terminated_lines()?;
        }
        let mut lines = BackwardLines::new(log.file.try_clone()?, end);
        while (!found.is_over || found.before.is_none())
            && let Some((kept, length)) = lines.next()?
        {
            found.collect_line(LogLine::parse_log_line(&family.source, &kept, length));
        }
        read.get_or_insert((log, end));
        found.flush_untimed();
        if found.is_over {
            break;
        }
    }
    found.lines.reverse();
    Ok(PastLines {
        lines: found.lines,
        read,
        before: found.before.unwrap_or_default(),
    })
}

/// Collects matching lines, from the last to the first.
struct LineCollector<'a> {
    wanted: &'a LogFilter,
    most: usize,
    lines: Vec<LogLine>,
    /// Lines without a time, until the line before them is known.
    behind: Vec<LogLine>,
    before: Option<LineContext>,
    is_over: bool,
}

impl LineCollector<'_> {
    fn collect_line(&mut self, line: LogLine) {
        if line.time.is_none() {
            self.behind.push(line);
            if self.behind.len() >= MAX_UNTIMED_LINES {
                self.flush_untimed();
            }
            return;
        }
        let before = line.line_context();
        for mut behind in std::mem::take(&mut self.behind) {
            behind.inherit_context(&before);
            self.keep_if_matching(behind);
        }
        self.before.get_or_insert(before);
        self.is_over |= self.wanted.is_too_old(&line);
        self.keep_if_matching(line);
    }

    /// Keeps the lines without a time that do not follow a line with a time.
    fn flush_untimed(&mut self) {
        for line in std::mem::take(&mut self.behind) {
            self.before.get_or_insert_default();
            self.keep_if_matching(line);
        }
    }

    fn keep_if_matching(&mut self, line: LogLine) {
        if self.lines.len() < self.most && self.wanted.matches_line(&line) {
            self.lines.push(line);
        }
        self.is_over |= self.lines.len() >= self.most;
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use mux_proto::endpoint::Dirs;

    use super::{
        super::log_files::{LogSelection, select_logs},
        *,
    };
    use crate::args::LogLinesArgs;

    fn family(home: &Path, files: &[(&str, &str)]) -> LogFileSet {
        let dirs = Dirs::under(home).unwrap();
        dirs.prepare().unwrap();
        for (name, text) in files {
            fs::write(dirs.logs().join(name), text).unwrap();
        }
        select_logs(&dirs, LogSelection::All).remove(0)
    }

    fn texts(past: &PastLines) -> Vec<&str> {
        past.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn the_latest_lines_are_found_across_files() {
        let home = tempfile::tempdir().unwrap();
        let time = |second: u32| format!("2026-11-22T08:00:{second:02}Z");
        let a = time(1);
        let b = time(2);
        let c = time(3);
        let family = family(
            home.path(),
            &[
                ("muxd.log.2", &format!("rubbish\n{a} INFO one\n")),
                ("muxd.log.1", &format!("{b} WARN two\n  of two\n")),
                ("muxd.log", &format!("{c} INFO three\nhal")),
            ],
        );
        let all = LogFilter::default();
        let look = |most, whole| read_past_lines(&family, &all, most, whole).unwrap();
        assert_eq!(texts(&look(2, true)), ["  of two", "three"]);
        let whole = look(10, true);
        assert_eq!(
            texts(&whole),
            ["rubbish", "one", "two", "  of two", "three"]
        );
        assert_eq!(whole.lines[3].time, whole.lines[2].time);
        assert_eq!(whole.lines[0].time, None);
        let read = whole.read.unwrap().1;
        assert_eq!(read, format!("{c} INFO three\n").len() as u64);
        assert_eq!(texts(&look(1, false)), ["hal"]);
        assert!(texts(&look(0, true)).is_empty());
        let since = LogLinesArgs {
            since: Some(b),
            ..LogLinesArgs::default()
        };
        let since = LogFilter::of(&since).unwrap();
        let found = read_past_lines(&family, &since, usize::MAX, true).unwrap();
        assert_eq!(texts(&found), ["two", "  of two", "three"]);
    }

    #[test]
    fn empty_log_has_no_lines() {
        let home = tempfile::tempdir().unwrap();
        let family = family(home.path(), &[("muxd.log", "")]);
        let past = read_past_lines(&family, &LogFilter::default(), 5, true).unwrap();
        assert!(past.lines.is_empty() && past.read.unwrap().1 == 0);
    }
}
