//! What the disk knows of calls that wait and of their runs, and for how long.
//!
//! Invariant: before a call goes out of a run of which anything is kept, the disk knows of it. What is older than
//! `keep` is of no use to anybody, whenever it is looked at, and is gone soon after.

use std::{collections::BTreeSet, io, sync::Arc, time::Duration};

use mux_wire::{Fault, Kind};
use tokio::{task::spawn_blocking, time::sleep};
use tracing::warn;

use super::{
    Approvals, ResumableRun,
    approval_subject::{ApprovalOwner, ApprovalSnapshot, GrantSession},
    owner_files::OwnerFiles,
};

/// How often it is looked whether something was kept long enough.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_secs(60);

impl Approvals {
    /// A run has ended. What still waits of it is kept as pending if it ended so; then its files are on the disk when
    /// this returns.
    pub async fn end_run(self: &Arc<Self>, dossier: &Arc<ResumableRun>, is_pending: bool) {
        {
            let mut book = self.book();
            dossier.set_ended();
            book.end_owner(&dossier.owner, is_pending);
            if let Some(run) = dossier.owner.run() {
                book.end_session(&GrantSession::Run(run.to_owned()));
            }
        }
        if dossier.has_files() {
            self.write_durably(dossier).await;
            self.notify_changed();
        }
        self.expire_old().await;
    }

    /// Before a call of a run goes out: the disk knows of it, if anything of the run is kept.
    pub async fn record_begun_call(
        self: &Arc<Self>,
        dossier: &Arc<ResumableRun>,
    ) -> Result<(), Fault> {
        if !dossier.has_files() || self.write_durably(dossier).await {
            return Ok(());
        }
        let message = "the call was not sent: a call of this run waits for an approval, and the disk does not take down \
                       what the run does meanwhile";
        Err(Fault::new(Kind::Unavailable, message).user_hint("see `mux logs`"))
    }

    /// After it has ended. What is lost of that is told as unknown, so that nobody waits for the disk.
    pub async fn record_ended_call(self: &Arc<Self>, dossier: &Arc<ResumableRun>) {
        if dossier.has_files() {
            self.write_files(dossier, false).await;
        }
    }

    /// Makes the disk say what is so.
    pub(super) async fn write_durably(self: &Arc<Self>, dossier: &Arc<ResumableRun>) -> bool {
        self.write_files(dossier, true).await
    }

    async fn write_files(self: &Arc<Self>, dossier: &Arc<ResumableRun>, durable: bool) -> bool {
        let (this, of) = (Arc::clone(self), Arc::clone(dossier));
        let written = spawn_blocking(move || {
            let sheet = of.files_or_insert(|| this.sheets.owner_files_of(&of.owner));
            sheet.write(&of, || this.book().views_of(&of.owner), durable)
        });
        let written = written
            .await
            .unwrap_or_else(|lost| Err(io::Error::other(lost)));
        if let Err(error) = &written {
            warn!(%error, owner = ?dossier.owner, "a run that waits for an approval is not kept");
        }
        written.is_ok()
    }

    /// The same where its run does not write: it has ended, or somebody else says something of it.
    pub(super) async fn amend_owner(self: &Arc<Self>, owner: &ApprovalOwner) -> bool {
        let this = Arc::clone(self);
        let sheet = self.sheets.owner_files_of(owner);
        let of = owner.clone();
        let written =
            spawn_blocking(move || amend_files(&sheet, || this.book().views_of(&of))).await;
        written.unwrap_or(false)
    }

    /// Lets go what was kept long enough, and what is too much.
    pub(super) async fn expire_old(self: &Arc<Self>) {
        let keep = self.configured_terms().map(|terms| terms.keep);
        let gone = self.book().expire(keep);
        self.remove_files(gone).await;
    }

    /// The same from now on, whether anybody looks or not.
    pub async fn expire_periodically(self: Arc<Self>) {
        let mut edition = self.subscribe_changes();
        loop {
            self.expire_old().await;
            let nothing = self.book().is_empty();
            match nothing {
                true => drop(edition.changed().await),
                false => sleep(EXPIRY_CHECK_INTERVAL).await,
            }
        }
    }

    /// What is left of these on the disk.
    pub(super) async fn remove_files(self: &Arc<Self>, gone: Vec<ApprovalSnapshot>) {
        if gone.is_empty() {
            return;
        }
        let owners: BTreeSet<ApprovalOwner> = gone.into_iter().map(|view| view.owner).collect();
        for owner in &owners {
            // It is looked at again when the daemon starts.
            self.amend_owner(owner).await;
        }
        self.notify_changed();
    }
}

fn amend_files(sheet: &OwnerFiles, approvals: impl FnOnce() -> Vec<ApprovalSnapshot>) -> bool {
    let written = sheet.amend_record(approvals);
    if let Err(error) = &written {
        warn!(%error, "the answer to a call that waited is not kept");
    }
    written.is_ok()
}
