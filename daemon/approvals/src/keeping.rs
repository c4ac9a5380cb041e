//! What the disk knows of calls that wait and of their runs, and for how long.
//!
//! Invariant: before a call goes out of a run of which anything is kept, the disk knows of it. What is older than
//! `keep` is of no use to anybody, whenever it is looked at, and is gone soon after.

use std::{collections::BTreeSet, io, sync::Arc, time::Duration};

use mux_wire::{Fault, Kind};
use tokio::{task::spawn_blocking, time::sleep};
use tracing::warn;

use super::{
    Approvals, Dossier,
    sheet::Sheet,
    subject::{Owner, Session, View},
};

/// How often it is looked whether something was kept long enough.
const LOOK: Duration = Duration::from_secs(60);

impl Approvals {
    /// A run has ended. What still waits of it is kept as pending if it ended so; then its files are on the disk when
    /// this returns.
    pub async fn run_over(self: &Arc<Self>, dossier: &Arc<Dossier>, is_pending: bool) {
        {
            let mut book = self.book();
            dossier.set_over();
            book.over(&dossier.owner, is_pending);
            if let Some(run) = dossier.owner.run() {
                book.session_over(&Session::Run(run.to_owned()));
            }
        }
        if dossier.is_recorded() {
            self.record(dossier).await;
            self.changed();
        }
        self.tidy().await;
    }

    /// Before a call of a run goes out: the disk knows of it, if anything of the run is kept.
    pub async fn note_begun(self: &Arc<Self>, dossier: &Arc<Dossier>) -> Result<(), Fault> {
        if !dossier.is_recorded() || self.record(dossier).await {
            return Ok(());
        }
        let message = "the call was not sent: a call of this run waits for an approval, and the disk does not take down \
                       what the run does meanwhile";
        Err(Fault::new(Kind::Unavailable, message).user_hint("see `mux logs`"))
    }

    /// After it has ended. What is lost of that is told as unknown, so that nobody waits for the disk.
    pub async fn note_ended(self: &Arc<Self>, dossier: &Arc<Dossier>) {
        if dossier.is_recorded() {
            self.write(dossier, false).await;
        }
    }

    /// Makes the disk say what is so.
    pub(super) async fn record(self: &Arc<Self>, dossier: &Arc<Dossier>) -> bool {
        self.write(dossier, true).await
    }

    async fn write(self: &Arc<Self>, dossier: &Arc<Dossier>, durable: bool) -> bool {
        let (this, of) = (Arc::clone(self), Arc::clone(dossier));
        let written = spawn_blocking(move || {
            let sheet = of.sheet(|| this.sheets.of(&of.owner));
            sheet.write(&of, || this.book().of(&of.owner), durable)
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
    pub(super) async fn amend(self: &Arc<Self>, owner: &Owner) -> bool {
        let this = Arc::clone(self);
        let sheet = self.sheets.of(owner);
        let of = owner.clone();
        let written = spawn_blocking(move || amend(&sheet, || this.book().of(&of))).await;
        written.unwrap_or(false)
    }

    /// Lets go what was kept long enough, and what is too much.
    pub(super) async fn tidy(self: &Arc<Self>) {
        let keep = self.said().map(|terms| terms.keep);
        let gone = self.book().expire(keep);
        self.forget(gone).await;
    }

    /// The same from now on, whether anybody looks or not.
    pub async fn follow(self: Arc<Self>) {
        let mut edition = self.watch();
        loop {
            self.tidy().await;
            let nothing = self.book().is_empty();
            match nothing {
                true => drop(edition.changed().await),
                false => sleep(LOOK).await,
            }
        }
    }

    /// What is left of these on the disk.
    pub(super) async fn forget(self: &Arc<Self>, gone: Vec<View>) {
        if gone.is_empty() {
            return;
        }
        let owners: BTreeSet<Owner> = gone.into_iter().map(|view| view.owner).collect();
        for owner in &owners {
            // It is looked at again when the daemon starts.
            self.amend(owner).await;
        }
        self.changed();
    }
}

fn amend(sheet: &Sheet, approvals: impl FnOnce() -> Vec<View>) -> bool {
    let written = sheet.amend(approvals);
    if let Err(error) = &written {
        warn!(%error, "the answer to a call that waited is not kept");
    }
    written.is_ok()
}
