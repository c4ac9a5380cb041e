//! Follows a log across log rotation.
//!
//! Invariant: each line is returned once, and whole or cut to [`MAX_LINE_BYTES`] bytes, whenever the log is rotated.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use super::{
    backward_lines::MAX_LINE_BYTES,
    log_files::{FileIdentity, LogFile, LogFileSet},
};
use crate::log_line::{LineContext, LogLine};

/// The maximum bytes of a log that are read at a time, to not hold up the other logs.
const MAX_READ_BYTES: u64 = 8 << 20;

pub(super) struct LogTail {
    pub(super) family: LogFileSet,
    open: Option<OpenLog>,
    before: LineContext,
}

struct OpenLog {
    log: LogFile,
    at: u64,
    rest: PartialLine,
}

/// A line whose end is not written yet.
#[derive(Default)]
struct PartialLine {
    kept: Vec<u8>,
    length: u64,
}

impl LogTail {
    /// Starts after the part of a file that was read, or, without such a part, at the first file of the log.
    pub(super) fn resume_at(
        family: LogFileSet,
        read: Option<(LogFile, u64)>,
        before: LineContext,
    ) -> Self {
        let open = read.map(|(log, at)| OpenLog::new(log, at));
        Self {
            family,
            open,
            before,
        }
    }

    /// The complete lines that were appended since the last call.
    pub(super) fn read_appended(&mut self) -> io::Result<Vec<LogLine>> {
        let mut raw = Vec::new();
        // Looked up before the read: once the next file exists, this one is complete.
        let files = self.family.identified_files();
        let known = self.open.as_ref().map(|open| &open.log.identity);
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
                let Some(log) = LogFile::open(path)? else {
                    break;
                };
                if log.identity != *identity {
                    // The files were renamed meanwhile: the next call finds them in order.
                    break;
                }
                if let Some(open) = &mut self.open {
                    open.rest.emit_unterminated(&mut raw);
                }
                let mut open = OpenLog::new(log, 0);
                let is_read = open.read_to_end(&mut raw)?;
                self.open = Some(open);
                if !is_read {
                    break;
                }
            }
        }
        let lines = raw.into_iter().map(|(kept, length)| {
            let mut line = LogLine::parse_log_line(&self.family.source, &kept, length);
            match line.time {
                Some(_) => self.before = line.line_context(),
                None => line.inherit_context(&self.before),
            }
            line
        });
        Ok(lines.collect())
    }
}

impl OpenLog {
    fn new(log: LogFile, at: u64) -> Self {
        let rest = PartialLine::default();
        Self { log, at, rest }
    }

    /// Reads new lines. Returns `true` at the end of the file.
    fn read_to_end(&mut self, lines: &mut Vec<(Vec<u8>, u64)>) -> io::Result<bool> {
        let length = self.log.file.metadata()?.len();
        if length < self.at {
            // The file was truncated.
            (self.at, self.rest) = (0, PartialLine::default());
        }
        self.log.file.seek(SeekFrom::Start(self.at))?;
        let mut left = MAX_READ_BYTES;
        let mut block = vec![0; 64 << 10];
        while left > 0 {
            let read = self.log.file.read(&mut block)?;
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

    fn emit_line(&mut self, lines: &mut Vec<(Vec<u8>, u64)>) {
        let Self { kept, length } = std::mem::take(self);
        lines.push((kept, length));
    }

    /// Returns an unterminated line unchanged: the file gets no more data.
    fn emit_unterminated(&mut self, lines: &mut Vec<(Vec<u8>, u64)>) {
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
        super::{
            log_files::{LogSelection, select_logs},
            log_filter::LogFilter,
            past_lines::read_past_lines,
        },
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
            let past = read_past_lines(&family, &LogFilter::default(), 0, true).unwrap();
            Self {
                _folder: home,
                logs: dirs.logs(),
                tail: LogTail::resume_at(family, past.read, past.before),
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
}
