//! Approvals as the history stores them, while their answers have not been used.
//!
//! Invariant: a resumed call is sent with the arguments that the user was shown.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::approval_subject::{
    AnswerStatus, ApprovalCover, ApprovalOwner, ApprovalSnapshot, ApprovalSubject, ApprovalVerdict,
};
use mux_caller::ClientOrigin;
use mux_journal::history::{HeldApproval, HeldRun};
use mux_text::digest::DigestKey;

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredSubject {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<Arc<str>>,
    path: String,
    cover: String,
    arguments: Arc<str>,
    same: String,
    rule: String,
    reason: Option<String>,
    since_ms: u64,
    #[serde(default)]
    is_raw: bool,
    #[serde(default)]
    is_offer: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum StoredAnswer {
    Approved,
    Denied(Option<String>),
}

/// The stored form of an approval.
pub(super) fn stored_approval(view: &ApprovalSnapshot) -> HeldApproval {
    let since = view.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let subject = &view.subject;
    let stored = StoredSubject {
        token: view.token.clone(),
        path: subject.path.clone(),
        cover: subject.cover.hex(),
        arguments: Arc::clone(&subject.arguments),
        same: blake3::Hash::from(subject.same).to_hex().to_string(),
        rule: subject.rule.clone(),
        reason: subject.reason.clone(),
        since_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        is_raw: subject.is_raw,
        is_offer: subject.is_offer,
    };
    let answer = match &view.state {
        AnswerStatus::Waiting | AnswerStatus::Pending => None,
        AnswerStatus::Answered(ApprovalVerdict::Approved) => Some(StoredAnswer::Approved),
        AnswerStatus::Answered(ApprovalVerdict::Denied { reason }) => {
            Some(StoredAnswer::Denied(reason.clone()))
        }
    };
    HeldApproval {
        number: view.number,
        subject: json_of(&stored),
        answer: answer.as_ref().map(json_of),
    }
}

/// The stored approvals of an owner. Adds a problem for each approval that cannot be read.
pub(super) fn restore_approvals(
    held: HeldRun,
    problems: &mut Vec<String>,
) -> Vec<ApprovalSnapshot> {
    let owner = ApprovalOwner::of_stem(&held.owner);
    let mut views = Vec::new();
    for approval in held.approvals {
        match restore_approval(&approval, &owner, &held.origin) {
            Some(view) => views.push(view),
            None => problems.push(format!(
                "approval A{} of {} cannot be read",
                approval.number, held.owner
            )),
        }
    }
    views
}

fn restore_approval(
    approval: &HeldApproval,
    owner: &ApprovalOwner,
    origin: &Arc<ClientOrigin>,
) -> Option<ApprovalSnapshot> {
    let stored: StoredSubject = serde_json::from_str(&approval.subject).ok()?;
    let state = match &approval.answer {
        None => AnswerStatus::Pending,
        Some(answer) => AnswerStatus::Answered(match serde_json::from_str(answer).ok()? {
            StoredAnswer::Approved => ApprovalVerdict::Approved,
            StoredAnswer::Denied(reason) => ApprovalVerdict::Denied { reason },
        }),
    };
    let same: DigestKey = blake3::Hash::from_hex(&stored.same).ok()?.into();
    let subject = ApprovalSubject {
        cover: ApprovalCover::of_hex(&stored.cover)?,
        path: stored.path,
        arguments: stored.arguments,
        same,
        rule: stored.rule,
        reason: stored.reason,
        origin: Arc::clone(origin),
        is_raw: stored.is_raw,
        is_offer: stored.is_offer,
        is_server_request: false,
    };
    Some(ApprovalSnapshot {
        number: approval.number,
        token: stored.token,
        subject: Arc::new(subject),
        owner: owner.clone(),
        state,
        since: UNIX_EPOCH + Duration::from_millis(stored.since_ms.min(1 << 45)),
    })
}

/// These types have no map whose keys are not strings, which is what could fail.
fn json_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
