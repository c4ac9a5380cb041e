//! What a user says of a call that waits.
//!
//! Invariant: the first answer counts, and whoever gives it is told for how much it is good.

use std::{io, sync::Arc};

use mux_sandbox::{Fault, Kind};
use tokio::task::spawn_blocking;
use tracing::info;

use super::{
    Approvals,
    book::NotDecided,
    form,
    subject::{self, Decision, Session, Subject, View},
    unknown,
};

/// What became of an answer.
#[derive(Debug)]
pub struct Decided {
    pub view: View,
    /// Its program waited, and goes on.
    pub live: bool,
    /// Other calls that are covered by it, and go on.
    pub released: usize,
    /// Why it holds for less than was said.
    pub warning: Option<String>,
}

impl Approvals {
    /// A user's answer. The first one counts.
    pub async fn decide(
        self: &Arc<Self>,
        id: &str,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<Decided, Fault> {
        self.tidy().await;
        let number = subject::number_of(id).ok_or_else(|| unknown(id))?;
        self.settle(number, decision, reason).await
    }

    pub(super) async fn settle(
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
        let (mut released, mut warnings) = (0, Vec::new());
        match (decision, &given.session) {
            (Decision::Session, Some(session)) => {
                let mut book = self.book();
                book.grant(session.clone(), subject.cover);
                released =
                    book.release(|other, of| other.cover == subject.cover && of == Some(session));
            }
            (Decision::Session, None) => warnings.push(
                "it holds for this call only: nobody is connected any more for whose session it could hold".to_owned(),
            ),
            (Decision::Always, _) => match self.grant(&subject).await {
                Ok(()) => {
                    let agent = &subject.origin.agent;
                    let covered = |other: &Subject, _: Option<&Session>| {
                        other.cover == subject.cover && other.origin.agent == *agent
                    };
                    released = self.book().release(covered);
                }
                Err(error) => warnings.push(format!(
                    "it holds for this call only: it could not be written down for others: {error}"
                )),
            },
            (Decision::Once | Decision::Deny, _) => {}
        }
        if !given.live && !self.amend(&given.view.owner).await {
            let gone =
                "the answer could not be written down, and is lost when muxd ends: see `mux logs`";
            warnings.push(gone.to_owned());
        }
        self.changed();
        Ok(Decided {
            view: given.view,
            live: given.live,
            released,
            warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        })
    }

    async fn grant(self: &Arc<Self>, subject: &Arc<Subject>) -> io::Result<()> {
        let (this, subject) = (Arc::clone(self), Arc::clone(subject));
        let written = spawn_blocking(move || this.grants().add(&subject));
        written.await.map_err(io::Error::other)?
    }
}
