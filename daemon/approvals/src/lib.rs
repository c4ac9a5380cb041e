//! Calls that a user must approve. Such calls are held, shown to the clients that may answer, decided once, and saved
//! with their runs if no answer comes.
//!
//! This crate depends on callers, audit, settings, and journals, whose history keeps what waits. The crate does not
//! depend on policy, sessions, tools or programs: the gateway passes calls to it.
//!
//! - `approval_subject`: the subject of a request for approval and the cover of an answer. `approval_numbers`: the
//!   numbers of approvals.
//! - `pending_approvals`: all waiting approvals and session grants. `hold` holds a call until it is answered, and
//!   `decide` applies an answer. `approval_form`: the question for the client that makes the call. `desktop_notifier`:
//!   the desktop notification. `grants`: lasting grants. `answered` looks up grants and audits each answer.
//! - `retention` saves and expires waiting calls with their runs, `approval_record` is what is stored of an approval,
//!   `resume` moves approvals to the run that resumes theirs, and `old_files` reads what builds before the history
//!   stored.
//!
//! The clocks of a held call are stopped, and it occupies no slot. The first answer decides, and an agent has no way to
//! answer. An answer covers one tool definition of one server entry under one rule. If any of these changes, the user
//! is asked again.
//!
//! While one of a run's calls waits, each call of the run is saved before it is sent. A resumed program runs again: calls
//! that had ended are answered from the journal, and calls that were in flight are `unknown_outcome`.
//!
//! Invariants:
//!
//! - The approved call is the call that was shown, with the same arguments, and only a client with access to the call
//!   can approve it: no program and no tool reaches [`Approvals::decide`].
//! - An answer names every approval that it answers. Of the other calls that it covers, only later ones pass without
//!   a question.

mod answered;
mod approval_form;
mod approval_numbers;
mod approval_record;
mod approval_subject;
mod decide;
mod desktop_notifier;
mod grants;
mod hold;
mod old_files;
mod pending_approvals;
mod resume;
mod retention;

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};

use mux_wire::{Fault, FaultKind};
use tokio::{sync::watch, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use self::approval_subject::visible_prefix;
use self::{
    approval_numbers::ApprovalNumbers, approval_subject::ApprovalId,
    desktop_notifier::DesktopNotifier, grants::Grants, pending_approvals::PendingApprovals,
};
pub use self::{
    approval_subject::{
        AnswerStatus, ApprovalCover, ApprovalOwner, ApprovalSnapshot, ApprovalSubject,
        ApprovalVerdict, GrantSession, UserAnswer, UserDecision,
    },
    decide::DecisionOutcome,
    grants::Grant,
    hold::{ApprovalEvent, ApprovalRequester},
    resume::ResumeTarget,
};
use mux_audit::AuditLog;
use mux_caller::RunAccess;
use mux_journal::History;
use mux_settings::ApprovalSettings;

/// Files of the approvals, and whether to notify the desktop.
#[derive(Clone, Debug)]
pub struct ApprovalPaths {
    /// The file of lasting grants.
    pub grants: PathBuf,
    /// The folder of the approvals' numbers, and of the waiting calls of earlier builds.
    pub records: PathBuf,
    /// Set if the user may have a desktop session that can show notifications.
    pub desktop: bool,
}

#[derive(Debug)]
pub struct Approvals {
    book: Mutex<PendingApprovals>,
    grants: Mutex<Grants>,
    numbers: ApprovalNumbers,
    /// Where waiting calls are saved.
    history: History,
    /// Runs that are about to save the approvals of the run that they resume.
    adopting: Mutex<HashSet<ApprovalOwner>>,
    /// `None` before the configuration was read.
    settings: Mutex<Option<ApprovalSettings>>,
    desktop: DesktopNotifier,
    has_desktop: bool,
    /// The audit log of answers.
    audit: OnceLock<Arc<AuditLog>>,
    /// Records of the previous daemon process that could not be read.
    problems: Mutex<Vec<String>>,
    /// Counts changes.
    edition: watch::Sender<u64>,
    /// Cancelled when the daemon shuts down: held calls become pending.
    closing: CancellationToken,
}

impl Approvals {
    /// Restores the approvals that the previous daemon process saved if this daemon is `alone`, which means that no
    /// predecessor still writes them. Expired approvals are removed once the configuration says how long they are kept.
    pub fn open(paths: ApprovalPaths, alone: bool, history: History) -> Arc<Self> {
        let mut problems = Vec::new();
        let mut saved = Vec::new();
        if alone {
            problems = old_files::import(&paths.records, &history);
            saved = read_saved(&history, &mut problems);
        }
        let mut book = PendingApprovals::default();
        let known = saved.iter().map(|view| view.number).max().unwrap_or(0);
        for view in saved {
            book.restore(view);
        }
        Arc::new(Self {
            book: Mutex::new(book),
            grants: Mutex::new(Grants::open(paths.grants)),
            numbers: ApprovalNumbers::open(paths.records.join("numbers"), known),
            history,
            adopting: Mutex::default(),
            settings: Mutex::default(),
            desktop: DesktopNotifier::default(),
            has_desktop: paths.desktop,
            audit: OnceLock::new(),
            problems: Mutex::new(problems),
            edition: watch::Sender::new(1),
            closing: CancellationToken::new(),
        })
    }

    /// True if there is a desktop to notify, for configurations that do not set this.
    pub fn has_desktop(&self) -> bool {
        self.has_desktop
    }

    pub fn set_settings(&self, settings: ApprovalSettings) {
        *self.settings.lock() = Some(settings);
    }

    pub fn settings(&self) -> ApprovalSettings {
        self.configured_settings().unwrap_or_default()
    }

    /// The configured terms, once the configuration has been read.
    fn configured_settings(&self) -> Option<ApprovalSettings> {
        let settings = self.settings.lock();
        settings.clone()
    }

    /// Problems with saved approvals and grants, to show to the user.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.lock().clone();
        problems.extend(self.grants().problem());
        problems
    }

    /// Stops waiting for answers: held calls become pending.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Resolves when no call is held any longer, after [`Self::close`].
    pub async fn wait_until_none_held(&self) {
        let mut edition = self.subscribe_changes();
        // The sender lives as long as `self`.
        while self.book().has_held() && edition.changed().await.is_ok() {}
    }

    /// Restores the approvals that the predecessor saved, except those of the runs in `others`, which continue there.
    pub async fn read_left_by_predecessor(self: &Arc<Self>, others: Vec<String>) {
        let this = Arc::clone(self);
        let read = spawn_blocking(move || {
            let mut problems = Vec::new();
            let saved = read_saved(&this.history, &mut problems);
            let is_theirs = |run: &str| others.iter().any(|other| other == run);
            let mut book = this.book();
            for view in saved {
                if !view.owner.run().is_some_and(is_theirs) && book.find(view.number).is_none() {
                    book.restore(view);
                }
            }
            drop(book);
            *this.problems.lock() = problems;
        });
        // After a failure the next start reads them again.
        drop(read.await);
        self.notify_changed();
    }

    /// All approvals, oldest first.
    pub async fn list(self: &Arc<Self>) -> Vec<ApprovalSnapshot> {
        self.expire_old().await;
        self.book().all()
    }

    /// Finds an approval by the ID that a client passed, if `access` allows it.
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

    /// The number of held calls, and of saved calls that can still be approved.
    pub fn waiting_counts(&self) -> (usize, usize) {
        self.book().count_waiting()
    }

    /// A counter that increases with every change.
    pub fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.edition.subscribe()
    }

    pub fn list_grants(&self) -> Vec<(String, Grant)> {
        self.grants().all()
    }

    /// Revokes a lasting grant.
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

    /// Removes the session grants of a connection that has ended.
    pub fn connection_ended(&self, connection: u64) {
        self.book()
            .end_session(&GrantSession::Connection(connection));
    }

    /// Reads the grants again, with the changes that the predecessor made since this daemon read them.
    pub fn reload_grants(&self) {
        self.grants().reload();
    }

    /// True if a lasting grant covers the call. After a handover the successor gives grants, so the file is read again.
    fn is_always_granted(&self, subject: &ApprovalSubject) -> bool {
        let mut grants = self.grants();
        if self.closing.is_cancelled() {
            grants.reload();
        }
        grants.covers(subject)
    }

    /// Runs with a held call.
    pub fn runs_held(&self) -> Vec<String> {
        self.book().runs_held()
    }

    fn notify_changed(&self) {
        self.edition.send_modify(|edition| *edition += 1);
    }

    fn book(&self) -> MutexGuard<'_, PendingApprovals> {
        self.book.lock()
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock()
    }
}

/// All saved approvals, however old, because the configuration may not be read yet.
fn read_saved(history: &History, problems: &mut Vec<String>) -> Vec<ApprovalSnapshot> {
    let held = history.read_held().unwrap_or_else(|error| {
        problems.push(format!("waiting approvals cannot be read: {error}"));
        Vec::new()
    });
    let held = held.into_iter();
    let saved = held
        .flat_map(|held| approval_record::restore_approvals(held, problems))
        .collect();
    for problem in problems {
        warn!(problem, "cannot restore an approval");
    }
    saved
}

fn unknown_approval_fault(id: &str) -> Fault {
    let message = format!("there is no approval `{}`", mux_caller::one_line(id));
    Fault::new(FaultKind::NotFound, message).hint("`mux approvals` lists waiting calls")
}

fn lost_answer_fault() -> Fault {
    Fault::new(FaultKind::Internal, "the answer was lost in the daemon").user_hint("see `mux logs`")
}

#[cfg(test)]
mod tests;
