//! Reads a log: first its latest lines, then the lines that are appended, across log rotation.
//!
//! Invariant: each line is returned at most once, and whole or cut to [`MAX_LINE_BYTES`] bytes, whenever the log is
//! rotated.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::log_files::{FileIdentity, LogFileSet};
use crate::{
    args::LogLinesArgs,
    log_line::{LineContext, LogLine},
};

/// The rest of a longer line is dropped.
const MAX_LINE_BYTES: usize = 16 << 10;
/// The maximum bytes of a log that are read at a time, to not hold up the other logs.
const MAX_READ_BYTES: u64 = 8 << 20;

pub(super) struct LogTail {
    pub(super) family: LogFileSet,
    open: Option<OpenLog>,
    before: LineContext,
}

struct OpenLog {
    file: File,
    identity: FileIdentity,
    at: u64,
    rest: PartialLine,
}

/// A line whose end is not written yet.
#[derive(Default)]
struct PartialLine {
    kept: Vec<u8>,
    length: u64,
}

/// The first bytes of a line, and the length of the whole line.
type RawLine = (Vec<u8>, u64);

impl LogTail {
    /// Starts at the first file of the log.
    pub(super) fn new(family: LogFileSet) -> Self {
        Self {
            family,
            open: None,
            before: LineContext::default(),
        }
    }

    /// The latest `most` lines that `wanted` matches, the oldest first. With `follows`, a last line without its end is
    /// left to [`Self::read_appended`].
    ///
    /// Whole files are read, the newest first: log rotation limits their size.
    pub(super) fn read_past(
        &mut self,
        wanted: &LogLinesArgs,
        most: usize,
        follows: bool,
    ) -> io::Result<Vec<LogLine>> {
        let mut found = Vec::new();
        let mut context = None;
        for path in self.family.files().iter().rev() {
            let Some(mut open) = OpenLog::open(path)? else {
                continue;
            };
            let keeps_rest = follows && self.open.is_none();
            let mut before = LineContext::default();
            let mut lines = Vec::new();
            let mut is_too_old = false;
            let mut has_lines = false;
            let mut is_read = false;
            while !is_read {
                let mut raw = Vec::new();
                is_read = open.read_to_end(&mut raw)?;
                if is_read && !keeps_rest {
                    open.rest.emit_unterminated(&mut raw);
                }
                has_lines |= !raw.is_empty();
                for line in self.parse_lines(raw, &mut before) {
                    is_too_old |= line.time.is_some() && wanted.is_too_old(&line);
                    if wanted.matches_line(&line) {
                        lines.push(line);
                    }
                }
                lines.drain(..lines.len().saturating_sub(most - found.len()));
            }
            if has_lines {
                context.get_or_insert(before);
            }
            self.open.get_or_insert(open);
            lines.append(&mut found);
            found = lines;
            if context.is_some() && (is_too_old || found.len() >= most) {
                break;
            }
        }
        self.before = context.unwrap_or_default();
        Ok(found)
    }

    /// The complete lines that were appended since the last call.
    pub(super) fn read_appended(&mut self) -> io::Result<Vec<LogLine>> {
        let mut raw = Vec::new();
        // Looked up before the read: once the next file exists, this one is complete.
        let files = self.family.identified_files();
        let known = self.open.as_ref().map(|open| &open.identity);
        let is_known = |(identity, _): &(FileIdentity, PathBuf)| Some(identity) == known;
        let newer = match &files {
            Some(files) => match files.iter().position(is_known) {
                Some(at) => &files[at + 1..],
                // The file was deleted because of its age, so all files that exist are newer.
                None => &files[..],
            },
            // The next call finds them.
            None => &[],
        };
        let is_read = match &mut self.open {
            Some(open) => open.read_to_end(&mut raw)?,
            None => true,
        };
        if is_read {
            for (identity, path) in newer {
                let Some(mut open) = OpenLog::open(path)? else {
                    break;
                };
                if open.identity != *identity {
                    // The files were renamed meanwhile: the next call finds them in order.
                    break;
                }
                if let Some(before) = &mut self.open {
                    before.rest.emit_unterminated(&mut raw);
                }
                let is_read = open.read_to_end(&mut raw)?;
                self.open = Some(open);
                if !is_read {
                    break;
                }
            }
        }
        let mut before = std::mem::take(&mut self.before);
        let lines = self.parse_lines(raw, &mut before).collect();
        self.before = before;
        Ok(lines)
    }

    /// Lines without a time get the context of the line `before` them.
    fn parse_lines(
        &self,
        raw: Vec<RawLine>,
        before: &mut LineContext,
    ) -> impl Iterator<Item = LogLine> {
        raw.into_iter().map(|(kept, length)| {
            let mut line = LogLine::parse_log_line(&self.family.source, &kept, length);
            match line.time {
                Some(_) => *before = line.line_context(),
                None => line.inherit_context(before),
            }
            line
        })
    }
}

impl OpenLog {
    /// `None` if the file was renamed or removed meanwhile.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            identity: FileIdentity::from_file(file.try_clone()?)?,
            file,
            at: 0,
            rest: PartialLine::default(),
        }))
    }

    /// Reads new lines. Returns `true` at the end of the file.
    fn read_to_end(&mut self, lines: &mut Vec<RawLine>) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < self.at {
            // The file was truncated.
            (self.at, self.rest) = (0, PartialLine::default());
        }
        self.file.seek(SeekFrom::Start(self.at))?;
        let mut left = MAX_READ_BYTES;
        let mut block = vec![0; 64 << 10];
        while left > 0 {
            let read = self.file.read(&mut block)?;
            if read == 0 {
                return Ok(true);
            }
            self.at += read as u64;
            left = left.saturating_sub(read as u64);
            for part in block[..read].split_inclusive(|byte| *byte == b'\n') {
                match part.split_last() {
                    Some((b'\n', part)) => {
                        self.rest.add(part);
                        self.rest.emit_line(lines);
                    }
                    _ => self.rest.add(part),
                }
            }
        }
        Ok(false)
    }
}

impl PartialLine {
    fn add(&mut self, part: &[u8]) {
        let room = MAX_LINE_BYTES - self.kept.len();
        self.kept.extend_from_slice(&part[..part.len().min(room)]);
        self.length += part.len() as u64;
    }

    fn emit_line(&mut self, lines: &mut Vec<RawLine>) {
        let Self { kept, length } = std::mem::take(self);
        lines.push((kept, length));
    }

    /// Returns an unterminated line unchanged: the file gets no more data.
    fn emit_unterminated(&mut self, lines: &mut Vec<RawLine>) {
        if self.length > 0 {
            self.emit_line(lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, OpenOptions},
        io::Write as _,
        path::PathBuf,
    };

    use mux_proto::endpoint::Dirs;

    use super::{
        super::log_files::{LogSelection, select_logs},
        *,
    };

    struct Home {
        _folder: tempfile::TempDir,
        logs: PathBuf,
        tail: LogTail,
    }

    impl Home {
        fn new(before: &str) -> Self {
            let home = tempfile::tempdir().unwrap();
            let dirs = Dirs::under(home.path()).unwrap();
            dirs.prepare().unwrap();
            if !before.is_empty() {
                fs::write(dirs.logs().join("muxd.log"), before).unwrap();
            }
            let family = select_logs(&dirs, LogSelection::All).remove(0);
            let mut tail = LogTail::new(family);
            tail.read_past(&LogLinesArgs::default(), 0, true).unwrap();
            Self {
                _folder: home,
                logs: dirs.logs(),
                tail,
            }
        }

        fn write(&self, text: impl AsRef<[u8]>) {
            let path = self.logs.join("muxd.log");
            let mut file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            file.write_all(text.as_ref()).unwrap();
        }

        /// Rotates the log, and keeps `kept` old files.
        fn turn(&self, kept: usize) {
            let name = |number: usize| self.logs.join(format!("muxd.log.{number}"));
            for number in (1..kept).rev() {
                drop(fs::rename(name(number), name(number + 1)));
            }
            fs::rename(self.logs.join("muxd.log"), name(1)).unwrap();
        }

        fn added(&mut self) -> Vec<String> {
            let added = self.tail.read_appended().unwrap();
            added.into_iter().map(|line| line.text).collect()
        }
    }

    #[test]
    fn lines_are_returned_once_and_whole_across_rotation() {
        let mut home = Home::new("old\nhal");
        assert!(home.added().is_empty());
        home.write("f\nnew\nbe");
        assert_eq!(home.added(), ["half", "new"]);
        home.write("gun\n");
        home.turn(2);
        home.write("next\n");
        assert_eq!(home.added(), ["begun", "next"]);
        // Rotated twice between two calls, once within a line.
        home.write("a\nno end");
        home.turn(2);
        home.write("b\n");
        home.turn(2);
        assert_eq!(home.added(), ["a", "no end", "b"]);
        home.write("c\n");
        assert_eq!(home.added(), ["c"]);
        // Rotated so often that the first lines were deleted.
        for text in ["lost", "d", "e"] {
            home.turn(2);
            home.write(format!("{text}\n"));
        }
        assert_eq!(home.added().last().unwrap(), "e");
    }

    #[test]
    fn lines_are_returned_once_while_the_log_is_rotated() {
        const LINES: usize = 200;
        let mut home = Home::new("");
        let logs = home.logs.clone();
        let writer = std::thread::spawn(move || {
            let name = |number: usize| logs.join(format!("muxd.log.{number}"));
            for line in 0..LINES {
                fs::write(logs.join("muxd.log"), format!("{line}\n")).unwrap();
                for number in (1..=line).rev() {
                    fs::rename(name(number), name(number + 1)).unwrap();
                }
                fs::rename(logs.join("muxd.log"), name(1)).unwrap();
            }
        });
        let mut lines = Vec::new();
        while !writer.is_finished() {
            lines.extend(home.added());
        }
        writer.join().unwrap();
        lines.extend(home.added());
        let expected: Vec<String> = (0..LINES).map(|line| line.to_string()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn log_may_be_created_later_or_truncated() {
        let mut home = Home::new("");
        assert!(home.added().is_empty());
        home.write("first\n");
        assert_eq!(home.added(), ["first"]);
        fs::write(home.logs.join("muxd.log"), "x\n").unwrap();
        assert_eq!(home.added(), ["x"]);
        fs::remove_file(home.logs.join("muxd.log")).unwrap();
        assert!(home.added().is_empty());
        home.write("again\n");
        assert_eq!(home.added(), ["again"]);
    }

    #[test]
    fn long_line_is_truncated() {
        let mut home = Home::new("");
        let mut bytes = vec![b'x'; 9 << 20];
        bytes.extend(b"\nshort\n");
        home.write(bytes);
        let mut lines = home.tail.read_appended().unwrap();
        lines.extend(home.tail.read_appended().unwrap());
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (lines[0].text.len(), lines[0].bytes),
            (MAX_LINE_BYTES, Some(9 << 20))
        );
        assert_eq!(lines[1].text, "short");
    }

    fn family(home: &Path, files: &[(&str, &str)]) -> LogFileSet {
        let dirs = Dirs::under(home).unwrap();
        dirs.prepare().unwrap();
        for (name, text) in files {
            fs::write(dirs.logs().join(name), text).unwrap();
        }
        select_logs(&dirs, LogSelection::All).remove(0)
    }

    fn texts(lines: &[LogLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
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
        let all = LogLinesArgs::default();
        let look = |most, follows| {
            let mut tail = LogTail::new(family.clone());
            tail.read_past(&all, most, follows).unwrap()
        };
        assert_eq!(texts(&look(2, true)), ["  of two", "three"]);
        let whole = look(10, true);
        assert_eq!(
            texts(&whole),
            ["rubbish", "one", "two", "  of two", "three"]
        );
        assert_eq!(whole[3].time, whole[2].time);
        assert_eq!(whole[0].time, None);
        assert_eq!(texts(&look(1, false)), ["hal"]);
        assert!(texts(&look(0, true)).is_empty());
        let since = LogLinesArgs {
            since: humantime::parse_rfc3339(&b).ok(),
            ..LogLinesArgs::default()
        };
        let mut tail = LogTail::new(family);
        let found = tail.read_past(&since, usize::MAX, true).unwrap();
        assert_eq!(texts(&found), ["two", "  of two", "three"]);
    }

    #[test]
    fn empty_log_has_no_lines() {
        let home = tempfile::tempdir().unwrap();
        let family = family(home.path(), &[("muxd.log", "")]);
        let mut tail = LogTail::new(family);
        let past = tail.read_past(&LogLinesArgs::default(), 5, true);
        assert!(past.unwrap().is_empty());
    }
}
