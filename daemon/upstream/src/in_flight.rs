//! What is on its way over one session: for whom, and how far it is.
//!
//! A server that asks, logs or tells of progress names no client. Progress is found by its token; for
//! the rest there must be exactly one connection that has something on its way.
//! Invariants: nothing is kept for a token or a call that nobody waits for. A request that was taken
//! back before its sending began is not sent.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rmcp::model::{ProgressNotificationParam, ProgressToken, RequestId};
use tokio_util::sync::CancellationToken;

use super::{link::LinkError, places::Seat, progress::Meter};
use mux_caller::{Caller, Cause, Clock, Mailbox};

/// For which a run that has nothing on its way any more counts as being at work.
const A_MOMENT: Duration = Duration::from_millis(200);
const MOST_ENDED: usize = 16;

#[derive(Debug, Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    /// Words on the progress of what nobody waits for.
    strangers: AtomicU64,
}

/// Guarded by `InFlight::state`.
#[derive(Debug, Default)]
struct State {
    next: u64,
    flights: BTreeMap<u64, Entry>,
    tokens: HashMap<ProgressToken, u64>,
    ids: HashMap<RequestId, u64>,
    /// Runs of which something has ended, and when.
    ended: VecDeque<(Instant, String)>,
}

#[derive(Debug)]
struct Entry {
    /// None for what we ask on our own account.
    caller: Option<Arc<Caller>>,
    seat: Option<Arc<Seat>>,
    clock: Arc<Clock>,
    meter: Arc<Meter>,
    /// What it goes by, once it is sent.
    names: Option<(RequestId, ProgressToken)>,
    sending: Outgoing,
    over: CancellationToken,
}

/// How far a request has come on its way out.
#[derive(Clone, Debug, Default)]
pub(super) enum Outgoing {
    #[default]
    Waiting,
    /// Some of it may have left us.
    Begun,
    Failed(LinkError),
}

/// Travels with a request to the transport, which knows the token that it was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(u64);

/// One request, until it is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    all: Arc<InFlight>,
    number: u64,
    pub(super) clock: Arc<Clock>,
    pub(super) meter: Arc<Meter>,
}

/// The one connection that has something on its way.
#[derive(Debug)]
pub(super) struct Party {
    /// Of its latest request.
    pub(super) caller: Arc<Caller>,
    pub(super) seat: Option<Arc<Seat>>,
    pub(super) mailbox: Arc<Mailbox>,
    /// Of all its requests, and of the runs that they belong to.
    pub(super) clocks: Vec<Arc<Clock>>,
    /// Cancelled one by one as they end.
    pub(super) over: Vec<CancellationToken>,
}

impl InFlight {
    pub(super) fn begin(
        self: &Arc<Self>,
        caller: Option<&Arc<Caller>>,
        seat: Option<Arc<Seat>>,
    ) -> Flight {
        let (clock, meter) = (Arc::<Clock>::default(), Arc::<Meter>::default());
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        let entry = Entry {
            caller: caller.cloned(),
            seat,
            clock: Arc::clone(&clock),
            meter: Arc::clone(&meter),
            names: None,
            sending: Outgoing::Waiting,
            over: CancellationToken::new(),
        };
        state.flights.insert(number, entry);
        drop(state);
        Flight {
            all: Arc::clone(self),
            number,
            clock,
            meter,
        }
    }

    /// The request goes out under these names.
    pub(super) fn sent(&self, Mark(number): Mark, id: RequestId, token: ProgressToken) {
        let mut state = self.state();
        // Whoever made it may have gone already.
        if let Some(entry) = state.flights.get_mut(&number) {
            entry.names = Some((id.clone(), token.clone()));
            state.tokens.insert(token, number);
            state.ids.insert(id, number);
        }
    }

    /// False if nobody waits for it any more: it stays here.
    pub(super) fn begin_sending(&self, Mark(number): Mark) -> bool {
        let mut state = self.state();
        let entry = state.flights.get_mut(&number);
        entry.is_some_and(|entry| {
            entry.sending = Outgoing::Begun;
            true
        })
    }

    pub(super) fn not_sent(&self, Mark(number): Mark, error: LinkError) {
        if let Some(entry) = self.state().flights.get_mut(&number) {
            entry.sending = Outgoing::Failed(error);
        }
    }

    /// Its answer has come: what the server says from here on has nothing to do with it.
    pub(super) fn answered(&self, id: &RequestId) {
        let mut state = self.state();
        if let Some(number) = state.ids.get(id).copied() {
            state.end(number);
        }
    }

    pub(super) fn progress(&self, told: &ProgressNotificationParam) {
        let state = self.state();
        let number = state.tokens.get(&told.progress_token);
        match number.and_then(|number| state.flights.get(number)) {
            Some(entry) => {
                entry.meter.sign(entry.clock.mark());
                entry.meter.set(told);
            }
            None => {
                self.strangers.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether somebody waits for anything.
    pub(super) fn has_calls(&self) -> bool {
        let state = self.state();
        state.flights.values().any(|entry| entry.caller.is_some())
    }

    /// The runs that have something on its way, or had a moment ago: what a server writes while it works may be read
    /// after its answer.
    pub(super) fn runs(&self) -> Vec<String> {
        let state = self.state();
        let flights = state.flights.values();
        let going = flights.filter_map(|entry| run_of(entry.caller.as_deref()?));
        let ended = state.ended.iter();
        let ended = ended.filter(|(when, _)| when.elapsed() <= A_MOMENT);
        let mut runs: Vec<String> = Vec::new();
        for run in going.chain(ended.map(|(_, run)| run)) {
            if !runs.contains(run) {
                runs.push(run.clone());
            }
        }
        runs
    }

    /// How often progress was told of what nobody waits for.
    pub(super) fn strangers(&self) -> u64 {
        self.strangers.load(Ordering::Relaxed)
    }

    /// None if nobody has something on its way, or several have, or somebody who cannot be asked.
    pub(super) fn party(&self) -> Option<Party> {
        let state = self.state();
        let all = || {
            let entries = state.flights.values();
            entries.filter_map(|entry| Some((entry, entry.caller.as_ref()?)))
        };
        let (entry, latest) = all().next_back()?;
        let seat = entry.seat.clone();
        let mailbox = Arc::clone(latest.mailbox.as_ref()?);
        if all().any(|(_, caller)| caller.connection() != latest.connection()) {
            return None;
        }
        let clocks = all().flat_map(|(entry, caller)| [&entry.clock, &caller.clock]);
        Some(Party {
            caller: Arc::clone(latest),
            seat,
            mailbox,
            clocks: clocks.cloned().collect(),
            over: all().map(|(entry, _)| entry.over.clone()).collect(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end(&mut self, number: u64) {
        let Some(entry) = self.flights.remove(&number) else {
            return;
        };
        if let Some((id, token)) = &entry.names {
            self.tokens.remove(token);
            self.ids.remove(id);
        }
        if let Some(run) = entry.caller.as_deref().and_then(run_of) {
            self.ended.retain(|(_, known)| known != run);
            self.ended.push_back((Instant::now(), run.clone()));
            if self.ended.len() > MOST_ENDED {
                self.ended.pop_front();
            }
        }
        entry.over.cancel();
    }
}

fn run_of(caller: &Caller) -> Option<&String> {
    match &caller.cause {
        Cause::Run(run) => Some(run),
        Cause::Call(_) => None,
    }
}

impl Flight {
    /// Resolves when nothing was heard of its progress for so long.
    pub(super) async fn quiet(&self, within: Duration) {
        let mut since = self.clock.mark();
        loop {
            self.clock.over_since(since, within).await;
            match self.meter.last_sign() {
                Some(sign) if sign != since => since = sign,
                _ => return,
            }
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.number)
    }

    /// How far it came, for whom no answer comes any more. What has not begun does not begin after this.
    pub(super) fn take_back(&self) -> Outgoing {
        let mut state = self.all.state();
        let sending = match state.flights.get(&self.number) {
            Some(entry) => entry.sending.clone(),
            // Its answer was on its way to us.
            None => Outgoing::Begun,
        };
        state.end(self.number);
        sending
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.all.state().end(self.number);
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;
    use mux_caller::News;

    fn caller(connection: Option<u64>) -> Arc<Caller> {
        let news = News::default();
        Arc::new(Caller {
            mailbox: connection.map(|number| Mailbox::new(number, Arc::default(), &news)),
            ..Caller::default()
        })
    }

    #[test]
    fn a_server_is_heard_by_the_one_connection_that_waits_for_it() {
        let all = Arc::new(InFlight::default());
        assert!(all.party().is_none());
        let (one, two, detached) = (caller(Some(1)), caller(Some(2)), caller(None));
        let (first, again) = (all.begin(Some(&one), None), all.begin(Some(&one), None));
        let _own = all.begin(None, None);
        assert_eq!(all.party().unwrap().over.len(), 2);
        for other in [&two, &detached] {
            let stranger = all.begin(Some(other), None);
            assert!(all.party().is_none());
            drop(stranger);
            assert!(all.party().is_some());
        }
        let party = all.party().unwrap();
        drop((first, again));
        assert!(party.over.iter().all(CancellationToken::is_cancelled));
        assert!(all.party().is_none());
    }

    #[test]
    fn a_token_lives_as_long_as_its_request() {
        let all = Arc::new(InFlight::default());
        let token = ProgressToken(NumberOrString::Number(7));
        let told = ProgressNotificationParam::new(token.clone(), 0.5);
        let flight = all.begin(Some(&caller(Some(1))), None);
        all.progress(&told);
        assert_eq!((all.strangers(), flight.meter.take()), (1, None));
        let id = RequestId::Number(1);
        all.sent(flight.mark(), id.clone(), token.clone());
        all.progress(&told);
        assert_eq!(flight.meter.take().unwrap().progress, 0.5);
        let mark = flight.mark();
        drop(flight);
        all.sent(mark, id.clone(), token.clone());
        all.progress(&told);
        assert_eq!(all.strangers(), 2);
        assert!(all.state().tokens.is_empty());
        let answered = all.begin(Some(&caller(Some(1))), None);
        all.sent(answered.mark(), id.clone(), token);
        all.answered(&id);
        assert!(all.party().is_none() && all.state().ids.is_empty());
    }

    #[test]
    fn what_was_taken_back_in_time_is_not_sent() {
        let all = Arc::new(InFlight::default());
        let early = all.begin(None, None);
        assert!(matches!(early.take_back(), Outgoing::Waiting));
        assert!(!all.begin_sending(early.mark()));
        let late = all.begin(None, None);
        assert!(all.begin_sending(late.mark()));
        assert!(matches!(late.take_back(), Outgoing::Begun));
        let failed = all.begin(None, None);
        assert!(all.begin_sending(failed.mark()));
        all.not_sent(failed.mark(), LinkError::Gone);
        let how = failed.take_back();
        assert!(matches!(how, Outgoing::Failed(LinkError::Gone)), "{how:?}");
    }
}
