//! A call on its way through the policy, stopped until somebody answers.
//!
//! Invariant: while it is held its clocks stand still and it has no place anywhere; its record is on the disk before
//! anybody is asked. Whoever waits for it may go at any moment.

use std::{io, sync::Arc, time::Duration};

use mux_wire::{Fault, Kind};
use serde_json::json;
use tokio::{
    sync::oneshot,
    task::spawn_blocking,
    time::{Instant, sleep_until},
};
use tracing::info;

use super::{
    Approvals,
    book::{Entered, Full},
    dossier::Dossier,
    form,
    subject::{Owner, Session, State, Subject, Verdict, View},
};
use mux_caller::{
    Answer, AskKind, Asked, Caller, Ending, Mailbox, Notice, Origin, Question, Request,
};
use mux_settings::ApprovalTerms;

/// Who makes the call.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    pub caller: &'a Arc<Caller>,
    /// Of its run.
    pub dossier: Option<&'a Arc<Dossier>>,
    /// The call's place in the log of its run.
    pub place: Option<usize>,
    /// Outside of runs: it wants the whole result.
    pub raw: bool,
}

/// What is told of a call that is held.
#[derive(Clone, Copy, Debug)]
pub enum Word<'a> {
    Asked(&'a Request),
    Over(&'a Request, Ending),
}

impl Approvals {
    /// Returns when the call may go out.
    pub async fn ask(
        self: &Arc<Self>,
        subject: Subject,
        asker: Asker<'_>,
        tell: &(dyn Fn(Word<'_>) + Send + Sync),
    ) -> Result<(), Fault> {
        let session = Session::of(asker.caller);
        if self.book().is_granted(session.as_ref(), subject.cover) || self.is_granted(&subject) {
            return Ok(());
        }
        let path = subject.path.clone();
        let (this, raw) = (Arc::clone(self), asker.raw);
        let (caller, dossier) = (Arc::clone(asker.caller), asker.dossier.cloned());
        let entered = spawn_blocking(move || this.enter(subject, session, (&caller, dossier, raw)));
        let entered = entered
            .await
            .unwrap_or_else(|lost| Err(io::Error::other(lost)));
        let (entered, gone) = entered.map_err(|error| {
            let message = format!("{path} must be approved, and nobody can be asked: {error}");
            Fault::new(Kind::Unavailable, message).path(&path)
        })?;
        self.forget(gone).await;
        match entered {
            Stopped::Answered(verdict, owner) => {
                let known = self.used(&asker, &owner).await;
                self.changed();
                settled(verdict, known, &path)
            }
            Stopped::Full(full) => Err(no_room(&path, full)),
            Stopped::Held(held, answer) => self.hold(held, answer, asker, tell).await,
            Stopped::Over => {
                let message = format!("{path} must be approved, and its run is over");
                Err(Fault::new(Kind::Cancelled, message).path(&path))
            }
        }
    }

    /// With what was kept long enough.
    fn enter(
        self: &Arc<Self>,
        subject: Subject,
        session: Option<Session>,
        (caller, dossier, raw): (&Caller, Option<Arc<Dossier>>, bool),
    ) -> io::Result<(Stopped, Vec<View>)> {
        // So that it waits for the disk without the book, but once in a long time.
        self.numbers.reserve()?;
        let terms = self.terms();
        let owner = dossier.as_ref().map(|dossier| dossier.owner.clone());
        let keep = self.said().map(|terms| terms.keep);
        let mut book = self.book();
        let gone = book.expire(keep);
        if dossier.as_ref().is_some_and(|dossier| dossier.is_over()) {
            return Ok((Stopped::Over, gone));
        }
        // Its end is told to the book after it is known here.
        let left = caller
            .mailbox
            .as_ref()
            .is_some_and(|mailbox| mailbox.has_gone());
        let session = session.filter(|session| !left || matches!(session, Session::Run(_)));
        let (next, room) = (|| self.numbers.next(), (terms.held, terms.held_per_run));
        let stopped = match book.enter(next, subject, owner, session, room)? {
            Entered::Answered(verdict, owner) => Stopped::Answered(verdict, owner),
            Entered::Full(full) => Stopped::Full(full),
            Entered::Held(view, answer) => {
                let of_call = || Dossier::of_call(view.number, &view.subject, raw);
                // From here on whoever waits may go.
                let held = Held {
                    approvals: Arc::clone(self),
                    dossier: dossier.unwrap_or_else(of_call),
                    view,
                    waits: true,
                };
                Stopped::Held(held, answer)
            }
        };
        Ok((stopped, gone))
    }

    async fn hold(
        self: &Arc<Self>,
        mut held: Held,
        answer: oneshot::Receiver<Verdict>,
        asker: Asker<'_>,
        tell: &(dyn Fn(Word<'_>) + Send + Sync),
    ) -> Result<(), Fault> {
        let _standing = asker.caller.clock.hold();
        let terms = self.terms();
        let (view, dossier) = (held.view.clone(), Arc::clone(&held.dossier));
        dossier.set_asked(asker.place, true);
        // What a server asks ends with the call that it works on: there is nothing to go on with.
        let keeps = !view.subject.is_server_request;
        if keeps {
            self.record(&dossier).await;
        }
        self.changed();
        let request = view.subject.request(view.id(), terms.wait);
        info!(
            approval = view.id(),
            path = view.subject.path,
            rule = view.subject.rule,
            "held until somebody approves it"
        );
        tell(Word::Asked(&request));
        self.show(&request, asker.caller, &terms);
        let verdict = self.answered(&view, answer, &request, asker.caller).await;
        held.waits = false;
        let ending = match &verdict {
            Some(Verdict::Approved) => Ending::Approved,
            Some(Verdict::Denied { .. }) => Ending::Denied,
            None => Ending::Pending,
        };
        let outcome = match verdict {
            Some(verdict) => {
                dossier.set_asked(asker.place, false);
                let known = !keeps || self.record(&dossier).await;
                settled(verdict, known, &view.subject.path)
            }
            None if !keeps => Err(unanswered(&view, terms.wait)),
            None => {
                self.record(&dossier).await;
                Err(pending(&view, terms.wait))
            }
        };
        self.changed();
        tell(Word::Over(&request, ending));
        if let Some(mailbox) = &asker.caller.mailbox {
            mailbox.tell(Notice::ApprovalOver {
                cause: asker.caller.cause.clone(),
                approval: request.approval.clone(),
                path: request.path.clone(),
                ending,
            });
        }
        outcome
    }

    fn show(&self, request: &Request, caller: &Caller, terms: &ApprovalTerms) {
        if let Some(mailbox) = &caller.mailbox {
            mailbox.tell(Notice::ApprovalAsked {
                cause: caller.cause.clone(),
                asked: request.clone(),
            });
        }
        if terms.desktop.unwrap_or(self.has_desktop) {
            self.desktop.tell(request);
        }
    }

    /// None if nobody answered in time, and it is pending.
    async fn answered(
        self: &Arc<Self>,
        view: &View,
        mut answer: oneshot::Receiver<Verdict>,
        request: &Request,
        caller: &Caller,
    ) -> Option<Verdict> {
        let until = Instant::now() + request.wait;
        let mut asked = question(request, caller);
        loop {
            tokio::select! {
                biased;
                verdict = &mut answer => return verdict.ok(),
                (kind, said) = reply(&mut asked) => {
                    asked = None;
                    if let Some(said) = said.and_then(|said| form::read(kind, said)) {
                        let decision = said.decision;
                        // If somebody else was faster, his answer is on its way.
                        let settled = self.settle(view.number, said).await;
                        self.note_answer(settled.as_ref().ok(), decision, answerer(caller));
                    }
                }
                () = sleep_until(until) => break,
                () = self.closing.cancelled() => break,
            }
        }
        {
            // Answers are given under this lock.
            let mut book = self.book();
            if let Ok(verdict) = answer.try_recv() {
                return Some(verdict);
            }
            match view.subject.is_server_request {
                true => book.remove(view.number),
                false => book.set_pending(view.number),
            }
        }
        self.tidy().await;
        None
    }

    /// The call is sent with an answer that was given before, or refused by it.
    async fn used(self: &Arc<Self>, asker: &Asker<'_>, owner: &Owner) -> bool {
        match asker.dossier {
            Some(dossier) => self.record(dossier).await,
            None => self.amend(owner).await,
        }
    }
}

/// Asks the client that makes the call, in the best way that it knows.
fn question(request: &Request, caller: &Caller) -> Option<(AskKind, Asked)> {
    let mailbox = caller.mailbox.as_ref()?;
    type Check = fn(&serde_json::Value) -> Result<(), String>;
    let ways: [(AskKind, Check); 2] = [
        (AskKind::Elicitation, form::check_form),
        (AskKind::Approval, form::check_plain),
    ];
    ways.into_iter().find_map(|(kind, check)| {
        let asked = mailbox.ask(Question {
            server: None,
            cause: caller.cause.clone(),
            kind,
            key: None,
            params: form::params(kind, request),
            check,
        })?;
        Some((kind, asked))
    })
}

/// Who has said so where a client was asked. That need not be who began the run.
fn answerer(caller: &Caller) -> &Origin {
    let mailbox = caller.mailbox.as_deref();
    mailbox.map_or(&caller.origin, Mailbox::origin)
}

/// The client's word; none if it has gone. Never, if it was not asked.
async fn reply(asked: &mut Option<(AskKind, Asked)>) -> (AskKind, Option<Answer>) {
    match asked {
        Some((kind, asked)) => (*kind, asked.answered().await),
        None => std::future::pending().await,
    }
}

/// What becomes of a call that must be approved.
enum Stopped {
    Answered(Verdict, Owner),
    Held(Held, oneshot::Receiver<Verdict>),
    Full(Full),
    /// Nobody waits for it any more.
    Over,
}

/// A call that nobody waits for any more is not asked for any more, unless it is of a run, whose end says what becomes
/// of it.
struct Held {
    approvals: Arc<Approvals>,
    dossier: Arc<Dossier>,
    view: View,
    waits: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.waits {
            return;
        }
        let number = self.view.number;
        let is_call = self.dossier.owner.run().is_none();
        {
            let mut book = self.approvals.book();
            match is_call {
                // The answer that came at the same moment is nobody's any more.
                true => book.remove(number),
                false
                    if book
                        .find(number)
                        .is_some_and(|view| view.state == State::Waiting) =>
                {
                    book.set_pending(number);
                }
                false => {}
            }
        }
        self.approvals.changed();
        if !is_call || self.view.subject.is_server_request {
            return;
        }
        let (approvals, dossier) = (Arc::clone(&self.approvals), Arc::clone(&self.dossier));
        // Outside of a runtime there is nobody left who could ask.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { approvals.record(&dossier).await });
        }
    }
}

/// `known`: the disk has taken down that it goes out.
fn settled(verdict: Verdict, known: bool, path: &str) -> Result<(), Fault> {
    match known || verdict != Verdict::Approved {
        true => said(verdict, path),
        false => Err(unkept(path)),
    }
}

fn said(verdict: Verdict, path: &str) -> Result<(), Fault> {
    match verdict {
        Verdict::Approved => Ok(()),
        Verdict::Denied { reason } => {
            let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let message = format!("{path} was denied by the user{because}");
            Err(Fault::new(Kind::Denied, message)
                .hint("do not call it again unless the user wants it")
                .path(path))
        }
    }
}

fn pending(view: &View, wait: Duration) -> Fault {
    let (id, path, resume) = (view.id(), &view.subject.path, view.resume_id());
    let wait = humantime::format_duration(wait);
    let mut fault = Fault::new(
        Kind::Pending,
        format!("{path} waits for the approval {id}: nobody answered within {wait} (approvals.wait)"),
    )
    .path(path)
    .hints(
        format!("after `mux approve {id}`, `mux resume {id}` goes on; calls that have ended are not sent again"),
        format!(
            "ask the user to approve it (`mux approve {id}`), then call `resume` with {resume:?}; calls that have ended \
             are not sent again"
        ),
    );
    let run = view.owner.run();
    fault.details = Some(json!({ "approvalId": id, "run": run, "resume": resume }).to_string());
    fault
}

fn unanswered(view: &View, wait: Duration) -> Fault {
    let (path, wait) = (&view.subject.path, humantime::format_duration(wait));
    let message =
        format!("{path} was not approved: nobody answered within {wait} (approvals.wait)");
    Fault::new(Kind::Denied, message).path(path)
}

fn no_room(path: &str, full: Full) -> Fault {
    let why = match full {
        Full::InAll(most) => format!("{most} wait already (approvals.held)"),
        Full::OfRun(most) => format!("{most} wait already (approvals.held_per_run)"),
        Full::Bytes(most) => {
            format!(
                "with its arguments those that wait would be more than {most} bytes, a limit that is fixed"
            )
        }
    };
    Fault::new(Kind::Busy, format!("{path} must be approved, and {why}"))
        .user_hint("answer those that wait: `mux approvals`")
        .path(path)
}

fn unkept(path: &str) -> Fault {
    let message =
        format!("{path} was approved and not sent: the disk did not take down that it would be");
    Fault::new(Kind::Unavailable, message).path(path)
}
