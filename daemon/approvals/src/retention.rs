//! Saves waiting calls and their runs, and removes expired ones.
//!
//! Invariant: a call of a run that has files is on disk before it is sent. Approvals older than `keep` are never used,
//! and are removed within a minute.

use std::{collections::BTreeSet, io, sync::Arc, time::Duration};

use mux_wire::{Fault, FaultKind};
use tokio::{task::spawn_blocking, time::sleep};
use tracing::warn;

use super::{
    Approvals, ResumableRun,
    approval_subject::{ApprovalOwner, ApprovalSnapshot, GrantSession},
    owner_files::OwnerFiles,
};

/// How often expired approvals are removed.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_mins(1);

impl Approvals {
    /// Ends a run. If it ended as pending, its waiting approvals become pending, and its files are on disk when this
    /// returns. Otherwise both are removed.
    pub async fn end_run(self: &Arc<Self>, resumable: &Arc<ResumableRun>, is_pending: bool) {
        {
            let mut book = self.book();
            resumable.set_ended();
            book.end_owner(&resumable.owner, is_pending);
            if let Some(run) = resumable.owner.run() {
                book.end_session(&GrantSession::Run(run.to_owned()));
            }
        }
        if resumable.has_files() {
            self.write_durably(resumable).await;
            self.notify_changed();
        }
        self.expire_old().await;
    }

    /// Records a call in the run's journal, if there is one. Must be called before the call is sent.
    pub async fn record_begun_call(
        self: &Arc<Self>,
        resumable: &Arc<ResumableRun>,
    ) -> Result<(), Fault> {
        if !resumable.has_files() || self.write_durably(resumable).await {
            return Ok(());
        }
        let message = "the call was not sent: another call of this run waits for approval, and the run's journal could \
                       not be written";
        Err(Fault::new(FaultKind::Unavailable, message).user_hint("see `mux logs`"))
    }

    /// Records the outcome of a call without a sync. If the record is lost in a crash, the outcome counts as unknown.
    pub async fn record_ended_call(self: &Arc<Self>, resumable: &Arc<ResumableRun>) {
        if resumable.has_files() {
            self.write_files(resumable, false).await;
        }
    }

    /// Writes the current state of a run and syncs it. Returns false on failure.
    pub(super) async fn write_durably(self: &Arc<Self>, resumable: &Arc<ResumableRun>) -> bool {
        self.write_files(resumable, true).await
    }

    async fn write_files(self: &Arc<Self>, resumable: &Arc<ResumableRun>, durable: bool) -> bool {
        let this = Arc::clone(self);
        let of = Arc::clone(resumable);
        let written = spawn_blocking(move || {
            let sheet = of.files_or_insert(|| this.sheets.owner_files_of(&of.owner));
            sheet.write(&of, || this.book().views_of(&of.owner), durable)
        });
        let written = written
            .await
            .unwrap_or_else(|lost| Err(io::Error::other(lost)));
        if let Err(error) = &written {
            warn!(%error, owner = ?resumable.owner, "failed to save a run that waits for approval");
        }
        written.is_ok()
    }

    /// Updates the record of an owner whose run does not write it now, for example when a client answers it. Returns
    /// false on failure.
    pub(super) async fn amend_owner(self: &Arc<Self>, owner: &ApprovalOwner) -> bool {
        let this = Arc::clone(self);
        let sheet = self.sheets.owner_files_of(owner);
        let of = owner.clone();
        let written =
            spawn_blocking(move || amend_files(&sheet, || this.book().views_of(&of))).await;
        written.unwrap_or(false)
    }

    /// Removes the approvals that have expired or exceed the limits.
    pub(super) async fn expire_old(self: &Arc<Self>) {
        let keep = self.configured_terms().map(|terms| terms.keep);
        let gone = self.book().expire(keep);
        self.remove_files(gone).await;
    }

    /// Removes expired approvals periodically. Never returns.
    pub async fn expire_periodically(self: Arc<Self>) {
        let mut edition = self.subscribe_changes();
        loop {
            self.expire_old().await;
            let nothing = self.book().is_empty();
            if nothing {
                drop(edition.changed().await);
            } else {
                sleep(EXPIRY_CHECK_INTERVAL).await;
            }
        }
    }

    /// Updates or removes the files of these approvals' owners.
    pub(super) async fn remove_files(self: &Arc<Self>, gone: Vec<ApprovalSnapshot>) {
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

fn amend_files(sheet: &OwnerFiles, approvals: impl FnOnce() -> Vec<ApprovalSnapshot>) -> bool {
    let written = sheet.amend_record(approvals);
    if let Err(error) = &written {
        warn!(%error, "failed to save the answer to a pending approval");
    }
    written.is_ok()
}
