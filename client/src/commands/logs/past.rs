//! Reads the latest matching lines of a log.

use std::io;

use super::{
    backward::Backward,
    family::{Family, LogFile},
    wanted::Wanted,
};
use crate::log_line::{Before, Line};

/// Maximum consecutive lines without a time that are attributed to the line before them.
const MOST_BEHIND: usize = 1000;

/// The latest matching lines of a log, and where to continue.
pub(super) struct Past {
    /// The oldest first.
    pub(super) lines: Vec<Line>,
    /// The latest file, and how much of it was read.
    pub(super) read: Option<(LogFile, u64)>,
    /// What a line without a time takes from the last line, matching or not.
    pub(super) before: Before,
}

/// `whole`: a line that is not terminated yet is left for later.
pub(super) fn past(family: &Family, wanted: &Wanted, most: usize, whole: bool) -> io::Result<Past> {
    let mut found = Found {
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
            end = Backward::new(log.file.try_clone()?, end).whole()?;
        }
        let mut lines = Backward::new(log.file.try_clone()?, end);
        while (!found.is_over || found.before.is_none())
            && let Some((kept, length)) = lines.next()?
        {
            found.take(Line::read(&family.source, &kept, length));
        }
        read.get_or_insert((log, end));
        found.untimed();
        if found.is_over {
            break;
        }
    }
    found.lines.reverse();
    Ok(Past {
        lines: found.lines,
        read,
        before: found.before.unwrap_or_default(),
    })
}

/// Collects matching lines, from the last to the first.
struct Found<'a> {
    wanted: &'a Wanted,
    most: usize,
    lines: Vec<Line>,
    /// Lines without a time, until the line before them is known.
    behind: Vec<Line>,
    before: Option<Before>,
    is_over: bool,
}

impl Found<'_> {
    fn take(&mut self, line: Line) {
        if line.time.is_none() {
            self.behind.push(line);
            if self.behind.len() >= MOST_BEHIND {
                self.untimed();
            }
            return;
        }
        let before = line.before();
        for mut behind in std::mem::take(&mut self.behind) {
            behind.follow(&before);
            self.keep(behind);
        }
        self.before.get_or_insert(before);
        self.is_over |= self.wanted.is_before(&line);
        self.keep(line);
    }

    /// Keeps the lines without a time that follow no line with one.
    fn untimed(&mut self) {
        for line in std::mem::take(&mut self.behind) {
            self.before.get_or_insert_default();
            self.keep(line);
        }
    }

    fn keep(&mut self, line: Line) {
        if self.lines.len() < self.most && self.wanted.has(&line) {
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
        super::family::{Of, families},
        *,
    };
    use crate::args::Lines;

    fn family(home: &Path, files: &[(&str, &str)]) -> Family {
        let dirs = Dirs::under(home).unwrap();
        dirs.prepare().unwrap();
        for (name, text) in files {
            fs::write(dirs.logs().join(name), text).unwrap();
        }
        families(&dirs, Of::All).remove(0)
    }

    fn texts(past: &Past) -> Vec<&str> {
        past.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn the_latest_lines_are_found_across_files() {
        let home = tempfile::tempdir().unwrap();
        let time = |second: u32| format!("2026-11-22T08:00:{second:02}Z");
        let (a, b, c) = (time(1), time(2), time(3));
        let family = family(
            home.path(),
            &[
                ("muxd.log.2", &format!("rubbish\n{a} INFO one\n")),
                ("muxd.log.1", &format!("{b} WARN two\n  of two\n")),
                ("muxd.log", &format!("{c} INFO three\nhal")),
            ],
        );
        let all = Wanted::default();
        let look = |most, whole| past(&family, &all, most, whole).unwrap();
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
        let since = Lines {
            since: Some(b),
            ..Lines::default()
        };
        let since = Wanted::of(&since).unwrap();
        let found = past(&family, &since, usize::MAX, true).unwrap();
        assert_eq!(texts(&found), ["two", "  of two", "three"]);
    }

    #[test]
    fn empty_log_has_no_lines() {
        let home = tempfile::tempdir().unwrap();
        let family = family(home.path(), &[("muxd.log", "")]);
        let past = past(&family, &Wanted::default(), 5, true).unwrap();
        assert!(past.lines.is_empty() && past.read.unwrap().1 == 0);
    }
}
