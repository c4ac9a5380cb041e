//! Which run a client resumes, and how its approvals move to the run that resumes it.
//!
//! Invariant: a run is resumed by one run at a time, whose rows replace the earlier run's before its program runs.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};

use super::{
    Approvals,
    approval_subject::{ApprovalId, ApprovalOwner, ApprovalSnapshot},
    unknown_approval_fault,
};
use mux_caller::RunAccess;
use mux_journal::RunJournal;

/// The target of an ID to resume.
#[derive(Debug)]
pub enum ResumeTarget {
    /// An owner whose program runs again. Contains one of its approvals.
    Again(Box<ApprovalSnapshot>),
    /// No approval waits. The run with this ID, if there is one.
    As(String),
}

impl Approvals {
    /// Finds what to resume by the ID of a run or an approval that `access` allows. `lives` returns true for a run that
    /// has not ended.
    pub async fn find_resumable(
        self: &Arc<Self>,
        id: &str,
        access: &RunAccess,
        lives: impl Fn(&str) -> bool,
    ) -> Result<ResumeTarget, Fault> {
        self.expire_old().await;
        let mut found = self.find_owner(id, access)?;
        let mut name = id.to_owned();
        // The approvals of a resumed run are under the name of the latest run that resumed it.
        let next = self.book().successor(id).map(str::to_owned);
        if let Some(next) = next.filter(|_| found.is_none()) {
            found = self.find_owner(&next, access)?;
            name = next;
        }
        let Some(view) = found else {
            return Ok(ResumeTarget::As(name));
        };
        if let Some(run) = view.owner.run().filter(|run| lives(run)) {
            return Ok(ResumeTarget::As(run.to_owned()));
        }
        Ok(ResumeTarget::Again(Box::new(view)))
    }

    /// An approval of the owner to which an ID refers. `None` if none of its calls waits.
    fn find_owner(&self, id: &str, access: &RunAccess) -> Result<Option<ApprovalSnapshot>, Fault> {
        let book = self.book();
        if id.starts_with(['A', 'a'])
            && let Some(parsed) = ApprovalId::parse(id)
        {
            let view = book
                .find_accessible(&parsed, access)
                .ok_or_else(|| unknown_approval_fault(id))?;
            return Ok(Some(view.clone()));
        }
        let is_named = |view: &ApprovalSnapshot| {
            view.owner.run().is_some_and(|run| {
                let last = run.rsplit_once('-').map(|(_, last)| last);
                run == id || (access.is_user() && last == Some(id))
            })
        };
        let mut views = book.all();
        views.retain(|view| is_named(view) && access.allows(&view.subject.origin));
        views.sort_by(|one, other| one.owner.cmp(&other.owner));
        views.dedup_by(|one, other| one.owner == other.owner);
        Ok(match views.as_slice() {
            [one] => Some(one.clone()),
            _ => views.into_iter().find(|view| view.owner.run() == Some(id)),
        })
    }

    /// Moves the approvals of `owner` to the run that resumes it. Fails if another run already has.
    pub fn adopt(&self, owner: &ApprovalOwner, run: &str) -> Result<(), Fault> {
        let to = ApprovalOwner::Run(run.to_owned());
        // Before the run's approvals can be answered under this name.
        self.adopting.lock().insert(to.clone());
        if self.book().adopt(owner, &to) {
            self.notify_changed();
            return Ok(());
        }
        self.adopting.lock().remove(&to);
        let message = "another run has already resumed it";
        Err(Fault::new(FaultKind::Busy, message).hints(
            "`mux runs` lists the runs",
            "its result goes to the client that resumed it first",
        ))
    }

    /// Replaces the rows of the earlier run by this run's. On failure the earlier state is restored.
    pub async fn take_over(self: &Arc<Self>, run: &Arc<RunJournal>) -> Result<(), Fault> {
        let to = ApprovalOwner::Run(run.id.clone());
        let is_saved = self.save_run(run, true).await;
        self.adopting.lock().remove(&to);
        let Some(resumed) = run.resumes.as_deref().filter(|_| !is_saved) else {
            return Ok(());
        };
        let back = ApprovalOwner::of_stem(resumed);
        self.book().give_back(&back, &to);
        // Removes the rows of the new name, and saves answers given meanwhile under the old name.
        self.amend_owner(&to).await;
        self.amend_owner(&back).await;
        self.notify_changed();
        let message = "cannot resume the run: its record could not be saved";
        Err(Fault::new(FaultKind::Unavailable, message).user_hint("see `mux logs`"))
    }
}
