//! Calls that somebody has to approve: held meanwhile, shown to whoever may answer, decided once, and kept with their
//! runs when nobody does.
//!
//! Invariant: what is approved is the call that was shown, with the very arguments, and nobody but a user's own client
//! can say so: no program and no tool reaches [`Approvals::decide`].

mod book;
mod desktop;
mod form;
mod grants;
mod hold;
mod log;
mod number;
mod record;
mod resume;
mod subject;

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mux_sandbox::{Fault, Kind};
use tokio::{sync::watch, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(crate) use self::subject::beginning;
use self::{
    book::{Book, NotDecided},
    grants::Grants,
    number::Numbers,
};
pub use self::{
    grants::Grant,
    hold::{Asker, Word},
    log::Begun,
    record::{Began, Dossier, Past},
    resume::{GoesOn, Resumed},
    subject::{Cover, Decision, Owner, Session, State, Subject, Verdict, View},
};
use crate::settings::ApprovalTerms;

/// Where things are kept.
#[derive(Clone, Debug)]
pub struct Places {
    /// What was allowed for ever.
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
    records: PathBuf,
    terms: Mutex<ApprovalTerms>,
    /// There is a desktop, as far as anybody knows.
    has_desktop: bool,
    /// What could not be read of an earlier life.
    problems: Vec<String>,
    /// Counts changes.
    edition: watch::Sender<u64>,
    /// The daemon ends: nobody can answer in time any more.
    closing: CancellationToken,
}

/// What became of an answer.
#[derive(Debug)]
pub struct Decided {
    pub view: View,
    /// Its program waited, and goes on.
    pub live: bool,
    /// Other calls that are covered by it, and go on.
    pub released: usize,
    /// Why it holds for this once only.
    pub warning: Option<String>,
}

impl Approvals {
    /// Reads what an earlier life has left.
    pub fn open(places: Places) -> Arc<Self> {
        let terms = ApprovalTerms::default();
        let (views, problems) = record::restore(&places.records, terms.keep);
        for problem in &problems {
            warn!(problem, "approvals");
        }
        let mut book = Book::default();
        let known = views.iter().map(|view| view.number).max().unwrap_or(0);
        views.into_iter().for_each(|view| book.restore(view));
        Arc::new(Self {
            book: Mutex::new(book),
            grants: Mutex::new(Grants::open(places.grants)),
            numbers: Numbers::open(places.records.join("numbers"), known),
            records: places.records,
            terms: Mutex::new(terms),
            has_desktop: places.desktop,
            problems,
            edition: watch::Sender::new(1),
            closing: CancellationToken::new(),
        })
    }

    pub fn set_terms(&self, terms: ApprovalTerms) {
        *self.terms.lock().unwrap_or_else(PoisonError::into_inner) = terms;
    }

    pub fn terms(&self) -> ApprovalTerms {
        self.terms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What a user has to know.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
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

    /// Another daemon has left something since this one began.
    pub async fn read_again(self: &Arc<Self>) {
        let this = Arc::clone(self);
        let read = spawn_blocking(move || {
            let (views, problems) = record::restore(&this.records, this.terms().keep);
            for problem in &problems {
                warn!(problem, "approvals");
            }
            let mut book = this.book();
            for view in views {
                if book.find(view.number).is_none() {
                    book.restore(view);
                }
            }
        });
        // It is read again with the next start.
        drop(read.await);
        self.changed();
    }

    /// All of them, the oldest first.
    pub async fn list(&self) -> Vec<View> {
        let expired = self.book().expire(self.terms().keep);
        self.forget(expired).await;
        self.book().all()
    }

    pub fn find(&self, id: &str) -> Result<View, Fault> {
        let number = subject::number_of(id).ok_or_else(|| unknown(id))?;
        self.book().find(number).cloned().ok_or_else(|| unknown(id))
    }

    /// Counts up with every change.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.edition.subscribe()
    }

    pub fn granted(&self) -> Vec<(String, Grant)> {
        self.grants().all()
    }

    /// Takes back what was allowed for ever.
    pub async fn revoke(self: &Arc<Self>, name: String) -> Result<Grant, Fault> {
        let this = Arc::clone(self);
        let revoked = spawn_blocking(move || this.grants().revoke(&name)).await;
        let revoked = revoked.unwrap_or_else(|_| Err(lost()));
        self.changed();
        revoked
    }

    /// A user's answer. The first one counts.
    pub async fn decide(
        self: &Arc<Self>,
        id: &str,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<Decided, Fault> {
        let number = subject::number_of(id).ok_or_else(|| unknown(id))?;
        self.settle(number, decision, reason).await
    }

    async fn settle(
        self: &Arc<Self>,
        number: u64,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<Decided, Fault> {
        let verdict = decision.verdict(form::shortened(reason));
        let given = self.book().answer(number, verdict);
        let given = given.map_err(|why| {
            let id = subject::id_of(number);
            match why {
                NotDecided::Unknown => unknown(&id),
                NotDecided::Before => {
                    Fault::new(Kind::Validation, format!("{id} was answered before"))
                        .hint(format!("`mux resume {id}` goes on with it"))
                }
            }
        })?;
        info!(approval = subject::id_of(number), ?decision, "answered");
        let subject = Arc::clone(&given.view.subject);
        let (mut released, mut warning) = (0, None);
        match (decision, &given.session) {
            (Decision::Session, Some(session)) => {
                let mut book = self.book();
                book.grant(session.clone(), subject.cover);
                released =
                    book.release(|other, of| other.cover == subject.cover && of == Some(session));
            }
            (Decision::Session, None) => {
                warning =
                    Some("nobody is connected any more for whose session it could hold".to_owned());
            }
            (Decision::Always, _) => match self.grant(&subject).await {
                Ok(()) => {
                    let agent = &subject.origin.agent;
                    let covered = |other: &Subject, _: Option<&Session>| {
                        other.cover == subject.cover && other.origin.agent == *agent
                    };
                    released = self.book().release(covered);
                }
                Err(error) => warning = Some(format!("it could not be written down: {error}")),
            },
            (Decision::Once | Decision::Deny, _) => {}
        }
        if !given.live {
            self.amend(&given.view.owner).await;
        }
        self.changed();
        Ok(Decided {
            view: given.view,
            live: given.live,
            released,
            warning,
        })
    }

    async fn grant(self: &Arc<Self>, subject: &Arc<Subject>) -> io::Result<()> {
        let (this, subject) = (Arc::clone(self), Arc::clone(subject));
        let written = spawn_blocking(move || this.grants().add(&subject));
        written.await.map_err(io::Error::other)?
    }

    /// The connection has ended, and what was allowed for its session with it.
    pub fn connection_over(&self, connection: u64) {
        self.book().session_over(&Session::Connection(connection));
    }

    /// A run has ended. What still waits of it is kept as pending if it ended so; then its record is on the disk when
    /// this returns.
    pub async fn run_over(self: &Arc<Self>, dossier: &Arc<Dossier>, is_pending: bool) {
        {
            let mut book = self.book();
            book.over(&dossier.owner, is_pending);
            if let Some(run) = dossier.owner.run() {
                book.session_over(&Session::Run(run.to_owned()));
            }
        }
        if dossier.is_recorded() {
            self.record(dossier).await;
            self.changed();
        }
    }

    /// Before a call of a run goes out, and after it has ended: the disk knows of it, if anything of the run is kept.
    pub async fn note(self: &Arc<Self>, dossier: &Arc<Dossier>) -> Result<(), Fault> {
        if !dossier.is_recorded() || self.record(dossier).await {
            return Ok(());
        }
        let message = "the call was not sent: a call of this run waits for an approval, and the disk does not take down \
                       what the run does meanwhile";
        Err(Fault::new(Kind::Unavailable, message).hint("see `mux logs`"))
    }

    /// Makes the disk say what is so.
    async fn record(self: &Arc<Self>, dossier: &Arc<Dossier>) -> bool {
        let (this, of) = (Arc::clone(self), Arc::clone(dossier));
        let written = spawn_blocking(move || of.write(&this.records, || this.book().of(&of.owner)));
        let written = written
            .await
            .unwrap_or_else(|lost| Err(io::Error::other(lost)));
        if let Err(error) = &written {
            warn!(%error, owner = ?dossier.owner, "a run that waits for an approval is not kept");
        }
        written.is_ok()
    }

    /// The same of a run that has ended.
    async fn amend(self: &Arc<Self>, owner: &Owner) -> bool {
        let (this, of) = (Arc::clone(self), owner.clone());
        let written = spawn_blocking(move || {
            let views = this.book().of(&of);
            record::amend(&this.records, &of, &views)
        });
        let written = written
            .await
            .unwrap_or_else(|lost| Err(io::Error::other(lost)));
        if let Err(error) = &written {
            warn!(%error, ?owner, "the answer to a call that waited is not kept");
        }
        written.is_ok()
    }

    /// What is left of these on the disk.
    async fn forget(&self, gone: Vec<View>) {
        for view in gone {
            let views = self.book().of(&view.owner);
            let (records, owner) = (self.records.clone(), view.owner);
            let amended = spawn_blocking(move || record::amend(&records, &owner, &views));
            // It is looked at again when the daemon starts.
            drop(amended.await);
            self.changed();
        }
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
    let message = format!("there is no approval `{}`", crate::notices::one_line(id));
    Fault::new(Kind::NotFound, message).hint("`mux approvals` lists those that wait")
}

fn lost() -> Fault {
    Fault::new(Kind::Internal, "the answer was lost in the daemon").hint("see `mux logs`")
}

#[cfg(test)]
mod tests;
