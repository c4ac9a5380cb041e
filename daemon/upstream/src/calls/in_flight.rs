//! The requests in flight on one session: their callers, and how far they are.
//!
//! A server's requests, log messages and progress notifications name no client. Progress is matched by its token.
//! Requests and log messages are routed only if exactly one connection has requests in flight.
//!
//! Invariants: nothing is kept for a token or a call whose caller is gone. A request that was cancelled before its
//! sending began is not sent.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken, RequestId};
use tokio_util::sync::CancellationToken;

use super::{call_limiter::PermitSlot, progress_meter::ProgressMeter};
use crate::link::{ActiveRuns, LinkError};
use mux_caller::{CallCause, Caller, Mailbox, PausableClock};

/// How long a run counts as active after its last request ended.
const RECENT_RUN_WINDOW: Duration = Duration::from_millis(200);
const MAX_ENDED_RUNS: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct InFlight {
    state: Mutex<InFlightState>,
    /// Progress notifications for unknown tokens.
    stray_progress: AtomicU64,
}

/// Guarded by `InFlight::state`.
#[derive(Debug, Default)]
struct InFlightState {
    next: u64,
    requests: BTreeMap<u64, InFlightEntry>,
    tokens: HashMap<ProgressToken, u64>,
    ids: HashMap<RequestId, u64>,
    /// Runs whose requests have ended, and when.
    ended: VecDeque<(Instant, String)>,
    /// The connection that made the first request of a caller. A caller may have none.
    #[expect(
        clippy::option_option,
        reason = "no request yet, one without a connection, or one with it"
    )]
    first_caller: Option<Option<u64>>,
    /// Another connection has made a request since. Because a server may work on a request long after it was answered
    /// or given up, its output may be about any of them.
    has_several_callers: bool,
}

#[derive(Debug)]
struct InFlightEntry {
    /// `None` for requests that the daemon itself makes.
    caller: Option<Arc<Caller>>,
    permit: Option<Arc<PermitSlot>>,
    clock: Arc<PausableClock>,
    meter: Arc<ProgressMeter>,
    /// The id and the token of the request, once it is sent.
    sent_as: Option<(RequestId, ProgressToken)>,
    sending: SendState,
    finished: CancellationToken,
}

/// How far the sending of a request is.
#[derive(Clone, Debug, Default)]
pub(crate) enum SendState {
    #[default]
    Waiting,
    /// Part of the request may have been written.
    Begun,
    Failed(LinkError),
}

/// Attached to a request on its way to the transport, where its id and token are assigned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightId(u64);

/// A request in flight, which ends on drop.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    all: Arc<InFlight>,
    number: u64,
    began: Instant,
    caller: Option<Arc<Caller>>,
    pub(crate) clock: Arc<PausableClock>,
    pub(crate) meter: Arc<ProgressMeter>,
}

/// The only connection that has requests in flight.
#[derive(Debug)]
pub(crate) struct CallingClient {
    /// The caller of its latest request.
    pub(crate) caller: Arc<Caller>,
    pub(crate) permit: Option<Arc<PermitSlot>>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// The path of the tool that is being called, if this is its only request.
    pub(crate) tool: Option<Arc<str>>,
    /// The clocks of all its requests and of their runs.
    pub(crate) clocks: Vec<Arc<PausableClock>>,
    /// One token for each request, cancelled when it ends.
    pub(crate) finished: Vec<CancellationToken>,
}

impl InFlight {
    pub(crate) fn begin_request(
        self: &Arc<Self>,
        caller: Option<&Arc<Caller>>,
        permit: Option<Arc<PermitSlot>>,
    ) -> InFlightRequest {
        let clock = Arc::<PausableClock>::default();
        let meter = Arc::<ProgressMeter>::default();
        let mut state = self.state.lock();
        state.next += 1;
        let number = state.next;
        let began = Instant::now();
        if let Some(caller) = caller {
            state.note_caller(caller);
        }
        let entry = InFlightEntry {
            caller: caller.cloned(),
            permit,
            clock: Arc::clone(&clock),
            meter: Arc::clone(&meter),
            sent_as: None,
            sending: SendState::Waiting,
            finished: CancellationToken::new(),
        };
        state.requests.insert(number, entry);
        drop(state);
        InFlightRequest {
            all: Arc::clone(self),
            number,
            began,
            caller: caller.cloned(),
            clock,
            meter,
        }
    }

    /// Registers the id and the token under which the request is sent.
    pub(crate) fn register_sent(
        &self,
        InFlightId(number): InFlightId,
        id: RequestId,
        token: ProgressToken,
    ) {
        let mut state = self.state.lock();
        // The caller may be gone already.
        if let Some(entry) = state.requests.get_mut(&number) {
            entry.sent_as = Some((id.clone(), token.clone()));
            state.tokens.insert(token, number);
            state.ids.insert(id, number);
        }
    }

    /// Returns false if the caller is gone: the request must not be sent.
    pub(crate) fn begin_sending(&self, InFlightId(number): InFlightId) -> bool {
        let mut state = self.state.lock();
        let entry = state.requests.get_mut(&number);
        entry.is_some_and(|entry| {
            entry.sending = SendState::Begun;
            true
        })
    }

    pub(crate) fn record_send_failure(&self, InFlightId(number): InFlightId, error: LinkError) {
        if let Some(entry) = self.state.lock().requests.get_mut(&number) {
            entry.sending = SendState::Failed(error);
        }
    }

    /// The answer has arrived: later messages of the server do not concern this request.
    pub(crate) fn finish_answered(&self, id: &RequestId) {
        let mut state = self.state.lock();
        if let Some(number) = state.ids.get(id).copied() {
            state.end_request(number);
        }
    }

    pub(crate) fn progress(&self, notification: &ProgressNotificationParam) {
        let state = self.state.lock();
        let number = state.tokens.get(&notification.progress_token);
        match number.and_then(|number| state.requests.get(number)) {
            Some(entry) => {
                entry.meter.record_activity(entry.clock.mark());
                entry.meter.record_notification(notification);
            }
            None => {
                self.stray_progress.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// True if a caller has a request in flight.
    pub(crate) fn has_calls(&self) -> bool {
        let state = self.state.lock();
        state.requests.values().any(|entry| entry.caller.is_some())
    }

    /// The number of progress notifications for unknown tokens.
    pub(crate) fn stray_progress_count(&self) -> u64 {
        self.stray_progress.load(Ordering::Relaxed)
    }

    /// `None` if no connection has requests in flight, if several have, or if the caller cannot answer questions.
    pub(crate) fn calling_client(&self) -> Option<CallingClient> {
        let state = self.state.lock();
        let all = || {
            let entries = state.requests.values();
            entries.filter_map(|entry| Some((entry, entry.caller.as_ref()?)))
        };
        let (entry, latest) = all().next_back()?;
        let permit = entry.permit.clone();
        let mailbox = Arc::clone(latest.mailbox.as_ref()?);
        if all().any(|(_, caller)| caller.connection() != latest.connection()) {
            return None;
        }
        let clocks = all().flat_map(|(entry, caller)| [&entry.clock, &caller.clock]);
        Some(CallingClient {
            caller: Arc::clone(latest),
            permit,
            mailbox,
            tool: latest.tool.clone().filter(|_| all().count() == 1),
            clocks: clocks.cloned().collect(),
            finished: all().map(|(entry, _)| entry.finished.clone()).collect(),
        })
    }
}

impl ActiveRuns for InFlight {
    /// The runs that have requests in flight, or had some a moment ago: a server's output during a call may be read
    /// after its answer.
    fn active_runs(&self) -> Vec<String> {
        let state = self.state.lock();
        let requests = state.requests.values();
        let current = requests.filter_map(|entry| run_of(entry.caller.as_deref()?));
        let ended = state.ended.iter();
        let ended = ended.filter(|(when, _)| when.elapsed() <= RECENT_RUN_WINDOW);
        let mut runs: Vec<String> = Vec::new();
        for run in current.chain(ended.map(|(_, run)| run)) {
            if !runs.contains(run) {
                runs.push(run.clone());
            }
        }
        runs
    }
}

impl InFlightState {
    fn note_caller(&mut self, caller: &Caller) {
        let connection = caller.connection();
        self.has_several_callers |= match self.first_caller {
            None => false,
            // A caller without a connection equals no other caller.
            Some(first) => first.is_none() || first != connection,
        };
        self.first_caller.get_or_insert(connection);
    }

    fn end_request(&mut self, number: u64) {
        let Some(entry) = self.requests.remove(&number) else {
            return;
        };
        if let Some((id, token)) = &entry.sent_as {
            self.tokens.remove(token);
            self.ids.remove(id);
        }
        if let Some(run) = entry.caller.as_deref().and_then(run_of) {
            self.ended.retain(|(_, known)| known != run);
            self.ended.push_back((Instant::now(), run.clone()));
            if self.ended.len() > MAX_ENDED_RUNS {
                self.ended.pop_front();
            }
        }
        entry.finished.cancel();
    }
}

fn run_of(caller: &Caller) -> Option<&String> {
    match &caller.cause {
        CallCause::Run(run) => Some(run),
        CallCause::Call(_) => None,
    }
}

impl InFlightRequest {
    /// Resolves when the request has made no progress for `within`.
    pub(crate) async fn wait_until_silent(&self, within: Duration) {
        let mut since = self.clock.mark();
        loop {
            self.clock.wait_until_elapsed_since(since, within).await;
            match self.meter.last_activity() {
                Some(mark) if mark != since => since = mark,
                _ => return,
            }
        }
    }

    /// The client that made the request. `None` for the daemon itself.
    pub(crate) fn caller(&self) -> Option<&Arc<Caller>> {
        self.caller.as_ref()
    }

    /// The time since which the server's output is only about this caller's requests. `None` if the output may be about
    /// others'.
    pub(crate) fn own_output_since(&self) -> Option<Instant> {
        (!self.all.state.lock().has_several_callers).then_some(self.began)
    }

    pub(crate) fn in_flight_id(&self) -> InFlightId {
        InFlightId(self.number)
    }

    /// Gives up the request and returns how far its sending was. If sending has not begun, it never will.
    pub(crate) fn abandon(&self) -> SendState {
        let mut state = self.all.state.lock();
        let sending = match state.requests.get(&self.number) {
            Some(entry) => entry.sending.clone(),
            // The answer has already arrived.
            None => SendState::Begun,
        };
        state.end_request(self.number);
        sending
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.all.state.lock().end_request(self.number);
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;
    use crate::link::LogStamp;
    use mux_caller::ListChangeNotifier;

    fn caller(connection: Option<u64>) -> Arc<Caller> {
        let notifier = ListChangeNotifier::default();
        Arc::new(Caller {
            mailbox: connection.map(|number| Mailbox::new(number, Arc::default(), &notifier)),
            ..Caller::default()
        })
    }

    #[test]
    fn calling_client_is_the_only_connection_with_requests() {
        let all = Arc::new(InFlight::default());
        assert!(all.calling_client().is_none());
        let one = caller(Some(1));
        let two = caller(Some(2));
        let detached = caller(None);
        let first = all.begin_request(Some(&one), None);
        let again = all.begin_request(Some(&one), None);
        let _own = all.begin_request(None, None);
        assert_eq!(all.calling_client().unwrap().finished.len(), 2);
        for other in [&two, &detached] {
            let stranger = all.begin_request(Some(other), None);
            assert!(all.calling_client().is_none());
            drop(stranger);
            assert!(all.calling_client().is_some());
        }
        let client = all.calling_client().unwrap();
        drop((first, again));
        assert!(client.finished.iter().all(CancellationToken::is_cancelled));
        assert!(all.calling_client().is_none());
    }

    #[test]
    fn output_is_of_one_caller_until_another_has_made_a_request() {
        let one = caller(Some(1));
        let two = caller(Some(2));
        let detached = caller(None);
        let is_own = |request: &InFlightRequest| request.own_output_since().is_some();
        for other in [&two, &detached] {
            // The daemon's own requests, and others of the same connection, do not count as other callers.
            let all = Arc::new(InFlight::default());
            let _own = all.begin_request(None, None);
            drop(all.begin_request(Some(&one), None));
            let first = all.begin_request(Some(&one), None);
            assert!(is_own(&first));
            // The server may work on a request that was given up.
            all.begin_request(Some(other), None).abandon();
            assert!(!is_own(&first));
            assert!(!is_own(&all.begin_request(Some(&one), None)));
        }
        let all = Arc::new(InFlight::default());
        assert!(is_own(&all.begin_request(Some(&detached), None)));
        assert!(!is_own(&all.begin_request(Some(&detached), None)));
    }

    #[test]
    fn progress_token_ends_with_its_request() {
        let all = Arc::new(InFlight::default());
        let token = ProgressToken(NumberOrString::Number(7));
        let notification = ProgressNotificationParam::new(token.clone(), 0.5);
        let request = all.begin_request(Some(&caller(Some(1))), None);
        all.progress(&notification);
        assert_eq!(
            (all.stray_progress_count(), request.meter.take_latest()),
            (1, None)
        );
        let id = RequestId::Number(1);
        all.register_sent(request.in_flight_id(), id.clone(), token.clone());
        all.progress(&notification);
        let latest = request.meter.take_latest();
        assert_eq!(latest.map(|latest| latest.progress), Some(0.5));
        let mark = request.in_flight_id();
        drop(request);
        all.register_sent(mark, id.clone(), token.clone());
        all.progress(&notification);
        assert_eq!(all.stray_progress_count(), 2);
        assert!(all.state.lock().tokens.is_empty());
        let answered = all.begin_request(Some(&caller(Some(1))), None);
        all.register_sent(answered.in_flight_id(), id.clone(), token);
        all.finish_answered(&id);
        assert!(all.calling_client().is_none() && all.state.lock().ids.is_empty());
    }

    #[test]
    fn request_abandoned_before_sending_is_not_sent() {
        let all = Arc::new(InFlight::default());
        let early = all.begin_request(None, None);
        assert!(matches!(early.abandon(), SendState::Waiting));
        assert!(!all.begin_sending(early.in_flight_id()));
        let late = all.begin_request(None, None);
        assert!(all.begin_sending(late.in_flight_id()));
        assert!(matches!(late.abandon(), SendState::Begun));
        let failed = all.begin_request(None, None);
        assert!(all.begin_sending(failed.in_flight_id()));
        all.record_send_failure(failed.in_flight_id(), LinkError::Gone);
        let how = failed.abandon();
        assert!(matches!(how, SendState::Failed(LinkError::Gone)), "{how:?}");
    }

    #[test]
    fn log_line_names_active_runs() {
        let in_flight = Arc::<InFlight>::default();
        let stamp = LogStamp::of(&in_flight);
        let rest = |line: String| line.split_once(' ').unwrap().1.to_owned();
        assert_eq!(rest(stamp.stamp_line("a b")), "- a b");
        let caller = |cause| {
            Arc::new(Caller {
                cause,
                ..Caller::default()
            })
        };
        let one = caller(CallCause::Run("a-1".into()));
        let two = caller(CallCause::Run("a-2".into()));
        let call = caller(CallCause::Call("x".into()));
        let held =
            [&one, &call, &two, &one].map(|caller| in_flight.begin_request(Some(caller), None));
        let line = stamp.stamp_line("two\nlines");
        let (time, _) = line.split_once(' ').unwrap();
        assert!(humantime::parse_rfc3339(time).is_ok(), "{line}");
        assert_eq!(rest(line), "a-1,a-2 two\\nlines");
        drop(held);
        assert!(
            rest(stamp.stamp_line("")).contains("a-1"),
            "what it wrote may be read late"
        );
        assert_eq!(rest(LogStamp::default().stamp_line("")), "- ");
    }
}
