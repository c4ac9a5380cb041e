//! The on-disk record of one owner's approvals, as long as their answers have not been used.
//!
//! Invariant: a record is written atomically, and removed before its last call is sent, when nothing is left to resume.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::approval_subject::{
    AnswerStatus, ApprovalCover, ApprovalOwner, ApprovalSnapshot, ApprovalSubject, ApprovalVerdict,
};
use mux_caller::ClientOrigin;
use mux_files::atomic_file;
use mux_text::digest::DigestKey;

const RECORD_VERSION: u32 = 2;
/// More than the limit of the arguments of waiting calls allows, in any JSON escaping.
const MAX_RECORD_BYTES: u64 = 192 << 20;
const RECORD_EXTENSION: &str = "json";
/// The extension of the journal next to a record.
pub(super) const JOURNAL_EXTENSION: &str = "calls";

#[derive(Debug, Deserialize, Serialize)]
struct ApprovalRecord {
    version: u32,
    run: Option<String>,
    /// The run whose record this record replaces.
    resumes: Option<String>,
    client: String,
    agent: Option<String>,
    workspace: Option<PathBuf>,
    approvals: Vec<StoredApproval>,
}

#[derive(Debug, Deserialize, Serialize)]
struct StoredApproval {
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<Arc<str>>,
    path: String,
    cover: String,
    arguments: Arc<str>,
    same: String,
    rule: String,
    reason: Option<String>,
    since_ms: u64,
    /// Absent if not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<StoredAnswer>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum StoredAnswer {
    Approved,
    Denied(Option<String>),
}

impl StoredApproval {
    fn of(view: &ApprovalSnapshot) -> Self {
        let since = view.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let subject = &view.subject;
        Self {
            number: view.number,
            token: view.token.clone(),
            path: subject.path.clone(),
            cover: subject.cover.hex(),
            arguments: Arc::clone(&subject.arguments),
            same: blake3::Hash::from(subject.same).to_hex().to_string(),
            rule: subject.rule.clone(),
            reason: subject.reason.clone(),
            since_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            answer: match &view.state {
                AnswerStatus::Waiting | AnswerStatus::Pending => None,
                AnswerStatus::Answered(ApprovalVerdict::Approved) => Some(StoredAnswer::Approved),
                AnswerStatus::Answered(ApprovalVerdict::Denied { reason }) => {
                    Some(StoredAnswer::Denied(reason.clone()))
                }
            },
        }
    }

    fn view(self, owner: &ApprovalOwner, origin: &Arc<ClientOrigin>) -> Option<ApprovalSnapshot> {
        let same: DigestKey = blake3::Hash::from_hex(&self.same).ok()?.into();
        let subject = ApprovalSubject {
            cover: ApprovalCover::of_hex(&self.cover)?,
            path: self.path,
            arguments: self.arguments,
            same,
            rule: self.rule,
            reason: self.reason,
            origin: Arc::clone(origin),
            is_offer: false,
            is_server_request: false,
        };
        Some(ApprovalSnapshot {
            number: self.number,
            token: self.token,
            subject: Arc::new(subject),
            owner: owner.clone(),
            state: match self.answer {
                None => AnswerStatus::Pending,
                Some(StoredAnswer::Approved) => AnswerStatus::Answered(ApprovalVerdict::Approved),
                Some(StoredAnswer::Denied(reason)) => {
                    AnswerStatus::Answered(ApprovalVerdict::Denied { reason })
                }
            },
            since: UNIX_EPOCH + Duration::from_millis(self.since_ms.min(1 << 45)),
        })
    }
}

impl ApprovalRecord {
    fn owner(&self) -> Option<ApprovalOwner> {
        match (&self.run, self.approvals.first()) {
            (Some(run), _) => Some(ApprovalOwner::Run(run.clone())),
            (None, Some(first)) => Some(ApprovalOwner::Call(first.number)),
            (None, None) => None,
        }
    }
}

pub(super) fn record_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(format!("{stem}.{RECORD_EXTENSION}"))
}

/// Saves the approvals of one owner, which share one origin.
pub(super) fn save_record(
    path: &Path,
    owner: &ApprovalOwner,
    approvals: &[ApprovalSnapshot],
    resumes: Option<&str>,
) -> io::Result<()> {
    let origin = approvals
        .first()
        .map(|view| Arc::clone(&view.subject.origin));
    let origin = origin.unwrap_or_default();
    let record = ApprovalRecord {
        version: RECORD_VERSION,
        run: owner.run().map(str::to_owned),
        resumes: resumes.map(str::to_owned),
        client: origin.client.clone(),
        agent: origin.agent.clone(),
        workspace: origin.workspace.clone(),
        approvals: approvals.iter().map(StoredApproval::of).collect(),
    };
    let written = atomic_file::write_with(path, |file| Ok(serde_json::to_writer(file, &record)?));
    written.map(drop)
}

fn parse_record(path: &Path) -> io::Result<Option<ApprovalRecord>> {
    let Some(text) = atomic_file::read(path, MAX_RECORD_BYTES)? else {
        return Ok(None);
    };
    let record: ApprovalRecord = serde_json::from_str(&text)?;
    match record.version {
        RECORD_VERSION => Ok(Some(record)),
        other => Err(io::Error::other(format!("unsupported version {other}"))),
    }
}

/// The approvals that the previous daemon process saved.
#[derive(Debug, Default)]
pub(super) struct RestoredApprovals {
    pub(super) views: Vec<ApprovalSnapshot>,
    /// The records that could not be read, with the reasons.
    pub(super) problems: Vec<String>,
}

/// Restores all saved approvals, however old, because the configuration may not be read yet. Useless files are removed
/// if this daemon is `alone`. Otherwise another daemon may be writing them.
pub(super) fn restore_all(folder: &Path, alone: bool) -> RestoredApprovals {
    let mut left = RestoredApprovals::default();
    let mut whole = Vec::new();
    let mut replaced = BTreeSet::new();
    let mut stems = BTreeSet::new();
    let mut rest = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        match path.extension().and_then(OsStr::to_str) {
            Some(RECORD_EXTENSION) => {
                stems.insert(path.with_extension(""));
            }
            Some(JOURNAL_EXTENSION | "next") => {
                rest.push(path);
                continue;
            }
            _ => continue,
        }
        match parse_record(&path) {
            Ok(Some(record)) => {
                let former = record.resumes.as_deref();
                replaced.extend(former.map(|former| record_path(folder, former)));
                whole.push((path, record_views(record)));
            }
            Ok(None) => {}
            Err(error) => {
                let problem = format!("{} is not a valid approval record: {error}", path.display());
                left.problems.push(problem);
            }
        }
    }
    for (path, views) in whole {
        // The daemon died while it replaced this record, or none of its approvals is valid.
        match views.is_empty() || replaced.contains(&path) {
            true if alone => {
                drop(atomic_file::remove(&path));
                stems.remove(&path.with_extension(""));
            }
            true => {}
            false => left.views.extend(views),
        }
    }
    // A journal without a record is useless.
    for path in rest {
        if alone && !stems.contains(&path.with_extension("")) {
            drop(std::fs::remove_file(path));
        }
    }
    left
}

fn record_views(record: ApprovalRecord) -> Vec<ApprovalSnapshot> {
    let Some(owner) = record.owner() else {
        return Vec::new();
    };
    let origin = Arc::new(ClientOrigin {
        client: record.client,
        agent: record.agent,
        workspace: record.workspace,
        ..ClientOrigin::default()
    });
    let own = record.approvals.into_iter();
    own.filter_map(|stored| stored.view(&owner, &origin))
        .collect()
}
