//! Calls that somebody has to approve: held meanwhile, shown to whoever may answer, decided once, and kept with their
//! runs when nobody does.
//!
//! Invariant: what is approved is the call that was shown, with the very arguments, and nobody can say so but a client that
//! may reach the call: no program and no tool reaches [`Approvals::decide`]. An answer names every approval that it
//! answers; of what it covers beside them, only calls that come later pass without a question.

mod book;
pub mod call_fingerprint;
mod covered;
mod decide;
mod desktop;
mod dossier;
mod form;
mod grants;
mod hold;
mod journal;
mod keeping;
mod log;
mod number;
mod record;
mod resume;
mod sheet;
mod subject;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use mux_wire::{Fault, Kind};
use tokio::{sync::watch, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use self::subject::beginning;
use self::{
    book::Book, desktop::Desktop, grants::Grants, number::Numbers, record::Left, sheet::Sheets,
    subject::ApprovalId,
};
pub use self::{
    decide::Decided,
    dossier::{Began, Dossier, Past},
    grants::Grant,
    hold::{Asker, Word},
    log::Begun,
    resume::{GoesOn, Resumed},
    subject::{Cover, Decision, Owner, Said, Session, State, Subject, Verdict, View},
};
use mux_audit::Audit;
use mux_caller::RunAccess;
use mux_settings::ApprovalTerms;

/// Where things are kept.
#[derive(Clone, Debug)]
pub struct Places {
    /// What is always allowed.
    pub grants: PathBuf,
    /// Runs that wait.
    pub records: PathBuf,
    /// There may be a desktop on which somebody can be told.
    pub desktop: bool,
}

#[derive(Debug)]
pub struct Approvals {
    book: Mutex<Book>,
    grants: Mutex<Grants>,
    numbers: Numbers,
    /// Who writes what of them is on the disk.
    sheets: Sheets,
    /// None before the configuration was read.
    terms: Mutex<Option<ApprovalTerms>>,
    /// None where nobody sits, as far as anybody knows.
    desktop: Desktop,
    has_desktop: bool,
    /// Where answers are written down.
    audit: OnceLock<Arc<Audit>>,
    /// What could not be read of an earlier life.
    problems: Mutex<Vec<String>>,
    /// Counts changes.
    edition: watch::Sender<u64>,
    /// The daemon ends: nobody can answer in time any more.
    closing: CancellationToken,
}

impl Approvals {
    /// Reads what an earlier life has left, unless another daemon is still at it. What is too old of it goes when it is
    /// known how long it is to be kept.
    pub fn open(places: Places, alone: bool) -> Arc<Self> {
        let mut left = Left::default();
        if alone {
            left = Self::left(&places.records, alone);
        }
        let mut book = Book::default();
        let known = left.views.iter().map(|view| view.number).max().unwrap_or(0);
        left.views.into_iter().for_each(|view| book.restore(view));
        Arc::new(Self {
            book: Mutex::new(book),
            grants: Mutex::new(Grants::open(places.grants)),
            numbers: Numbers::open(places.records.join("numbers"), known),
            sheets: Sheets::new(places.records),
            terms: Mutex::default(),
            desktop: Desktop::default(),
            has_desktop: places.desktop,
            audit: OnceLock::new(),
            problems: Mutex::new(left.problems),
            edition: watch::Sender::new(1),
            closing: CancellationToken::new(),
        })
    }

    pub fn set_terms(&self, terms: ApprovalTerms) {
        *self.terms.lock().unwrap_or_else(PoisonError::into_inner) = Some(terms);
    }

    pub fn terms(&self) -> ApprovalTerms {
        self.said().unwrap_or_default()
    }

    /// What the configuration says, as soon as it was read.
    fn said(&self) -> Option<ApprovalTerms> {
        let terms = self.terms.lock();
        terms.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a user has to know.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self
            .problems
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        problems.extend(self.grants().problem());
        problems
    }

    /// Nobody waits from now on: what is held is pending.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Resolves when nothing is held any more, after [`Self::close`].
    pub async fn none_held(&self) {
        let mut edition = self.watch();
        // The sender lives as long as `self`.
        while self.book().any_held() && edition.changed().await.is_ok() {}
    }

    /// Another daemon has left something: all but what is of `others`, runs that go on there. What is of no use stays until
    /// the next start: we write here, too.
    pub async fn read_again(self: &Arc<Self>, others: Vec<String>) {
        let this = Arc::clone(self);
        let read = spawn_blocking(move || {
            let left = Self::left(this.sheets.folder(), false);
            let is_theirs = |run: &str| others.iter().any(|other| other == run);
            let mut book = this.book();
            for view in left.views {
                if !view.owner.run().is_some_and(is_theirs) && book.find(view.number).is_none() {
                    book.restore(view);
                }
            }
            drop(book);
            *this.problems.lock().unwrap_or_else(PoisonError::into_inner) = left.problems;
        });
        // It is read again with the next start.
        drop(read.await);
        self.changed();
    }

    fn left(records: &Path, alone: bool) -> Left {
        let left = record::restore(records, alone);
        for problem in &left.problems {
            warn!(problem, "approvals");
        }
        left
    }

    /// All of them, the oldest first.
    pub async fn list(self: &Arc<Self>) -> Vec<View> {
        self.tidy().await;
        self.book().all()
    }

    /// By what a client calls it, if it may reach that.
    pub async fn find(self: &Arc<Self>, id: &str, access: &RunAccess) -> Result<View, Fault> {
        self.tidy().await;
        let book = self.book();
        let found = ApprovalId::parse(id).and_then(|id| book.find_as(&id, access));
        found.cloned().ok_or_else(|| unknown(id))
    }

    /// How many calls wait now, and how many that nobody waits for can still be approved.
    pub fn waiting(&self) -> (usize, usize) {
        self.book().waiting()
    }

    /// Counts up with every change.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.edition.subscribe()
    }

    pub fn granted(&self) -> Vec<(String, Grant)> {
        self.grants().all()
    }

    /// Takes back what is always allowed.
    pub async fn revoke(
        self: &Arc<Self>,
        name: String,
        access: &RunAccess,
    ) -> Result<Grant, Fault> {
        if !access.is_user() {
            return Err(grants::unknown(&name));
        }
        let this = Arc::clone(self);
        let revoked = spawn_blocking(move || this.grants().revoke(&name)).await;
        let revoked = revoked.unwrap_or_else(|_| Err(lost()));
        self.changed();
        revoked
    }

    /// The connection has ended, and what was allowed for its session with it.
    pub fn connection_over(&self, connection: u64) {
        self.book().session_over(&Session::Connection(connection));
    }

    /// What the daemon before us has granted and taken back since this one read it.
    pub fn read_grants_again(&self) {
        self.grants().read_again();
    }

    /// Always. Once another daemon has taken over, answers are given there.
    fn is_granted(&self, subject: &Subject) -> bool {
        let mut grants = self.grants();
        if self.closing.is_cancelled() {
            grants.read_again();
        }
        grants.covers(subject)
    }

    /// Runs of which a call is held.
    pub fn runs_held(&self) -> Vec<String> {
        self.book().runs_held()
    }

    fn changed(&self) {
        self.edition.send_modify(|edition| *edition += 1);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(id: &str) -> Fault {
    let message = format!("there is no approval `{}`", mux_caller::one_line(id));
    Fault::new(Kind::NotFound, message).hint("`mux approvals` lists those that wait")
}

fn lost() -> Fault {
    Fault::new(Kind::Internal, "the answer was lost in the daemon").user_hint("see `mux logs`")
}

#[cfg(test)]
mod tests;
