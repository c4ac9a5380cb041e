//! Calls that a user must approve: held meanwhile, shown to those who may answer, decided once, and kept with their
//! runs when no answer comes.
//!
//! It knows callers, audit, settings, programs and the sandbox's limits. It knows no policy, session or tool; the
//! gateway brings it calls.
//!
//! - `approval_subject` is what a request for approval is about and what an answer covers, `approval_numbers` the numbers of approvals,
//!   `call_fingerprint` how a call is recognised again.
//! - `pending_approvals` has all approvals that wait and what was allowed for a session; `hold` stops a call until it is answered;
//!   `decide` applies an answer; `approval_form` is the question for the client that makes the call, `desktop_notifier` a notification;
//!   `grants` are the lasting permissions; `answered` finds an earlier answer and records each in the audit log.
//! - `resumable_run` is a run for as long as it may be run again, `call_log` its calls, `owner_files` alone writes an owner's files:
//!   `approval_record` (approvals) and `call_journal` (calls). `retention` says how long, `resume` runs the program again.
//!
//! A held call has its clocks stopped and no place in line. The first answer decides, and an agent has no way to
//! answer. An answer covers a tool as it is, of an entry as it is written, asked by one rule with all that it says.
//!
//! A run's `ResumableRun` logs its calls, and what it reads of resources and prompts, in memory. While one of them waits,
//! its `owner_files` appends each to a journal, synced before the call goes out. `resume` runs the program anew: calls that
//! had ended are answered from the log, calls that were in flight are `unknown_outcome`.
//!
//! Invariants:
//!
//! - What is approved is the call that was shown, with the very arguments, and only a client that may reach the call
//!   can say so: no program and no tool reaches [`ProjectApprovals::decide`].
//! - An answer names every approval that it answers; of what it covers beside them, only calls that come later pass
//!   without a question.

mod answered;
mod approval_form;
mod approval_numbers;
mod approval_record;
mod approval_subject;
pub mod call_fingerprint;
mod call_journal;
mod call_log;
mod decide;
mod desktop_notifier;
mod grants;
mod hold;
mod owner_files;
mod pending_approvals;
mod resumable_run;
mod resume;
mod retention;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use mux_wire::{Fault, Kind};
use tokio::{sync::watch, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use self::approval_subject::visible_prefix;
use self::{
    approval_numbers::ApprovalNumbers, approval_record::RestoredApprovals,
    approval_subject::ApprovalId, desktop_notifier::DesktopNotifier, grants::Grants,
    owner_files::OwnerFilesTable, pending_approvals::PendingApprovals,
};
pub use self::{
    approval_subject::{
        AnswerStatus, ApprovalCover, ApprovalOwner, ApprovalSnapshot, ApprovalSubject,
        ApprovalVerdict, GrantSession, UserAnswer, UserDecision,
    },
    call_log::BegunCall,
    decide::DecisionOutcome,
    grants::Grant,
    hold::{ApprovalEvent, ApprovalRequester},
    resumable_run::{FormerRun, ProgramStart, ResumableRun},
    resume::{ResumeTarget, ResumedRun},
};
use mux_audit::AuditLog;
use mux_caller::RunAccess;
use mux_settings::ApprovalTerms;

/// Where things are kept.
#[derive(Clone, Debug)]
pub struct ApprovalPaths {
    /// What is always allowed.
    pub grants: PathBuf,
    /// Runs that wait.
    pub records: PathBuf,
    /// There may be a desktop on which somebody can be told.
    pub desktop: bool,
}

#[derive(Debug)]
pub struct Approvals {
    book: Mutex<PendingApprovals>,
    grants: Mutex<Grants>,
    numbers: ApprovalNumbers,
    /// Who writes what of them is on the disk.
    sheets: OwnerFilesTable,
    /// None before the configuration was read.
    terms: Mutex<Option<ApprovalTerms>>,
    /// None where nobody sits, as far as anybody knows.
    desktop: DesktopNotifier,
    has_desktop: bool,
    /// Where answers are written down.
    audit: OnceLock<Arc<AuditLog>>,
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
    pub fn open(places: ApprovalPaths, alone: bool) -> Arc<Self> {
        let mut left = RestoredApprovals::default();
        if alone {
            left = Self::read_left(&places.records, alone);
        }
        let mut book = PendingApprovals::default();
        let known = left.views.iter().map(|view| view.number).max().unwrap_or(0);
        left.views.into_iter().for_each(|view| book.restore(view));
        Arc::new(Self {
            book: Mutex::new(book),
            grants: Mutex::new(Grants::open(places.grants)),
            numbers: ApprovalNumbers::open(places.records.join("numbers"), known),
            sheets: OwnerFilesTable::new(places.records),
            terms: Mutex::default(),
            desktop: DesktopNotifier::default(),
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
        self.configured_terms().unwrap_or_default()
    }

    /// What the configuration says, as soon as it was read.
    fn configured_terms(&self) -> Option<ApprovalTerms> {
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
    pub async fn wait_until_none_held(&self) {
        let mut edition = self.subscribe_changes();
        // The sender lives as long as `self`.
        while self.book().has_held() && edition.changed().await.is_ok() {}
    }

    /// Another daemon has left something: all but what is of `others`, runs that go on there. What is of no use stays until
    /// the next start: we write here, too.
    pub async fn read_left_by_predecessor(self: &Arc<Self>, others: Vec<String>) {
        let this = Arc::clone(self);
        let read = spawn_blocking(move || {
            let left = Self::read_left(this.sheets.folder(), false);
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
        self.notify_changed();
    }

    fn read_left(records: &Path, alone: bool) -> RestoredApprovals {
        let left = approval_record::restore_all(records, alone);
        for problem in &left.problems {
            warn!(problem, "approvals");
        }
        left
    }

    /// All of them, the oldest first.
    pub async fn list(self: &Arc<Self>) -> Vec<ApprovalSnapshot> {
        self.expire_old().await;
        self.book().all()
    }

    /// By what a client calls it, if it may reach that.
    pub async fn find(
        self: &Arc<Self>,
        id: &str,
        access: &RunAccess,
    ) -> Result<ApprovalSnapshot, Fault> {
        self.expire_old().await;
        let book = self.book();
        let found = ApprovalId::parse(id).and_then(|id| book.find_accessible(&id, access));
        found.cloned().ok_or_else(|| unknown_approval_fault(id))
    }

    /// How many calls wait now, and how many that nobody waits for can still be approved.
    pub fn waiting_counts(&self) -> (usize, usize) {
        self.book().count_waiting()
    }

    /// Counts up with every change.
    pub fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.edition.subscribe()
    }

    pub fn list_grants(&self) -> Vec<(String, Grant)> {
        self.grants().all()
    }

    /// Takes back what is always allowed.
    pub async fn revoke(
        self: &Arc<Self>,
        name: String,
        access: &RunAccess,
    ) -> Result<Grant, Fault> {
        if !access.is_user() {
            return Err(grants::unknown_grant_fault(&name));
        }
        let this = Arc::clone(self);
        let revoked = spawn_blocking(move || this.grants().revoke(&name)).await;
        let revoked = revoked.unwrap_or_else(|_| Err(lost_answer_fault()));
        self.notify_changed();
        revoked
    }

    /// The connection has ended, and what was allowed for its session with it.
    pub fn connection_ended(&self, connection: u64) {
        self.book()
            .end_session(&GrantSession::Connection(connection));
    }

    /// What the daemon before us has granted and taken back since this one read it.
    pub fn reload_grants(&self) {
        self.grants().reload();
    }

    /// Always. Once another daemon has taken over, answers are given there.
    fn is_always_granted(&self, subject: &ApprovalSubject) -> bool {
        let mut grants = self.grants();
        if self.closing.is_cancelled() {
            grants.reload();
        }
        grants.covers(subject)
    }

    /// Runs of which a call is held.
    pub fn runs_held(&self) -> Vec<String> {
        self.book().runs_held()
    }

    fn notify_changed(&self) {
        self.edition.send_modify(|edition| *edition += 1);
    }

    fn book(&self) -> MutexGuard<'_, PendingApprovals> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown_approval_fault(id: &str) -> Fault {
    let message = format!("there is no approval `{}`", mux_caller::one_line(id));
    Fault::new(Kind::NotFound, message).hint("`mux approvals` lists those that wait")
}

fn lost_answer_fault() -> Fault {
    Fault::new(Kind::Internal, "the answer was lost in the daemon").user_hint("see `mux logs`")
}

#[cfg(test)]
mod tests;
