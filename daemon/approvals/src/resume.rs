//! A run that ended as pending goes on.
//!
//! Invariant: one run at a time goes on with what another has left, and its record takes the place of the former one
//! before anything of it runs.

use std::{io, sync::Arc};

use mux_wire::{Fault, Kind};
use tokio::task::spawn_blocking;

use super::{
    Approvals,
    dossier::{Began, Dossier, Past},
    subject::{ApprovalId, Owner, View},
    unknown,
};
use mux_caller::{Origin, RunAccess};

/// A run that can go on.
#[derive(Debug)]
pub struct Resumed {
    pub began: Began,
    pub past: Past,
    owner: Owner,
}

/// What there is of an id.
#[derive(Debug)]
pub enum GoesOn {
    /// A program, to be run again with its log.
    Anew(Box<Resumed>),
    /// The run of this id, if there is one: nothing is kept of it beside.
    As(String),
}

impl Approvals {
    /// By a run or an approval that `access` reaches. `lives` tells whether a run has not ended.
    pub async fn resumable(
        self: &Arc<Self>,
        id: &str,
        access: &RunAccess,
        lives: impl Fn(&str) -> bool,
    ) -> Result<GoesOn, Fault> {
        self.tidy().await;
        let (mut found, mut name) = (self.owner(id, access)?, id.to_owned());
        // What a run has left waits under the name of the one that went on with it last.
        let next = self.book().successor(id).map(str::to_owned);
        if let Some(next) = next.filter(|_| found.is_none()) {
            (found, name) = (self.owner(&next, access)?, next);
        }
        let Some((owner, origin)) = found else {
            return Ok(GoesOn::As(name));
        };
        if let Some(run) = owner.run().filter(|run| lives(run)) {
            return Ok(GoesOn::As(run.to_owned()));
        }
        let sheet = self.sheets.of(&owner);
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
        let (began, past) = (Began::of(program, &origin), Past::new(owner.stem(), calls));
        Ok(GoesOn::Anew(Box::new(Resumed { began, past, owner })))
    }

    /// Whose id this is; none if nothing of it waits.
    fn owner(&self, id: &str, access: &RunAccess) -> Result<Option<(Owner, Arc<Origin>)>, Fault> {
        let book = self.book();
        if id.starts_with(['A', 'a'])
            && let Some(parsed) = ApprovalId::parse(id)
        {
            let view = book.find_as(&parsed, access).ok_or_else(|| unknown(id))?;
            return Ok(Some(whose(view)));
        }
        let named = |view: &View| {
            let run = view.owner.run()?;
            let last = run.rsplit_once('-').map(|(_, last)| last);
            let is_named = run == id || (access.is_user() && last == Some(id));
            (is_named && access.allows(&view.subject.origin)).then(|| whose(view))
        };
        let mut owners: Vec<(Owner, Arc<Origin>)> = book.all().iter().filter_map(named).collect();
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
    pub fn adopt(&self, resumed: &Resumed, run: &str) -> Result<(), Fault> {
        let to = Owner::Run(run.to_owned());
        let sheet = self.sheets.of(&to);
        // Before it can be answered under this name.
        sheet.set_awaited();
        if self.book().adopt(&resumed.owner, &to) {
            // Nobody has put one there: what was read goes on once.
            drop(resumed.past.next.set(sheet));
            self.changed();
            return Ok(());
        }
        let message = "another one goes on with it already";
        Err(Fault::new(Kind::Busy, message).hints(
            "`mux runs` lists the runs",
            "its result goes to whoever resumed it first",
        ))
    }

    /// The record of the former run has become that of this one; if it cannot, it is as before.
    pub async fn begin_again(
        self: &Arc<Self>,
        dossier: &Arc<Dossier>,
        former: &str,
    ) -> Result<(), Fault> {
        if self.record(dossier).await {
            return Ok(());
        }
        let number = former
            .strip_prefix("call-")
            .and_then(|number| number.parse().ok());
        let back = number.map_or_else(|| Owner::Run(former.to_owned()), Owner::Call);
        self.book().give_back(&back, &dossier.owner);
        // Nothing is left under the new name, and what was said meanwhile is written under the old one.
        self.amend(&dossier.owner).await;
        self.amend(&back).await;
        self.changed();
        let message = "it cannot go on: the disk does not take down what it would do";
        Err(Fault::new(Kind::Unavailable, message).user_hint("see `mux logs`"))
    }
}

fn whose(view: &View) -> (Owner, Arc<Origin>) {
    (view.owner.clone(), Arc::clone(&view.subject.origin))
}
