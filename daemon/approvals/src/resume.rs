//! A run that ended as pending goes on.
//!
//! Invariant: one run at a time goes on with what another has left, and its record takes the place of the former one
//! before anything of it runs.

use std::{io, sync::Arc};

use mux_wire::{Fault, Kind};
use tokio::task::spawn_blocking;

use super::{
    Approvals,
    approval_subject::{ApprovalId, ApprovalOwner, ApprovalSnapshot},
    resumable_run::{FormerRun, ProgramStart, ResumableRun},
    unknown_approval_fault,
};
use mux_caller::{ClientOrigin, RunAccess};

/// A run that can go on.
#[derive(Debug)]
pub struct ResumedRun {
    pub began: ProgramStart,
    pub past: FormerRun,
    owner: ApprovalOwner,
}

/// What there is of an id.
#[derive(Debug)]
pub enum ResumeTarget {
    /// A program, to be run again with its log.
    Anew(Box<ResumedRun>),
    /// The run of this id, if there is one: nothing is kept of it beside.
    As(String),
}

impl Approvals {
    /// By a run or an approval that `access` reaches. `lives` tells whether a run has not ended.
    pub async fn find_resumable(
        self: &Arc<Self>,
        id: &str,
        access: &RunAccess,
        lives: impl Fn(&str) -> bool,
    ) -> Result<ResumeTarget, Fault> {
        self.expire_old().await;
        let (mut found, mut name) = (self.find_owner(id, access)?, id.to_owned());
        // What a run has left waits under the name of the one that went on with it last.
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
            let message = format!("what is needed to go on with `{id}` cannot be read: {why}");
            Fault::new(Kind::Unavailable, message).hint("run the program again")
        };
        let kept = read.map_err(|error| gone(&error.to_string()))?;
        let (program, calls) = kept.ok_or_else(|| gone("it is gone"))?;
        let calls = calls.ok_or_else(|| {
            let message = format!(
                "`{id}` cannot go on: its calls and their results were more than may be kept (approvals.log)"
            );
            Fault::new(Kind::Limit, message).hint("run the program again, or let it keep less")
        })?;
        let (began, past) = (
            ProgramStart::of(program, &origin),
            FormerRun::new(owner.stem(), calls),
        );
        Ok(ResumeTarget::Anew(Box::new(ResumedRun {
            began,
            past,
            owner,
        })))
    }

    /// Whose id this is; none if nothing of it waits.
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

    /// From now on this run is the one that goes on. Fails if another one does.
    pub fn adopt(&self, resumed: &ResumedRun, run: &str) -> Result<(), Fault> {
        let to = ApprovalOwner::Run(run.to_owned());
        let sheet = self.sheets.owner_files_of(&to);
        // Before it can be answered under this name.
        sheet.set_awaited();
        if self.book().adopt(&resumed.owner, &to) {
            // Nobody has put one there: what was read goes on once.
            drop(resumed.past.next.set(sheet));
            self.notify_changed();
            return Ok(());
        }
        let message = "another one goes on with it already";
        Err(Fault::new(Kind::Busy, message).hints(
            "`mux runs` lists the runs",
            "its result goes to whoever resumed it first",
        ))
    }

    /// The record of the former run has become that of this one; if it cannot, it is as before.
    pub async fn take_over_record(
        self: &Arc<Self>,
        dossier: &Arc<ResumableRun>,
        former: &str,
    ) -> Result<(), Fault> {
        if self.write_durably(dossier).await {
            return Ok(());
        }
        let number = former
            .strip_prefix("call-")
            .and_then(|number| number.parse().ok());
        let back = number.map_or_else(
            || ApprovalOwner::Run(former.to_owned()),
            ApprovalOwner::Call,
        );
        self.book().give_back(&back, &dossier.owner);
        // Nothing is left under the new name, and what was said meanwhile is written under the old one.
        self.amend_owner(&dossier.owner).await;
        self.amend_owner(&back).await;
        self.notify_changed();
        let message = "it cannot go on: the disk does not take down what it would do";
        Err(Fault::new(Kind::Unavailable, message).user_hint("see `mux logs`"))
    }
}

fn owner_and_origin(view: &ApprovalSnapshot) -> (ApprovalOwner, Arc<ClientOrigin>) {
    (view.owner.clone(), Arc::clone(&view.subject.origin))
}
