//! Approvals as the history stores them, while their answers have not been used.
//!
//! Invariant: a resumed call is sent with the arguments that the user was shown.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::approval_subject::{AnswerStatus, ApprovalOwner, ApprovalSnapshot, ApprovalSubject};
use mux_caller::ClientOrigin;
use mux_journal::history::{HeldApproval, HeldRun};
use mux_messages::millis;

#[derive(Debug, Deserialize, Serialize)]
struct StoredSubject {
    token: Arc<str>,
    since_ms: u64,
    #[serde(flatten)]
    subject: ApprovalSubject,
}

/// The stored form of an approval.
pub(super) fn stored_approval(view: &ApprovalSnapshot) -> HeldApproval {
    let since = view.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let stored = StoredSubject {
        token: Arc::clone(&view.token),
        since_ms: millis(since),
        subject: view.subject.as_ref().clone(),
    };
    let answer = match &view.state {
        AnswerStatus::Waiting | AnswerStatus::Pending => None,
        AnswerStatus::Answered(verdict) => Some(json_of(verdict)),
    };
    HeldApproval {
        number: view.number,
        subject: json_of(&stored),
        answer,
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
        Some(answer) => AnswerStatus::Answered(serde_json::from_str(answer).ok()?),
    };
    let subject = ApprovalSubject {
        origin: Arc::clone(origin),
        ..stored.subject
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
