//! Applies a user's answer to a waiting call.
//!
//! Invariant: the first answer counts, and its outcome reports the calls that the answer covers.

use std::{io, sync::Arc};

use mux_wire::{Fault, FaultKind};
use tokio::task::spawn_blocking;
use tracing::info;

use super::{
    Approvals, approval_form,
    approval_subject::{
        self, ApprovalId, ApprovalSnapshot, ApprovalSubject, GrantSession, UserAnswer, UserDecision,
    },
    pending_approvals::AnswerError,
    unknown_approval_fault,
};
use mux_caller::RunAccess;

/// The effect of an answer.
#[derive(Debug)]
pub struct DecisionOutcome {
    pub view: ApprovalSnapshot,
    /// Set if its program was waiting and now continues.
    pub live: bool,
    /// IDs of other calls that were shown with it, are covered by it, and now continue.
    pub released: Vec<String>,
    /// IDs of calls that it would cover but that were not shown, and that keep waiting.
    pub unshown: Vec<String>,
    /// The reason it covers less than the user chose.
    pub warning: Option<String>,
}

impl Approvals {
    /// Applies a user's answer, given by a client with access to the call. The first answer counts.
    pub async fn decide(
        self: &Arc<Self>,
        id: &str,
        access: &RunAccess,
        said: impl Into<UserAnswer>,
    ) -> Result<DecisionOutcome, Fault> {
        let number = self.find(id, access).await?.number;
        let mut said = said.into();
        {
            let book = self.book();
            let reaches = |id: ApprovalId<'_>| book.find_accessible(&id, access).is_some();
            (said.shown).retain(|id| ApprovalId::parse(id).is_some_and(reaches));
        }
        self.apply_answer(number, said).await
    }

    pub(super) async fn apply_answer(
        self: &Arc<Self>,
        number: u64,
        said: UserAnswer,
    ) -> Result<DecisionOutcome, Fault> {
        let UserAnswer {
            decision,
            reason,
            shown,
        } = said;
        let shown: Vec<u64> = shown
            .iter()
            .filter_map(|id| Some(ApprovalId::parse(id)?.number))
            .collect();
        let verdict = approval_form::verdict(decision, approval_form::truncate_reason(reason));
        let given = self.book().answer(number, verdict);
        let given = given.map_err(|why| {
            let id = approval_subject::approval_id(number);
            match why {
                AnswerError::Unknown => unknown_approval_fault(&id),
                AnswerError::Before => {
                    Fault::new(FaultKind::Validation, format!("{id} was already answered"))
                        .hint(format!("`mux resume {id}` continues its run"))
                }
            }
        })?;
        info!(
            approval = approval_subject::approval_id(number),
            ?decision,
            "answered"
        );
        let subject = Arc::clone(&given.view.subject);
        let ((mut released, mut unshown), mut warnings) = ((Vec::new(), Vec::new()), Vec::new());
        match (decision, &given.session) {
            (UserDecision::Session, Some(session)) => {
                let mut book = self.book();
                book.grant(session.clone(), subject.cover);
                (released, unshown) = book.release(&shown, |other, of| {
                    other.cover == subject.cover && of == Some(session)
                });
            }
            (UserDecision::Session, None) => warnings.push(
                "the approval covers this call only: the session of the call has ended".to_owned(),
            ),
            (UserDecision::Always, _) => match self.save_grant(&subject).await {
                Ok(()) => {
                    let agent = &subject.origin.agent;
                    let covered = |other: &ApprovalSubject, _: Option<&GrantSession>| {
                        other.cover == subject.cover && other.origin.agent == *agent
                    };
                    (released, unshown) = self.book().release(&shown, covered);
                }
                Err(error) => warnings.push(format!(
                    "the approval covers this call only: the grant could not be saved: {error}"
                )),
            },
            (UserDecision::Once | UserDecision::Deny, _) => {}
        }
        if !given.live && !self.amend_owner(&given.view.owner).await {
            let gone = "the answer could not be saved and is lost when muxd exits: see `mux logs`";
            warnings.push(gone.to_owned());
        }
        self.notify_changed();
        Ok(DecisionOutcome {
            view: given.view,
            live: given.live,
            released: released
                .into_iter()
                .map(approval_subject::approval_id)
                .collect(),
            unshown: unshown
                .into_iter()
                .map(approval_subject::approval_id)
                .collect(),
            warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        })
    }

    async fn save_grant(self: &Arc<Self>, subject: &Arc<ApprovalSubject>) -> io::Result<()> {
        let this = Arc::clone(self);
        let subject = Arc::clone(subject);
        let written = spawn_blocking(move || this.grants().add(&subject));
        written.await.map_err(io::Error::other)?
    }
}
