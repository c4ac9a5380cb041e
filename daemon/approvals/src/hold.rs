//! Holds a call until a user answers.
//!
//! Invariant: while a call is held, its clocks are stopped and it occupies no slot. Its record is on disk before a
//! client is asked. The future of a held call may be dropped at any moment.

use std::{io, sync::Arc, time::Duration};

use mux_wire::{Fault, FaultKind};
use serde_json::json;
use tokio::{
    sync::oneshot,
    task::spawn_blocking,
    time::{Instant, sleep_until},
};
use tracing::info;

use super::{
    Approvals, approval_form,
    approval_subject::{
        AnswerStatus, ApprovalOwner, ApprovalSnapshot, ApprovalSubject, ApprovalVerdict,
        GrantSession,
    },
    pending_approvals::{CapacityExceeded, EnterOutcome},
};
use mux_caller::{
    ApprovalOutcome, ApprovalRequest, Caller, ClientAnswer, ClientNotice, ClientOrigin,
    ClientQuestion, Mailbox, PendingQuestion, QuestionKind,
};
use mux_journal::{RunJournal, history::HeldOwner};
use mux_messages::ApprovalOver;
use mux_settings::ApprovalSettings;

/// The caller of a call that needs approval.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequester<'a> {
    pub caller: &'a Arc<Caller>,
    /// The run that makes the call, if any.
    pub run: Option<&'a Arc<RunJournal>>,
    /// The call's index in the journal of its run.
    pub call: Option<usize>,
    /// For a call outside runs: set if it wants the raw result.
    pub raw: bool,
}

/// An event in the life of a held call.
#[derive(Clone, Copy, Debug)]
pub enum ApprovalEvent<'a> {
    Asked(&'a ApprovalRequest),
    Over(&'a ApprovalOver),
}

impl Approvals {
    /// Holds the call until it is answered, unless a grant covers it. Returns `Ok` when the call may be sent.
    pub async fn ask(
        self: &Arc<Self>,
        subject: ApprovalSubject,
        asker: ApprovalRequester<'_>,
        tell: &(dyn Fn(ApprovalEvent<'_>) + Send + Sync),
    ) -> Result<(), Fault> {
        let session = GrantSession::of(asker.caller);
        if self.book().is_granted(session.as_ref(), subject.cover)
            || self.is_always_granted(&subject)
        {
            return Ok(());
        }
        let path = subject.path.clone();
        let this = Arc::clone(self);
        let caller = Arc::clone(asker.caller);
        let run = asker.run.cloned();
        let subject = ApprovalSubject {
            is_raw: asker.raw,
            ..subject
        };
        let entered = spawn_blocking(move || this.enter(subject, session, &caller, run));
        let entered = entered
            .await
            .unwrap_or_else(|lost| Err(io::Error::other(lost)));
        let (entered, gone) = entered.map_err(|error| {
            let message =
                format!("{path} must be approved, but the request could not be recorded: {error}");
            Fault::new(FaultKind::Unavailable, message).path(&path)
        })?;
        self.remove_saved(gone).await;
        match entered {
            AskOutcome::Answered(verdict, owner) => {
                let known = self.record_used_answer(&asker, &owner).await;
                self.notify_changed();
                verdict_result(verdict, known, &path)
            }
            AskOutcome::Full(full) => Err(capacity_fault(&path, full)),
            AskOutcome::Held(held, answer) => self.hold(held, answer, asker, tell).await,
            AskOutcome::Over => {
                let message = format!("{path} must be approved, but its run has ended");
                Err(Fault::new(FaultKind::Cancelled, message).path(&path))
            }
        }
    }

    /// Enters the call. Also returns the approvals that have expired.
    fn enter(
        self: &Arc<Self>,
        subject: ApprovalSubject,
        session: Option<GrantSession>,
        caller: &Caller,
        run: Option<Arc<RunJournal>>,
    ) -> io::Result<(AskOutcome, Vec<ApprovalSnapshot>)> {
        // Usually avoids disk I/O under the lock of `book`.
        self.numbers.ensure_reserved()?;
        let settings = self.settings();
        let owner = run.as_ref().map(|run| ApprovalOwner::Run(run.id.clone()));
        let keep = self.configured_settings().map(|settings| settings.keep);
        let mut book = self.book();
        let gone = book.expire(keep);
        if run.as_ref().is_some_and(|run| run.is_closed()) {
            return Ok((AskOutcome::Over, gone));
        }
        // A closed mailbox is visible here before `connection_ended` removes the session.
        let left = caller
            .mailbox
            .as_ref()
            .is_some_and(|mailbox| mailbox.is_closed());
        let session = session.filter(|session| !left || matches!(session, GrantSession::Run(_)));
        let next = || self.numbers.next_number();
        let room = (settings.held, settings.held_per_run);
        let stopped = match book.enter(next, subject, owner, session, room)? {
            EnterOutcome::Answered(verdict, owner) => AskOutcome::Answered(verdict, owner),
            EnterOutcome::Full(full) => AskOutcome::Full(full),
            EnterOutcome::Held(view, answer) => {
                // From here on the waiting future may be dropped.
                let held = HeldCall {
                    approvals: Arc::clone(self),
                    run,
                    view,
                    waits: true,
                };
                AskOutcome::Held(held, answer)
            }
        };
        Ok((stopped, gone))
    }

    async fn hold(
        self: &Arc<Self>,
        mut held: HeldCall,
        answer: oneshot::Receiver<ApprovalVerdict>,
        asker: ApprovalRequester<'_>,
        tell: &(dyn Fn(ApprovalEvent<'_>) + Send + Sync),
    ) -> Result<(), Fault> {
        let _paused = asker.caller.clock.pause();
        let settings = self.settings();
        let view = held.view.clone();
        if let Some(run) = &held.run {
            run.set_asked(asker.call, true);
        }
        // A server's request ends with the call that it serves, so it cannot be resumed.
        let keeps = !view.subject.is_server_request;
        if keeps {
            held.save().await;
        }
        self.notify_changed();
        let request = view.subject.request(view.id(), settings.wait);
        info!(
            approval = view.id(),
            path = view.subject.path,
            rule = view.subject.rule,
            "call held for approval"
        );
        tell(ApprovalEvent::Asked(&request));
        self.announce(&request, asker.caller, &settings);
        let verdict = self
            .await_answer(&view, answer, &request, asker.caller)
            .await;
        held.waits = false;
        let ending = match &verdict {
            Some(ApprovalVerdict::Approved) => ApprovalOutcome::Approved,
            Some(ApprovalVerdict::Denied { .. }) => ApprovalOutcome::Denied,
            None => ApprovalOutcome::Pending,
        };
        let outcome = match verdict {
            Some(verdict) => {
                if let Some(run) = &held.run {
                    run.set_asked(asker.call, false);
                }
                let known = !keeps || held.save().await;
                verdict_result(verdict, known, &view.subject.path)
            }
            None if !keeps => Err(unanswered_fault(&view, settings.wait)),
            None => {
                held.save().await;
                Err(pending_fault(&view, settings.wait))
            }
        };
        self.notify_changed();
        let over = ApprovalOver {
            approval: request.approval,
            path: request.path,
            ending,
        };
        tell(ApprovalEvent::Over(&over));
        if let Some(mailbox) = &asker.caller.mailbox {
            let cause = asker.caller.cause.clone();
            mailbox.push_notice(ClientNotice::ApprovalOver { cause, over });
        }
        outcome
    }

    fn announce(&self, request: &ApprovalRequest, caller: &Caller, settings: &ApprovalSettings) {
        if let Some(mailbox) = &caller.mailbox {
            mailbox.push_notice(ClientNotice::ApprovalAsked {
                cause: caller.cause.clone(),
                asked: request.clone(),
            });
        }
        if settings.desktop.unwrap_or(self.has_desktop) {
            self.desktop.notify(request);
        }
    }

    /// Waits for the first answer. `None` if no answer came in time, and then the approval is pending.
    async fn await_answer(
        self: &Arc<Self>,
        view: &ApprovalSnapshot,
        mut answer: oneshot::Receiver<ApprovalVerdict>,
        request: &ApprovalRequest,
        caller: &Caller,
    ) -> Option<ApprovalVerdict> {
        let until = Instant::now() + Duration::from_millis(request.wait_ms);
        let mut asked = ask_client(request, caller, view.subject.is_server_request);
        loop {
            tokio::select! {
                biased;
                verdict = &mut answer => return verdict.ok(),
                (kind, said) = await_client_reply(&mut asked) => {
                    asked = None;
                    if let Some(said) = said.and_then(|said| approval_form::read_answer(kind, said)) {
                        let decision = said.decision;
                        // If another client answered first, its verdict is about to arrive.
                        let settled = self.apply_answer(view.number, said).await;
                        self.audit_answer(settled.as_ref().ok(), decision, answerer(caller));
                    }
                }
                () = sleep_until(until) => break,
                () = self.closing.cancelled() => break,
            }
        }
        {
            // Answers are applied under this lock.
            let mut book = self.book();
            if let Ok(verdict) = answer.try_recv() {
                return Some(verdict);
            }
            if view.subject.is_server_request {
                book.remove(view.number);
            } else {
                book.set_pending(view.number);
            }
        }
        self.expire_old().await;
        None
    }

    /// Records that an earlier answer was used, before the call is sent or refused. Returns false if that failed.
    async fn record_used_answer(
        self: &Arc<Self>,
        asker: &ApprovalRequester<'_>,
        owner: &ApprovalOwner,
    ) -> bool {
        match asker.run {
            Some(run) => self.save_run(run, true).await,
            None => self.amend_owner(owner).await,
        }
    }
}

/// Asks the client that makes the call, with the first kind of question for approvals that it lists.
fn ask_client(
    request: &ApprovalRequest,
    caller: &Caller,
    from_server: bool,
) -> Option<(QuestionKind, PendingQuestion)> {
    let mailbox = caller.mailbox.as_ref()?;
    mailbox.answered_kinds().into_iter().find_map(|kind| {
        let check = match kind {
            QuestionKind::Elicitation => approval_form::check_form,
            QuestionKind::Approval => approval_form::check_plain,
            QuestionKind::Sampling | QuestionKind::Roots => return None,
        };
        let asked = mailbox.ask(ClientQuestion {
            server: None,
            cause: caller.cause.clone(),
            tool: None,
            kind,
            key: None,
            params: approval_form::question_params(kind, request, from_server),
            check,
        })?;
        Some((kind, asked))
    })
}

/// The client that was asked. This may differ from the client that started the run.
fn answerer(caller: &Caller) -> &ClientOrigin {
    let mailbox = caller.mailbox.as_deref();
    mailbox.map_or(&caller.origin, Mailbox::origin)
}

/// The client's answer. `None` if the client has disconnected. Never resolves if the client was not asked.
async fn await_client_reply(
    asked: &mut Option<(QuestionKind, PendingQuestion)>,
) -> (QuestionKind, Option<ClientAnswer>) {
    match asked {
        Some((kind, asked)) => (*kind, asked.wait_for_answer().await),
        None => std::future::pending().await,
    }
}

/// The result of [`Approvals::enter`].
enum AskOutcome {
    Answered(ApprovalVerdict, ApprovalOwner),
    Held(HeldCall, oneshot::Receiver<ApprovalVerdict>),
    Full(CapacityExceeded),
    /// The run of the call has ended.
    Over,
}

/// A guard: if the waiting future is dropped, the approval of a single call is removed, and the approval of a run's
/// call becomes pending until the end of the run decides.
struct HeldCall {
    approvals: Arc<Approvals>,
    /// `None` for a call outside runs.
    run: Option<Arc<RunJournal>>,
    view: ApprovalSnapshot,
    waits: bool,
}

impl HeldCall {
    /// Saves the approvals of the call's owner durably. Returns false on failure.
    async fn save(&self) -> bool {
        save_owner_of(&self.approvals, self.run.as_ref(), &self.view).await
    }
}

async fn save_owner_of(
    approvals: &Arc<Approvals>,
    run: Option<&Arc<RunJournal>>,
    view: &ApprovalSnapshot,
) -> bool {
    if let Some(run) = run {
        return approvals.save_run(run, true).await;
    }
    let held = HeldOwner {
        name: view.owner.stem(),
        run: None,
        origin: Arc::clone(&view.subject.origin),
        replaces: None,
    };
    approvals.save_owner(held, true).await
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        if !self.waits {
            return;
        }
        let number = self.view.number;
        let is_call = self.run.is_none();
        {
            let mut book = self.approvals.book();
            match is_call {
                // An answer that came at the same moment no longer has a recipient.
                true => book.remove(number),
                false
                    if book
                        .find(number)
                        .is_some_and(|view| view.state == AnswerStatus::Waiting) =>
                {
                    book.set_pending(number);
                }
                false => {}
            }
        }
        self.approvals.notify_changed();
        if !is_call || self.view.subject.is_server_request {
            return;
        }
        let approvals = Arc::clone(&self.approvals);
        let view = self.view.clone();
        // Without a runtime the process is exiting.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { save_owner_of(&approvals, None, &view).await });
        }
    }
}

/// `known` means that the use of the approval was recorded on disk.
fn verdict_result(verdict: ApprovalVerdict, known: bool, path: &str) -> Result<(), Fault> {
    if known || verdict != ApprovalVerdict::Approved {
        check_verdict(verdict, path)
    } else {
        Err(unrecorded_fault(path))
    }
}

fn check_verdict(verdict: ApprovalVerdict, path: &str) -> Result<(), Fault> {
    match verdict {
        ApprovalVerdict::Approved => Ok(()),
        ApprovalVerdict::Denied { reason } => {
            let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let message = format!("{path} was denied by the user{because}");
            Err(Fault::new(FaultKind::Denied, message)
                .hint("do not call it again unless the user wants it")
                .path(path))
        }
    }
}

fn pending_fault(view: &ApprovalSnapshot, wait: Duration) -> Fault {
    let id = view.id();
    let path = &view.subject.path;
    let resume = view.resume_id();
    let wait = humantime::format_duration(wait);
    let mut fault = Fault::new(
        FaultKind::Pending,
        format!("{path} is waiting for approval {id}: no answer within {wait} (approvals.wait)"),
    )
    .path(path)
    .hints(
        format!("run `mux approve {id}`, then `mux resume {id}`; calls that have ended are not sent again"),
        format!(
            "ask the user to approve it (`mux approve {id}`), then call `resume` with {resume:?}; calls that have ended \
             are not sent again"
        ),
    );
    let run = view.owner.run();
    fault.details = Some(json!({ "approvalId": id, "run": run, "resume": resume }).to_string());
    fault
}

fn unanswered_fault(view: &ApprovalSnapshot, wait: Duration) -> Fault {
    let path = &view.subject.path;
    let wait = humantime::format_duration(wait);
    let message = format!("{path} was not approved: no answer within {wait} (approvals.wait)");
    Fault::new(FaultKind::Denied, message).path(path)
}

fn capacity_fault(path: &str, full: CapacityExceeded) -> Fault {
    let why = match full {
        CapacityExceeded::InAll(most) => format!("{most} others wait (approvals.held)"),
        CapacityExceeded::OfRun(most) => format!("{most} others wait (approvals.held_per_run)"),
        CapacityExceeded::Bytes(most) => {
            format!("the arguments of all waiting calls would exceed {most} bytes, a fixed limit")
        }
    };
    Fault::new(
        FaultKind::Busy,
        format!("{path} must be approved, but {why}"),
    )
    .user_hint("answer the waiting calls: `mux approvals`")
    .path(path)
}

fn unrecorded_fault(path: &str) -> Fault {
    let message =
        format!("{path} was approved but not sent: the call could not be recorded on disk");
    Fault::new(FaultKind::Unavailable, message).path(path)
}
