//! All calls that wait for an answer or have an unused answer, and the session grants.
//!
//! Invariant: an answer is given once and used once. Nothing here blocks, and the memory is bounded.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::sync::oneshot;

use super::approval_subject::{
    AnswerStatus, ApprovalCover, ApprovalId, ApprovalOwner, ApprovalSnapshot, ApprovalSubject,
    ApprovalVerdict, GrantSession,
};
use mux_caller::RunAccess;
use mux_process::monotonic_age::MonotonicAge;
use mux_text::random_name::random_name;

/// The maximum number of approvals that are not held. The oldest are dropped first.
const MAX_UNATTENDED_APPROVALS: usize = 1_000;
/// The maximum size, in bytes, of the arguments of all held calls, and separately of all others.
const MAX_HELD_ARGUMENT_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    entries: BTreeMap<u64, PendingEntry>,
    granted: HashMap<GrantSession, HashSet<ApprovalCover>>,
    /// Resumed runs by the names of their files, with the run that resumed each, and the order of insertion.
    resumed: HashMap<String, String>,
    resumed_order: VecDeque<String>,
}

#[derive(Debug)]
struct PendingEntry {
    view: ApprovalSnapshot,
    age: MonotonicAge,
    session: Option<GrantSession>,
    /// Sends the verdict to the held call.
    answer: Option<oneshot::Sender<ApprovalVerdict>>,
}

impl PendingEntry {
    fn is_held(&self) -> bool {
        self.answer.is_some()
    }

    fn bytes(&self) -> usize {
        self.view.subject.arguments.len()
    }
}

/// The result of entering a call that must be approved.
#[derive(Debug)]
pub(super) enum EnterOutcome {
    /// The call was answered before it was made again.
    Answered(ApprovalVerdict, ApprovalOwner),
    Held(ApprovalSnapshot, oneshot::Receiver<ApprovalVerdict>),
    Full(CapacityExceeded),
}

/// The limit that another held call would exceed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CapacityExceeded {
    InAll(usize),
    OfRun(usize),
    /// The size of all arguments.
    Bytes(usize),
}

/// The reason an answer was not accepted.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum AnswerError {
    #[error("there is no such approval")]
    Unknown,
    #[error("it was already answered")]
    Before,
}

/// The effect of an accepted answer.
#[derive(Debug)]
pub(super) struct AppliedAnswer {
    pub(super) view: ApprovalSnapshot,
    pub(super) session: Option<GrantSession>,
    pub(super) live: bool,
}

impl PendingApprovals {
    /// Enters a call. `number` allocates its number if the call is new.
    pub(super) fn enter(
        &mut self,
        number: impl FnOnce() -> io::Result<u64>,
        subject: ApprovalSubject,
        owner: Option<ApprovalOwner>,
        session: Option<GrantSession>,
        (in_all, per_run): (usize, usize),
    ) -> io::Result<EnterOutcome> {
        let held = self.entries.values().filter(|entry| entry.is_held());
        let mut count = 0;
        let mut own = 0;
        let mut bytes = subject.arguments.len();
        for entry in held {
            count += 1;
            own += usize::from(owner.as_ref() == Some(&entry.view.owner));
            bytes += entry.bytes();
        }
        let found = self.find_same_call(&subject, owner.as_ref());
        if let Some(known) = found
            && let Some(entry) = self.entries.get(&known)
            && let AnswerStatus::Answered(verdict) = &entry.view.state
        {
            let verdict = verdict.clone();
            let owner = entry.view.owner.clone();
            self.entries.remove(&known);
            return Ok(EnterOutcome::Answered(verdict, owner));
        }
        if count >= in_all {
            return Ok(EnterOutcome::Full(CapacityExceeded::InAll(in_all)));
        }
        if own >= per_run {
            return Ok(EnterOutcome::Full(CapacityExceeded::OfRun(per_run)));
        }
        if bytes > MAX_HELD_ARGUMENT_BYTES {
            return Ok(EnterOutcome::Full(CapacityExceeded::Bytes(
                MAX_HELD_ARGUMENT_BYTES,
            )));
        }
        let number = match found {
            Some(known) => known,
            None => number()?,
        };
        let known = self.entries.get(&number);
        let token = known.map(|entry| Arc::clone(&entry.view.token));
        let view = ApprovalSnapshot {
            number,
            token: token.unwrap_or_else(|| random_name().into()),
            subject: Arc::new(subject),
            owner: owner.unwrap_or(ApprovalOwner::Call(number)),
            state: AnswerStatus::Waiting,
            since: SystemTime::now(),
        };
        let (answer, receiver) = oneshot::channel();
        let entry = PendingEntry {
            view: view.clone(),
            age: MonotonicAge::since(view.since),
            session,
            answer: Some(answer),
        };
        self.entries.insert(number, entry);
        Ok(EnterOutcome::Held(view, receiver))
    }

    /// Finds an earlier, no longer held approval of the same call.
    fn find_same_call(
        &self,
        subject: &ApprovalSubject,
        owner: Option<&ApprovalOwner>,
    ) -> Option<u64> {
        let same = |entry: &&PendingEntry| {
            let view = &entry.view;
            let ours = match owner {
                Some(owner) => view.owner == *owner,
                None => {
                    view.owner.run().is_none()
                        && view.subject.origin.is_same_client(&subject.origin)
                }
            };
            ours && !entry.is_held() && view.subject.is_same_call(subject)
        };
        self.entries
            .values()
            .find(same)
            .map(|entry| entry.view.number)
    }

    /// Answers an approval. The first answer counts.
    pub(super) fn answer(
        &mut self,
        number: u64,
        verdict: ApprovalVerdict,
    ) -> Result<AppliedAnswer, AnswerError> {
        let entry = self.entries.get_mut(&number).ok_or(AnswerError::Unknown)?;
        if matches!(entry.view.state, AnswerStatus::Answered(_)) {
            return Err(AnswerError::Before);
        }
        let session = entry.session.clone();
        let waits = entry.answer.take();
        entry.view.state = AnswerStatus::Answered(verdict.clone());
        let view = entry.view.clone();
        let live = waits.is_some_and(|waits| waits.send(verdict).is_ok());
        if live {
            self.entries.remove(&number);
        }
        Ok(AppliedAnswer {
            view,
            session,
            live,
        })
    }

    /// Approves the held calls in `shown` that are covered now. Returns them, and the covered calls that keep waiting
    /// because they are not in `shown`.
    pub(super) fn release(
        &mut self,
        shown: &[u64],
        covered: impl Fn(&ApprovalSubject, Option<&GrantSession>) -> bool,
    ) -> (Vec<u64>, Vec<u64>) {
        let waiting = self.entries.values().filter(|entry| entry.is_held());
        let (mut free, unshown): (Vec<u64>, Vec<u64>) = waiting
            .filter(|entry| covered(&entry.view.subject, entry.session.as_ref()))
            .map(|entry| entry.view.number)
            .partition(|number| shown.contains(number));
        free.retain(|number| self.answer(*number, ApprovalVerdict::Approved).is_ok());
        (free, unshown)
    }

    pub(super) fn grant(&mut self, session: GrantSession, cover: ApprovalCover) {
        self.granted.entry(session).or_default().insert(cover);
    }

    pub(super) fn is_granted(&self, session: Option<&GrantSession>, cover: ApprovalCover) -> bool {
        let granted = session.and_then(|session| self.granted.get(session));
        granted.is_some_and(|granted| granted.contains(&cover))
    }

    /// Removes the grants of a session that has ended. No further grant can be given for that session.
    pub(super) fn end_session(&mut self, session: &GrantSession) {
        self.granted.remove(session);
        for entry in self.entries.values_mut() {
            entry.session.take_if(|of| of == session);
        }
    }

    /// Marks an approval as no longer held. The caller checks whether it was answered meanwhile.
    pub(super) fn set_pending(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.answer = None;
            if entry.view.state == AnswerStatus::Waiting {
                entry.view.state = AnswerStatus::Pending;
            }
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.entries.remove(&number);
    }

    /// The approvals of one owner.
    pub(super) fn views_of(&self, owner: &ApprovalOwner) -> Vec<ApprovalSnapshot> {
        let own = self
            .entries
            .values()
            .filter(|entry| entry.view.owner == *owner);
        own.map(|entry| entry.view.clone()).collect()
    }

    /// Ends a run. With `keep` its waiting approvals become pending. Otherwise all its approvals are removed.
    pub(super) fn end_owner(&mut self, owner: &ApprovalOwner, keep: bool) {
        let own = self.entries.values();
        let own = own.filter(|entry| entry.view.owner == *owner);
        let own: Vec<u64> = own.map(|entry| entry.view.number).collect();
        for number in own {
            if keep {
                self.set_pending(number);
            } else {
                self.remove(number);
            }
        }
    }

    /// Moves the approvals of a run that has ended to the run that resumes it. Returns false if there are none.
    pub(super) fn adopt(&mut self, from: &ApprovalOwner, to: &ApprovalOwner) -> bool {
        let any = self.hand_over(from, to);
        if any {
            /// The maximum number of resumed runs to remember.
            const MAX_RESUMED_NAMES: usize = 1_000;
            if let (Some(to), from) = (to.run(), from.stem()) {
                self.resumed_order.retain(|known| *known != from);
                self.resumed_order.push_back(from.clone());
                self.resumed.insert(from, to.to_owned());
            }
            while self.resumed_order.len() > MAX_RESUMED_NAMES
                && let Some(oldest) = self.resumed_order.pop_front()
            {
                self.resumed.remove(&oldest);
            }
        }
        any
    }

    /// Undoes [`Self::adopt`] if the resuming run did not begin.
    pub(super) fn give_back(&mut self, to: &ApprovalOwner, from: &ApprovalOwner) {
        self.hand_over(from, to);
        let name = to.stem();
        self.resumed_order.retain(|known| *known != name);
        self.resumed.remove(&name);
    }

    fn hand_over(&mut self, from: &ApprovalOwner, to: &ApprovalOwner) -> bool {
        let mut any = false;
        for entry in self.entries.values_mut() {
            if entry.view.owner == *from && !entry.is_held() {
                entry.view.owner = to.clone();
                any = true;
            }
        }
        any
    }

    /// The latest run that resumed `run`.
    pub(super) fn successor(&self, run: &str) -> Option<&str> {
        let mut name = self.resumed.get(run)?;
        // A cycle must not loop forever.
        for _ in 0..self.resumed.len() {
            match self.resumed.get(name) {
                Some(next) => name = next,
                None => break,
            }
        }
        Some(name)
    }

    /// Removes and returns the approvals that are not held and older than `keep`, and the oldest beyond the limits.
    pub(super) fn expire(&mut self, keep: Option<Duration>) -> Vec<ApprovalSnapshot> {
        let old = |entry: &PendingEntry| keep.is_some_and(|keep| entry.age.now() >= keep);
        let mut count = 0;
        let mut bytes = 0;
        let mut gone = Vec::new();
        // Latest first, because the latest stay.
        for entry in self.entries.values().rev().filter(|entry| !entry.is_held()) {
            count += 1;
            bytes += entry.bytes();
            if count > MAX_UNATTENDED_APPROVALS || bytes > MAX_HELD_ARGUMENT_BYTES || old(entry) {
                gone.push(entry.view.number);
            }
        }
        self.remove_all(gone)
    }

    fn remove_all(&mut self, numbers: Vec<u64>) -> Vec<ApprovalSnapshot> {
        let gone = numbers
            .into_iter()
            .filter_map(|number| self.entries.remove(&number));
        gone.map(|entry| entry.view).collect()
    }

    /// Adds an approval that a previous daemon process saved.
    pub(super) fn restore(&mut self, view: ApprovalSnapshot) {
        let entry = PendingEntry {
            age: MonotonicAge::since(view.since),
            view,
            session: None,
            answer: None,
        };
        self.entries.insert(entry.view.number, entry);
    }

    pub(super) fn has_held(&self) -> bool {
        self.entries.values().any(PendingEntry::is_held)
    }

    pub(super) fn runs_held(&self) -> Vec<String> {
        let held = self.entries.values().filter(|entry| entry.is_held());
        let runs = held.filter_map(|entry| entry.view.owner.run());
        runs.map(str::to_owned).collect()
    }

    pub(super) fn find(&self, number: u64) -> Option<&ApprovalSnapshot> {
        self.entries.get(&number).map(|entry| &entry.view)
    }

    /// Finds an approval by the ID that a client passed, if `access` allows it.
    pub(super) fn find_accessible(
        &self,
        id: &ApprovalId<'_>,
        access: &RunAccess,
    ) -> Option<&ApprovalSnapshot> {
        self.find(id.number)
            .filter(|view| view.matches_id(id, access))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of held calls, and of unanswered calls that are not held.
    pub(super) fn count_waiting(&self) -> (usize, usize) {
        let mut held = 0;
        let mut kept = 0;
        for entry in self.entries.values() {
            held += usize::from(entry.is_held());
            kept += usize::from(matches!(entry.view.state, AnswerStatus::Pending));
        }
        (held, kept)
    }

    pub(super) fn all(&self) -> Vec<ApprovalSnapshot> {
        self.entries
            .values()
            .map(|entry| entry.view.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests;
