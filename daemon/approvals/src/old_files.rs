//! Approvals and runs in the files of builds before the history: one record and one journal of calls for each owner.
//!
//! They are read once, at the first start of this build, and then removed. Invariant: a file is removed only after the
//! history has its content durably.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;

use mux_caller::ClientOrigin;
use mux_files::atomic_file;
use mux_journal::{
    CallState, History, LoggedCall, Program, ProgramLanguage, history::HeldApproval,
};

/// The version of records and of journals.
const FILE_VERSION: u32 = 2;
const MAX_RECORD_BYTES: u64 = 192 << 20;
const MAX_JOURNAL_BYTES: u64 = 256 << 20;

#[derive(Deserialize)]
struct OldRecord {
    version: u32,
    run: Option<String>,
    resumes: Option<String>,
    client: String,
    agent: Option<String>,
    workspace: Option<PathBuf>,
    approvals: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OldLine {
    Program(OldProgram),
    Call {
        #[serde(flatten)]
        call: LoggedCall,
    },
    Step {
        place: usize,
        step: CallState,
    },
    Full,
}

#[derive(Deserialize)]
struct OldProgram {
    version: u32,
    source: Arc<str>,
    name: Option<Arc<str>>,
    #[serde(default)]
    steps: bool,
    input: Arc<str>,
    wall_ms: u64,
}

/// Moves all files in `folder` into the history. Returns the problems.
pub(super) fn import(folder: &Path, history: &History) -> Vec<String> {
    let mut problems = Vec::new();
    let mut records = Vec::new();
    let mut replaced = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().and_then(OsStr::to_str) != Some("json") {
            continue;
        }
        match read_record(&path) {
            Ok(record) => {
                replaced.extend(record.resumes.clone());
                records.push((path, record));
            }
            Err(error) => problems.push(unusable(&path, &error)),
        }
    }
    for (path, record) in records {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // The daemon died while it replaced this record.
        let is_replaced = replaced.contains(&*stem);
        let moved = if is_replaced {
            Ok(())
        } else {
            move_record(&path, &stem, record, history)
        };
        match moved {
            Ok(()) => {
                for done in [&path, &path.with_extension("calls")] {
                    drop(atomic_file::remove(done));
                }
            }
            Err(error) => problems.push(unusable(&path, &error)),
        }
    }
    problems
}

fn unusable(path: &Path, error: &io::Error) -> String {
    format!("{} is not a valid approval record: {error}", path.display())
}

fn read_record(path: &Path) -> io::Result<OldRecord> {
    let text = atomic_file::read(path, MAX_RECORD_BYTES)?;
    let record: OldRecord = serde_json::from_str(&text.unwrap_or_default())?;
    match record.version {
        FILE_VERSION => Ok(record),
        other => Err(io::Error::other(format!("unsupported version {other}"))),
    }
}

fn move_record(path: &Path, stem: &str, record: OldRecord, history: &History) -> io::Result<()> {
    let origin = Arc::new(ClientOrigin {
        client: record.client,
        agent: record.agent,
        workspace: record.workspace,
        ..ClientOrigin::default()
    });
    let (program, calls) = read_journal(&path.with_extension("calls"), &origin)?;
    let approvals = record.approvals.into_iter();
    let approvals: Vec<HeldApproval> = approvals
        .filter_map(|approval| {
            Some(HeldApproval {
                number: approval.get("number")?.as_u64()?,
                answer: approval.get("answer").map(Value::to_string),
                subject: approval.to_string(),
            })
        })
        .collect();
    if approvals.is_empty() {
        return Ok(());
    }
    let owner = record.run.unwrap_or_else(|| stem.to_owned());
    history
        .import_held(owner, program, calls, approvals)
        .map_err(io::Error::other)
}

/// The program of a journal, and its calls. The calls are `None` if they exceeded their limit.
fn read_journal(
    path: &Path,
    origin: &Arc<ClientOrigin>,
) -> io::Result<(Program, Option<Vec<LoggedCall>>)> {
    let Some(file) = atomic_file::open(path, MAX_JOURNAL_BYTES)? else {
        return Err(io::Error::other("its calls are missing"));
    };
    let mut program = Program::default();
    let mut calls = Some(Vec::new());
    for line in BufReader::new(file).lines() {
        // A line without its end was not written completely. What it records has not happened.
        let Ok(line) = serde_json::from_str(&line?) else {
            break;
        };
        match (line, calls.as_mut()) {
            (OldLine::Program(first), _) if first.version == FILE_VERSION => {
                program = Program {
                    language: if first.steps {
                        ProgramLanguage::Json
                    } else {
                        ProgramLanguage::TypeScript
                    },
                    source: first.source,
                    title: first.name.as_deref().unwrap_or_default().to_owned(),
                    name: first.name,
                    input: first.input,
                    wall: Duration::from_millis(first.wall_ms),
                    origin: Arc::clone(origin),
                };
            }
            (OldLine::Full, _) => calls = None,
            (OldLine::Call { call }, Some(calls)) => calls.push(call),
            (OldLine::Step { place, step }, Some(calls)) if place < calls.len() => {
                calls[place].state = step;
            }
            _ => return Err(io::Error::other("malformed journal")),
        }
    }
    Ok((program, calls))
}
