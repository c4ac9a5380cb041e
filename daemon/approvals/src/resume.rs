//! Resumes a run that ended as pending.
//!
//! Invariant: a run is resumed by one run at a time, whose record replaces the former record before its program runs.

use std::{io, sync::Arc};

use mux_wire::{Fault, FaultKind};
use tokio::task::spawn_blocking;

use super::{
    Approvals,
    approval_subject::{ApprovalId, ApprovalOwner, ApprovalSnapshot},
    resumable_run::{FormerRun, ProgramStart, ResumableRun},
    unknown_approval_fault,
};
use mux_caller::{ClientOrigin, RunAccess};

/// A run that can be resumed.
#[derive(Debug)]
pub struct ResumedRun {
    pub began: ProgramStart,
    pub past: FormerRun,
    owner: ApprovalOwner,
}

/// The target of an ID to resume.
#[derive(Debug)]
pub enum ResumeTarget {
    /// A program to run again with its log.
    Anew(Box<ResumedRun>),
    /// No record is kept. The run with this ID, if there is one.
    As(String),
}

impl Approvals {
    /// Finds the run to resume by the ID of a run or an approval that `access` allows. `lives` returns true for a run
    /// that has not ended.
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
            (found, name) = (self.find_owner(&next, access)?, next);
        }
        let Some((owner, origin)) = found else {
            return Ok(ResumeTarget::As(name));
        };
        if let Some(run) = owner.run().filter(|run| lives(run)) {
            return Ok(ResumeTarget::As(run.to_owned()));
        }
        let sheet = self.sheets.owner_files_of(&owner);
        let read = spawn_blocking(move || sheet.read()).await;
        let read = read.unwrap_or_else(|lost| Err(io::Error::other(lost)));
        let gone = |why: &str| {
            let message = format!("cannot resume `{id}`: its call journal cannot be read: {why}");
            Fault::new(FaultKind::Unavailable, message).hint("run the program again")
        };
        let kept = read.map_err(|error| gone(&error.to_string()))?;
        let (program, calls) = kept.ok_or_else(|| gone("the file is missing"))?;
        let calls = calls.ok_or_else(|| {
            let message = format!(
                "cannot resume `{id}`: its calls and their results exceeded the log limit (approvals.log)"
            );
            Fault::new(FaultKind::Limit, message).hint("run the program again, with fewer or smaller calls")
        })?;
        let began = ProgramStart::of(program, &origin);
        let past = FormerRun::new(owner.stem(), calls);
        Ok(ResumeTarget::Anew(Box::new(ResumedRun {
            began,
            past,
            owner,
        })))
    }

    /// The owner to which an ID refers. `None` if none of its calls waits.
    fn find_owner(
        &self,
        id: &str,
        access: &RunAccess,
    ) -> Result<Option<(ApprovalOwner, Arc<ClientOrigin>)>, Fault> {
        let book = self.book();
        if id.starts_with(['A', 'a'])
            && let Some(parsed) = ApprovalId::parse(id)
        {
            let view = book
                .find_accessible(&parsed, access)
                .ok_or_else(|| unknown_approval_fault(id))?;
            return Ok(Some(owner_and_origin(view)));
        }
        let named = |view: &ApprovalSnapshot| {
            let run = view.owner.run()?;
            let last = run.rsplit_once('-').map(|(_, last)| last);
            let is_named = run == id || (access.is_user() && last == Some(id));
            (is_named && access.allows(&view.subject.origin)).then(|| owner_and_origin(view))
        };
        let mut owners: Vec<(ApprovalOwner, Arc<ClientOrigin>)> =
            book.all().iter().filter_map(named).collect();
        owners.sort_by(|(one, _), (other, _)| one.cmp(other));
        owners.dedup_by(|(one, _), (other, _)| one == other);
        Ok(match owners.as_slice() {
            [one] => Some(one.clone()),
            _ => owners
                .into_iter()
                .find(|(owner, _)| owner.run() == Some(id)),
        })
    }

    /// Makes `run` the resuming run. Fails if another run already is.
    pub fn adopt(&self, resumed: &ResumedRun, run: &str) -> Result<(), Fault> {
        let to = ApprovalOwner::Run(run.to_owned());
        let sheet = self.sheets.owner_files_of(&to);
        // Before the run's approvals can be answered under this name.
        sheet.set_awaited();
        if self.book().adopt(&resumed.owner, &to) {
            // The cell is empty: a `ResumedRun` is adopted once.
            drop(resumed.past.next.set(sheet));
            self.notify_changed();
            return Ok(());
        }
        let message = "another run has already resumed it";
        Err(Fault::new(FaultKind::Busy, message).hints(
            "`mux runs` lists the runs",
            "its result goes to the client that resumed it first",
        ))
    }

    /// Replaces the record of the former run with this run's record. On failure the former state is restored.
    pub async fn take_over_record(
        self: &Arc<Self>,
        resumable: &Arc<ResumableRun>,
        former: &str,
    ) -> Result<(), Fault> {
        if self.write_durably(resumable).await {
            return Ok(());
        }
        let number = former
            .strip_prefix("call-")
            .and_then(|number| number.parse().ok());
        let back = number.map_or_else(
            || ApprovalOwner::Run(former.to_owned()),
            ApprovalOwner::Call,
        );
        self.book().give_back(&back, &resumable.owner);
        // Removes the files of the new name, and saves answers given meanwhile under the old name.
        self.amend_owner(&resumable.owner).await;
        self.amend_owner(&back).await;
        self.notify_changed();
        let message = "cannot resume the run: its record could not be saved";
        Err(Fault::new(FaultKind::Unavailable, message).user_hint("see `mux logs`"))
    }
}

fn owner_and_origin(view: &ApprovalSnapshot) -> (ApprovalOwner, Arc<ClientOrigin>) {
    (view.owner.clone(), Arc::clone(&view.subject.origin))
}
