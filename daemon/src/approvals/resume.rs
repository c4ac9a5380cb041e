//! A run that ended as pending goes on.
//!
//! Invariant: one run at a time goes on with what another has left, and its record takes the place of the former one
//! before anything of it runs.

use std::sync::Arc;

use mux_sandbox::{Fault, Kind};
use tokio::task::spawn_blocking;

use super::{
    Approvals,
    record::{self, Began, Dossier, Past},
    subject::{self, Owner, View},
    unknown,
};

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
    /// By a run or an approval. `lives` tells whether a run has not ended.
    pub async fn resumable(&self, id: &str, lives: impl Fn(&str) -> bool) -> Result<GoesOn, Fault> {
        let Some(owner) = self.owner(id)? else {
            let next = self.book().successor(id).map(str::to_owned);
            return Ok(GoesOn::As(next.unwrap_or_else(|| id.to_owned())));
        };
        if let Some(run) = owner.run().filter(|run| lives(run)) {
            return Ok(GoesOn::As(run.to_owned()));
        }
        let (records, of) = (self.records.clone(), owner.clone());
        let read = spawn_blocking(move || record::read(&records, &of)).await;
        let read = read.unwrap_or_else(|lost| Err(std::io::Error::other(lost)));
        let gone = |why: &str| {
            let message = format!("what is needed to go on with `{id}` cannot be read: {why}");
            Fault::new(Kind::Unavailable, message).hint("run the program again")
        };
        let record = read.map_err(|error| gone(&error.to_string()))?;
        let record = record.ok_or_else(|| gone("it is gone"))?;
        let (began, past) = record.resume(&owner);
        let past = past.ok_or_else(|| {
            let message = format!(
                "`{id}` cannot go on: its calls and their results were more than may be kept (approvals.log)"
            );
            Fault::new(Kind::Limit, message).hint("run the program again, or let it keep less")
        })?;
        Ok(GoesOn::Anew(Box::new(Resumed { began, past, owner })))
    }

    /// Whose id this is; none if nothing of it waits.
    fn owner(&self, id: &str) -> Result<Option<Owner>, Fault> {
        let book = self.book();
        if id.starts_with(['A', 'a'])
            && let Some(number) = subject::number_of(id)
        {
            let view = book.find(number).ok_or_else(|| unknown(id))?;
            return Ok(Some(view.owner.clone()));
        }
        let named = |view: &View| {
            let run = view.owner.run()?;
            let last = run.rsplit_once('-').map(|(_, last)| last);
            (run == id || last == Some(id)).then(|| view.owner.clone())
        };
        let mut owners: Vec<Owner> = book.all().iter().filter_map(named).collect();
        owners.dedup();
        Ok(match owners.as_slice() {
            [one] => Some(one.clone()),
            _ => owners.into_iter().find(|owner| owner.run() == Some(id)),
        })
    }

    /// From now on this run is the one that goes on. Fails if another one does.
    pub fn adopt(&self, resumed: &Resumed, run: &str) -> Result<(), Fault> {
        let to = Owner::Run(run.to_owned());
        if self.book().adopt(&resumed.owner, &to) {
            self.changed();
            return Ok(());
        }
        let message = "another one goes on with it already";
        Err(Fault::new(Kind::Busy, message).hint("`mux runs` lists the runs"))
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
        let back = match former
            .strip_prefix("call-")
            .and_then(|number| number.parse().ok())
        {
            Some(number) => Owner::Call(number),
            None => Owner::Run(former.to_owned()),
        };
        self.book().adopt(&dossier.owner, &back);
        let message = "it cannot go on: the disk does not take down what it would do";
        Err(Fault::new(Kind::Unavailable, message).hint("see `mux logs`"))
    }
}
