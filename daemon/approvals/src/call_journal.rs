//! The calls of a run that waits, on the disk: each is written once, at the end of a file that grows.
//!
//! Invariant: a call that may have been sent stands in it, on the disk. A last line that is torn says nothing: what it
//! would have said did not happen before it was whole.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::call_log::{LoggedCall, LoggedCallState};
use mux_files::atomic_file;

const JOURNAL_VERSION: u32 = 2;
/// A program, its input and its log have their own limits, which are less, however they are spelled as JSON.
const MAX_JOURNAL_BYTES: u64 = 256 << 20;

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalLine {
    /// The first one.
    Program(JournalProgram),
    /// In the order of their places.
    Call {
        place: usize,
        #[serde(flatten)]
        call: LoggedCall,
    },
    /// One of them is further.
    Step { place: usize, step: LoggedCallState },
    /// There are more than may be kept: nobody can tell any more what was made.
    Full,
}

/// A program with what it began with.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct JournalProgram {
    version: u32,
    pub(super) source: Arc<str>,
    /// It is a program of steps.
    #[serde(default)]
    pub(super) steps: bool,
    pub(super) input: Arc<str>,
    pub(super) wall_ms: u64,
}

impl JournalProgram {
    pub(super) fn new(source: &Arc<str>, steps: bool, input: &Arc<str>, wall_ms: u64) -> Self {
        Self {
            version: JOURNAL_VERSION,
            source: Arc::clone(source),
            steps,
            input: Arc::clone(input),
            wall_ms,
        }
    }
}

/// One that is written to.
#[derive(Debug)]
pub(super) struct CallJournal {
    file: File,
    /// Up to here it is whole.
    length: u64,
    /// Something of it may not be on the disk yet.
    unsynced: bool,
}

impl CallJournal {
    /// On the disk when it returns.
    pub(super) fn create(
        path: &Path,
        program: JournalProgram,
        calls: &[JournalLine],
    ) -> io::Result<Self> {
        let mut file = atomic_file::write_with(path, |file| {
            write_line(file, &JournalLine::Program(program))?;
            calls.iter().try_for_each(|line| write_line(file, line))
        })?;
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            length,
            unsynced: false,
        })
    }

    /// After an error nobody knows what stands in it.
    pub(super) fn append(&mut self, lines: &[JournalLine]) -> io::Result<()> {
        let mut text = Vec::new();
        lines
            .iter()
            .try_for_each(|line| write_line(&mut text, line))?;
        if text.is_empty() {
            return Ok(());
        }
        self.unsynced = true;
        if let Err(error) = self.file.write_all(&text) {
            // Half a line more would spoil the next one.
            drop(self.file.set_len(self.length));
            return Err(error);
        }
        self.length += text.len() as u64;
        Ok(())
    }

    /// All of it is on the disk when it returns.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if self.unsynced {
            self.file.sync_data()?;
            self.unsynced = false;
        }
        Ok(())
    }
}

fn write_line(file: &mut dyn Write, line: &JournalLine) -> io::Result<()> {
    serde_json::to_writer(&mut *file, line)?;
    file.write_all(b"\n")
}

/// The program and its calls, or no calls if they were more than may be kept. `None` if there is no such file.
pub(super) fn read_journal(
    path: &Path,
) -> io::Result<Option<(JournalProgram, Option<Vec<LoggedCall>>)>> {
    let Some(file) = atomic_file::open(path, MAX_JOURNAL_BYTES)? else {
        return Ok(None);
    };
    let mut file = BufReader::new(file.take(MAX_JOURNAL_BYTES));
    let (mut program, mut calls, mut text) = (None, Some(Vec::new()), Vec::new());
    loop {
        text.clear();
        file.read_until(b'\n', &mut text)?;
        if text.last() != Some(&b'\n') {
            break;
        }
        match serde_json::from_slice(&text)? {
            JournalLine::Program(first)
                if program.is_none() && first.version == JOURNAL_VERSION =>
            {
                program = Some(first);
            }
            JournalLine::Full => calls = None,
            line => match (line, calls.as_mut()) {
                (JournalLine::Call { place, call }, Some(calls)) if calls.len() == place => {
                    calls.push(call);
                }
                (JournalLine::Step { place, step }, Some(calls)) if place < calls.len() => {
                    calls[place].step = step;
                }
                _ => return Err(malformed_journal()),
            },
        }
    }
    let program = program.ok_or_else(malformed_journal)?;
    Ok(Some((program, calls)))
}

fn malformed_journal() -> io::Error {
    io::Error::other("it is not as muxd writes it")
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use mux_wire::{Fault, Kind, Target};

    use super::*;
    use crate::call_log::{BegunCall, CallLog};

    fn program() -> JournalProgram {
        JournalProgram::new(&"return 1".into(), false, &"null".into(), 30_000)
    }

    fn begun(log: &mut CallLog, tool: &str) -> BegunCall {
        let target = Target::Path {
            path: format!("s.{tool}"),
            raw: false,
        };
        log.begin(&target, &"{}".into())
    }

    fn made(log: &mut CallLog, tool: &str) -> usize {
        match begun(log, tool) {
            BegunCall::New(Some(place)) => place,
            other => panic!("{tool}: {other:?}"),
        }
    }

    fn known(path: &Path, tool: &str) -> Result<String, Kind> {
        let (_, calls) = read_journal(path).unwrap().unwrap();
        match begun(&mut CallLog::new(1 << 20, calls.unwrap()), tool) {
            BegunCall::Known(outcome) => outcome
                .map(|text| text.to_string())
                .map_err(|fault| fault.kind),
            BegunCall::New(_) => Err(Kind::NotFound),
        }
    }

    #[test]
    fn what_is_appended_is_what_the_log_says_and_each_call_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.calls");
        let mut log = CallLog::new(1 << 20, Vec::new());
        let first = made(&mut log, "first");
        let mut journal = CallJournal::create(&path, program(), &log.all_lines()).unwrap();
        log.end(first, &Ok("x".repeat(100_000)));
        journal.append(&log.unwritten_lines()).unwrap();
        let (asked, open) = (made(&mut log, "asked"), made(&mut log, "open"));
        log.set_asked(asked, true);
        journal.append(&log.unwritten_lines()).unwrap();
        assert!(journal.length < 101_000 && log.unwritten_lines().is_empty());
        let denied = Err(Fault::new(Kind::Denied, "no"));
        log.set_asked(asked, false);
        log.end(asked, &denied);
        journal.append(&log.unwritten_lines()).unwrap();
        journal.sync().unwrap();
        assert_eq!(known(&path, "first").unwrap().len(), 100_000);
        assert_eq!(known(&path, "asked"), Err(Kind::Denied));
        assert_eq!(known(&path, "open"), Err(Kind::UnknownOutcome));
        assert_eq!(known(&path, "other"), Err(Kind::NotFound));
        log.end(open, &Ok("3".into()));
        journal.append(&log.unwritten_lines()).unwrap();
        // The daemon dies within a line.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert_eq!(known(&path, "open"), Err(Kind::UnknownOutcome));
        assert_eq!(known(&path, "asked"), Err(Kind::Denied));
    }

    #[test]
    fn what_is_too_much_or_spoiled_is_told_and_never_half_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.calls");
        assert!(read_journal(&path).unwrap().is_none());
        let mut log = CallLog::new(1_000, Vec::new());
        let place = made(&mut log, "a");
        let mut journal = CallJournal::create(&path, program(), &log.all_lines()).unwrap();
        log.end(place, &Ok("x".repeat(2_000)));
        journal.append(&log.unwritten_lines()).unwrap();
        journal.append(&log.unwritten_lines()).unwrap();
        assert!(journal.length < 1_000);
        assert!(read_journal(&path).unwrap().unwrap().1.is_none());
        for line in [
            "{}",
            "{\"step\":{\"place\":7,\"step\":\"open\"}}",
            "rubbish",
        ] {
            CallJournal::create(&path, program(), &[]).unwrap();
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(format!("{line}\n").as_bytes()).unwrap();
            assert!(read_journal(&path).is_err(), "{line}");
        }
    }
}
