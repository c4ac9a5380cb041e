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
    time::{Duration, UNIX_EPOCH},
};

use serde::Deserialize;

use super::{
    approval_record::stored_approval,
    approval_subject::{
        AnswerStatus, ApprovalCover, ApprovalOwner, ApprovalSnapshot, ApprovalSubject,
        ApprovalVerdict,
    },
};
use mux_caller::ClientOrigin;
use mux_files::atomic_file;
use mux_journal::{CallState, History, LoggedCall, Program};
use mux_messages::Language;
use mux_text::random_name::random_name;

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
    approvals: Vec<OldApproval>,
}

#[derive(Deserialize)]
struct OldApproval {
    number: u64,
    token: Option<Arc<str>>,
    path: String,
    cover: String,
    arguments: Arc<str>,
    same: String,
    rule: String,
    reason: Option<String>,
    since_ms: u64,
    answer: Option<OldAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OldAnswer {
    Approved,
    Denied(Option<String>),
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
    let owner = record.run.unwrap_or_else(|| stem.to_owned());
    let views = record.approvals.into_iter();
    let approvals = views
        .map(|approval| Some(stored_approval(&restore(approval, &owner, &origin)?)))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| io::Error::other("malformed digest"))?;
    if approvals.is_empty() {
        return Ok(());
    }
    history
        .import_held(owner, program, calls, approvals)
        .map_err(io::Error::other)
}

/// `None` if a digest is malformed.
fn restore(
    approval: OldApproval,
    owner: &str,
    origin: &Arc<ClientOrigin>,
) -> Option<ApprovalSnapshot> {
    let digest = |hex: &str| blake3::Hash::from_hex(hex).ok();
    let subject = ApprovalSubject {
        path: approval.path,
        cover: ApprovalCover::from(digest(&approval.cover)?),
        arguments: approval.arguments,
        same: digest(&approval.same)?.into(),
        rule: approval.rule,
        reason: approval.reason,
        origin: Arc::clone(origin),
        is_raw: false,
        is_offer: false,
        is_server_request: false,
    };
    let state = match approval.answer {
        None => AnswerStatus::Pending,
        Some(OldAnswer::Approved) => AnswerStatus::Answered(ApprovalVerdict::Approved),
        Some(OldAnswer::Denied(reason)) => {
            AnswerStatus::Answered(ApprovalVerdict::Denied { reason })
        }
    };
    Some(ApprovalSnapshot {
        number: approval.number,
        token: approval.token.unwrap_or_else(|| random_name().into()),
        subject: Arc::new(subject),
        owner: ApprovalOwner::Run(owner.to_owned()),
        state,
        since: UNIX_EPOCH + Duration::from_millis(approval.since_ms.min(1 << 45)),
    })
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
                        Language::Json
                    } else {
                        Language::TypeScript
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
