//! Follows what is appended to a log, across log rotation.
//!
//! Invariant: each line is returned once, and whole or cut to [`KEPT`] bytes, whenever the log is rotated.

use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::{
    backward::KEPT,
    family::{Family, LogFile, identity_of},
};
use crate::log_line::{Before, Line};

/// Maximum bytes of a log that are read at once, so that it does not hold up the others.
const AT_ONCE: u64 = 8 << 20;

pub(super) struct Tail {
    pub(super) family: Family,
    open: Option<Open>,
    before: Before,
}

struct Open {
    log: LogFile,
    at: u64,
    rest: Rest,
}

/// A line whose end is not written yet.
#[derive(Default)]
struct Rest {
    kept: Vec<u8>,
    length: u64,
}

impl Tail {
    /// Starts after the part of a file that was read; without one, at the first file of the log.
    pub(super) fn behind(family: Family, read: Option<(LogFile, u64)>, before: Before) -> Self {
        let open = read.map(|(log, at)| Open::new(log, at));
        Self {
            family,
            open,
            before,
        }
    }

    /// The complete lines that were appended since the last call.
    pub(super) fn added(&mut self) -> io::Result<Vec<Line>> {
        let mut raw = Vec::new();
        // Looked up before the read: once the next file exists, this one is complete.
        let files = self.family.files();
        let known = self.open.as_ref().map(|open| open.log.identity);
        let is_known = |path: &std::path::PathBuf| identity_of(path) == known;
        let newer = match files.iter().position(is_known).filter(|_| known.is_some()) {
            Some(at) => &files[at + 1..],
            // It was deleted because of its age, so all files that exist are newer.
            None => &files[..],
        };
        let is_read = match &mut self.open {
            Some(open) => open.read(&mut raw)?,
            None => true,
        };
        if is_read {
            for path in newer {
                let Some(log) = LogFile::open(path)? else {
                    break;
                };
                if self
                    .open
                    .as_ref()
                    .is_some_and(|open| open.log.identity == log.identity)
                {
                    // The files were renamed meanwhile: the next call finds them in order.
                    break;
                }
                if let Some(open) = &mut self.open {
                    open.rest.end(&mut raw);
                }
                let mut open = Open::new(log, 0);
                let is_read = open.read(&mut raw)?;
                self.open = Some(open);
                if !is_read {
                    break;
                }
            }
        }
        let lines = raw.into_iter().map(|(kept, length)| {
            let mut line = Line::read(&self.family.source, &kept, length);
            match line.time {
                Some(_) => self.before = line.before(),
                None => line.follow(&self.before),
            }
            line
        });
        Ok(lines.collect())
    }
}

impl Open {
    fn new(log: LogFile, at: u64) -> Self {
        let rest = Rest::default();
        Self { log, at, rest }
    }

    /// Reads new lines; `true` if it has reached the end of the file.
    fn read(&mut self, lines: &mut Vec<(Vec<u8>, u64)>) -> io::Result<bool> {
        let length = self.log.file.metadata()?.len();
        if length < self.at {
            // The file was truncated.
            (self.at, self.rest) = (0, Rest::default());
        }
        self.log.file.seek(SeekFrom::Start(self.at))?;
        let mut left = AT_ONCE;
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
                        self.rest.give(lines);
                    }
                    _ => self.rest.add(part),
                }
            }
        }
        Ok(false)
    }
}

impl Rest {
    fn add(&mut self, part: &[u8]) {
        let room = KEPT - self.kept.len();
        self.kept.extend_from_slice(&part[..part.len().min(room)]);
        self.length += part.len() as u64;
    }

    fn give(&mut self, lines: &mut Vec<(Vec<u8>, u64)>) {
        let Self { kept, length } = std::mem::take(self);
        lines.push((kept, length));
    }

    /// Returns an unterminated line as it is: the file gets no more data.
    fn end(&mut self, lines: &mut Vec<(Vec<u8>, u64)>) {
        if self.length > 0 {
            self.give(lines);
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
            family::{Of, families},
            past::past,
            wanted::Wanted,
        },
        *,
    };

    struct Home {
        _home: tempfile::TempDir,
        logs: PathBuf,
        tail: Tail,
    }

    impl Home {
        fn new(before: &str) -> Self {
            let home = tempfile::tempdir().unwrap();
            let dirs = Dirs::under(home.path()).unwrap();
            dirs.prepare().unwrap();
            if !before.is_empty() {
                fs::write(dirs.logs().join("muxd.log"), before).unwrap();
            }
            let family = families(&dirs, Of::All).remove(0);
            let past = past(&family, &Wanted::default(), 0, true).unwrap();
            Self {
                _home: home,
                logs: dirs.logs(),
                tail: Tail::behind(family, past.read, past.before),
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
            let added = self.tail.added().unwrap();
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
        // Rotated so often that the first lines are gone.
        for text in ["lost", "d", "e"] {
            home.turn(2);
            home.write(format!("{text}\n"));
        }
        assert_eq!(home.added().last().unwrap(), "e");
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
        let mut lines = home.tail.added().unwrap();
        lines.extend(home.tail.added().unwrap());
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].text.len(), lines[0].bytes), (KEPT, Some(9 << 20)));
        assert_eq!(lines[1].text, "short");
    }
}
