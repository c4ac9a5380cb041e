//! The on-disk journal of the calls of a waiting run: an append-only file in which each call is written once.
//!
//! Invariant: every call that may have been sent is in the journal on disk. A torn last line is ignored, because the
//! event that it records happens only after the line is complete.

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
/// More than the limits of a program, its input and its log allow, in any JSON escaping.
const MAX_JOURNAL_BYTES: u64 = 256 << 20;

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalLine {
    /// Always the first line.
    Program(JournalProgram),
    /// A call. Lines are in the order of `place`.
    Call {
        place: usize,
        #[serde(flatten)]
        call: LoggedCall,
    },
    /// The new state of an earlier call.
    Step { place: usize, step: LoggedCallState },
    /// The calls exceed the log limit: the run cannot be resumed.
    Full,
}

/// A program with its input and time limit.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct JournalProgram {
    version: u32,
    pub(super) source: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Arc<str>>,
    /// Set for a step program (JSON), as opposed to TypeScript.
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
            name: None,
            steps,
            input: Arc::clone(input),
            wall_ms,
        }
    }
}

/// A journal that is open for appending.
#[derive(Debug)]
pub(super) struct CallJournal {
    file: File,
    /// The length up to the last complete line.
    length: u64,
    /// Set if appended lines may not be on disk yet.
    unsynced: bool,
}

impl CallJournal {
    /// Writes a new journal, which is on disk when this returns.
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

    /// Appends lines without a sync. After an error the content of the file is unknown.
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
            // A partial line would corrupt the next line.
            drop(self.file.set_len(self.length));
            return Err(error);
        }
        self.length += text.len() as u64;
        Ok(())
    }

    /// Returns when all appended lines are on disk.
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

/// The program and its calls. The calls are `None` if they exceeded the log limit. `None` if there is no such file.
pub(super) fn read_journal(
    path: &Path,
) -> io::Result<Option<(JournalProgram, Option<Vec<LoggedCall>>)>> {
    let Some(file) = atomic_file::open(path, MAX_JOURNAL_BYTES)? else {
        return Ok(None);
    };
    let mut file = BufReader::new(file.take(MAX_JOURNAL_BYTES));
    let mut program = None;
    let mut calls = Some(Vec::new());
    let mut text = Vec::new();
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
    io::Error::other("malformed journal")
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use mux_wire::{CallTarget, Fault, FaultKind};

    use super::*;
    use crate::call_log::{BegunCall, CallLog};

    fn program() -> JournalProgram {
        JournalProgram::new(&"return 1".into(), false, &"null".into(), 30_000)
    }

    fn begun(log: &mut CallLog, tool: &str) -> BegunCall {
        let target = CallTarget::Path {
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

    fn known(path: &Path, tool: &str) -> Result<String, FaultKind> {
        let (_, calls) = read_journal(path).unwrap().unwrap();
        match begun(&mut CallLog::new(1 << 20, calls.unwrap()), tool) {
            BegunCall::Known(outcome) => outcome
                .map(|text| text.to_string())
                .map_err(|fault| fault.kind),
            BegunCall::New(_) => Err(FaultKind::NotFound),
        }
    }

    #[test]
    fn journal_matches_the_log_and_writes_each_call_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.calls");
        let mut log = CallLog::new(1 << 20, Vec::new());
        let first = made(&mut log, "first");
        let mut journal = CallJournal::create(&path, program(), &log.all_lines()).unwrap();
        log.end(first, &Ok("x".repeat(100_000)));
        journal.append(&log.unwritten_lines()).unwrap();
        let asked = made(&mut log, "asked");
        let open = made(&mut log, "open");
        log.set_asked(asked, true);
        journal.append(&log.unwritten_lines()).unwrap();
        assert!(journal.length < 101_000 && log.unwritten_lines().is_empty());
        let denied = Err(Fault::new(FaultKind::Denied, "no"));
        log.set_asked(asked, false);
        log.end(asked, &denied);
        journal.append(&log.unwritten_lines()).unwrap();
        journal.sync().unwrap();
        assert_eq!(known(&path, "first").unwrap().len(), 100_000);
        assert_eq!(known(&path, "asked"), Err(FaultKind::Denied));
        assert_eq!(known(&path, "open"), Err(FaultKind::UnknownOutcome));
        assert_eq!(known(&path, "other"), Err(FaultKind::NotFound));
        log.end(open, &Ok("3".into()));
        journal.append(&log.unwritten_lines()).unwrap();
        // The daemon dies in the middle of a line.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert_eq!(known(&path, "open"), Err(FaultKind::UnknownOutcome));
        assert_eq!(known(&path, "asked"), Err(FaultKind::Denied));
    }

    #[test]
    fn full_journal_has_no_calls_and_malformed_journal_is_an_error() {
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
        drop(journal);
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
