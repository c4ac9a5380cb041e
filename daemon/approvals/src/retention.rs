//! Saves waiting calls and their runs, and removes expired ones.
//!
//! Invariant: a call of a run that is held is on disk before it is sent. Approvals older than `keep` are never used, and
//! are removed within a minute.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mux_wire::{Fault, FaultKind};
use tokio::time::sleep;
use tracing::warn;

use super::{
    Approvals, approval_record,
    approval_subject::{ApprovalOwner, ApprovalSnapshot, GrantSession},
};
use mux_journal::{
    RunJournal,
    history::{HeldApproval, HeldOwner},
};

/// How often expired approvals are removed.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_mins(1);

impl Approvals {
    /// Ends a run. If it ended as pending, its waiting approvals become pending, and its rows are on disk when this
    /// returns. Otherwise both are removed.
    pub async fn end_run(self: &Arc<Self>, run: &Arc<RunJournal>, is_pending: bool) {
        {
            let mut book = self.book();
            run.close();
            book.end_owner(&ApprovalOwner::Run(run.id.clone()), is_pending);
            book.end_session(&GrantSession::Run(run.id.clone()));
        }
        if run.is_held() {
            self.save_run(run, true).await;
            self.notify_changed();
        }
        self.expire_old().await;
    }

    /// Saves a call that has begun, if the run is held. Must be called before the call is sent.
    pub async fn save_begun_call(self: &Arc<Self>, run: &Arc<RunJournal>) -> Result<(), Fault> {
        if !run.is_held() || self.save_run(run, true).await {
            return Ok(());
        }
        let message = "the call was not sent: another call of this run waits for approval, and the run's journal could \
                       not be written";
        Err(Fault::new(FaultKind::Unavailable, message).user_hint("see `mux logs`"))
    }

    /// Saves the outcome of a call. If the outcome is lost in a power failure, it counts as unknown.
    pub async fn save_ended_call(self: &Arc<Self>, run: &Arc<RunJournal>) {
        if run.is_held() {
            self.save_run(run, false).await;
        }
    }

    /// Saves the current state of a run. Returns false on failure.
    pub(super) async fn save_run(
        self: &Arc<Self>,
        run: &Arc<RunJournal>,
        is_durable: bool,
    ) -> bool {
        let held = HeldOwner {
            name: run.id.clone(),
            run: Some(Arc::clone(run)),
            origin: Arc::clone(run.origin()),
            replaces: run.resumes.clone(),
        };
        self.save_owner(held, is_durable).await
    }

    pub(super) async fn save_owner(self: &Arc<Self>, held: HeldOwner, is_durable: bool) -> bool {
        let name = held.name.clone();
        let owner = ApprovalOwner::of_stem(&name);
        let this = Arc::clone(self);
        let approvals = move || this.stored_approvals(&owner);
        let saved = self.history.save_held(held, approvals, is_durable).await;
        if let Err(error) = &saved {
            warn!(%error, owner = name, "failed to save a call that waits for approval");
        }
        saved.is_ok()
    }

    /// Saves the answers of an owner whose run does not execute now. Returns false on failure.
    pub(super) async fn amend_owner(self: &Arc<Self>, owner: &ApprovalOwner) -> bool {
        let this = Arc::clone(self);
        let of = owner.clone();
        let approvals = move || this.stored_approvals(&of);
        let this = Arc::clone(self);
        let of = owner.clone();
        let is_being_written = move || this.adopting.lock().contains(&of);
        let amended = self
            .history
            .amend_held(owner.stem(), approvals, is_being_written);
        let amended = amended.await;
        if let Err(error) = &amended {
            warn!(%error, "failed to save the answer to a pending approval");
        }
        amended.is_ok()
    }

    fn stored_approvals(&self, owner: &ApprovalOwner) -> Vec<HeldApproval> {
        let views = self.book().views_of(owner);
        views.iter().map(approval_record::stored_approval).collect()
    }

    /// Removes the approvals that have expired or exceed the limits.
    pub(super) async fn expire_old(self: &Arc<Self>) {
        let keep = self.configured_settings().map(|settings| settings.keep);
        let gone = self.book().expire(keep);
        self.remove_saved(gone).await;
    }

    /// Removes expired approvals periodically. Never returns.
    pub async fn expire_periodically(self: Arc<Self>) {
        let mut edition = self.subscribe_changes();
        loop {
            self.expire_old().await;
            if self.book().is_empty() {
                drop(edition.changed().await);
            } else {
                sleep(EXPIRY_CHECK_INTERVAL).await;
            }
        }
    }

    /// Updates or removes the rows of these approvals' owners.
    pub(super) async fn remove_saved(self: &Arc<Self>, gone: Vec<ApprovalSnapshot>) {
        if gone.is_empty() {
            return;
        }
        let owners: BTreeSet<ApprovalOwner> = gone.into_iter().map(|view| view.owner).collect();
        for owner in &owners {
            // A failure is retried when the daemon starts.
            self.amend_owner(owner).await;
        }
        self.notify_changed();
    }
}
