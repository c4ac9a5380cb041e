//! One run as a journal: its program, its events in order, and its calls.
//!
//! Clients that follow the run, a resumed or replayed run, a recording, and the history all read this.
//!
//! Invariant: sequence numbers start at 1 without gaps, [`EventKind::Ended`] is the last event, and nothing changes after
//! it. The state only moves forward (waiting, running, ended), together with the event that changes it. Progress events
//! and details of errors are dropped beyond [`MAX_EVENT_BYTES`]. The program's output has its own limits.

use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_caller::ClientOrigin;
use mux_messages::{Error, Event, EventKind, Level, Outcome, RunInfo, RunState, millis};
use mux_wire::{CallTarget, Fault};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use crate::{
    call_log::{BegunCall, CallChanges, CallLog, LoggedCall, PastMode},
    event::{event_at, event_bytes, is_last},
    history::HistoryFeed,
    program::Program,
};

/// How long events are collected after the first event of a page.
const EVENT_COLLECTION_TIME: Duration = Duration::from_millis(5);
/// Beyond this size the journal drops progress events and truncates the errors of calls.
const MAX_EVENT_BYTES: usize = 16 << 20;
const MAX_TRUNCATED_ERROR_BYTES: usize = 256;

/// One run, active or ended.
pub struct RunJournal {
    pub id: String,
    pub program: Arc<Program>,
    /// Ends the run's program.
    pub cancellation: CancellationToken,
    /// The owner, in the history's held rows, that this run resumes.
    pub resumes: Option<String>,
    detached: bool,
    began: Instant,
    state: Mutex<JournalState>,
    /// The sequence number of the last event, or 0 if there is none.
    last: watch::Sender<u64>,
    /// Cancelled with the last event.
    ended: CancellationToken,
    /// Held until a client has read the last event, or none will.
    unread_end: Mutex<Option<TaskTrackerToken>>,
    /// Set while rows of the history hold the run, because a call of it waits for approval.
    held: AtomicBool,
    /// Set once the run makes no further calls.
    closed: AtomicBool,
    history: OnceLock<HistoryFeed>,
    /// Set while the history has been told that there is something to write.
    dirty: AtomicBool,
    this: Weak<RunJournal>,
}

/// The state that `RunJournal::state` guards.
struct JournalState {
    events: Vec<Event>,
    /// The size of all events.
    bytes: usize,
    /// The number of events that the history contains.
    in_history: usize,
    dropped_events: u64,
    /// The run as lists show it, except its age and its number of events.
    info: RunInfo,
    ended: Option<Instant>,
    calls: CallLog,
}

/// The options of a new journal.
#[derive(Default)]
pub struct JournalOptions {
    /// Held until a client has read the last event. `None` for a run that does not end with its connection.
    pub unread_end: Option<TaskTrackerToken>,
    /// The maximum size of the calls that are kept, with arguments and results.
    pub max_call_bytes: usize,
    /// The calls of an earlier run, which answer those of this run.
    pub past: Vec<LoggedCall>,
    pub past_mode: PastMode,
    /// The owner, in the history's held rows, that this run resumes.
    pub resumes: Option<String>,
}

/// The part of a run that the history does not contain yet.
pub(crate) struct UnwrittenPart {
    pub(crate) info: RunInfo,
    pub(crate) events: Vec<Event>,
    pub(crate) calls: CallChanges,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

impl RunJournal {
    pub fn new(id: String, program: Program, options: JournalOptions) -> Arc<Self> {
        let accepted = SystemTime::now().duration_since(UNIX_EPOCH);
        let detached = options.unread_end.is_none();
        let info = RunInfo {
            run: id.clone(),
            state: RunState::Waiting,
            client: program.origin.client.clone(),
            agent: program.origin.agent.clone(),
            workspace: program.origin.workspace.clone(),
            detached,
            title: program.title.clone(),
            accepted_ms: millis(accepted.unwrap_or_default()),
            ms: 0,
            calls: 0,
            calls_ended: 0,
            calls_failed: 0,
            approvals: 0,
            error: None,
            events: 0,
        };
        let state = JournalState {
            events: Vec::new(),
            bytes: 0,
            in_history: 0,
            dropped_events: 0,
            info,
            ended: None,
            calls: CallLog::new(options.max_call_bytes, options.past, options.past_mode),
        };
        Arc::new_cyclic(|this| Self {
            id,
            program: Arc::new(program),
            cancellation: CancellationToken::new(),
            resumes: options.resumes,
            detached,
            began: Instant::now(),
            state: Mutex::new(state),
            last: watch::Sender::new(0),
            ended: CancellationToken::new(),
            unread_end: Mutex::new(options.unread_end),
            held: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            history: OnceLock::new(),
            dirty: AtomicBool::new(false),
            this: this.clone(),
        })
    }

    /// Has the history write the run from now on.
    pub fn write_to(&self, history: HistoryFeed) {
        // A run is started once.
        drop(self.history.set(history));
        self.feed_history();
    }

    /// The client that started the run.
    pub fn origin(&self) -> &Arc<ClientOrigin> {
        &self.program.origin
    }

    /// The number in the run's id, which counts up in the order of acceptance.
    pub fn number(&self) -> u64 {
        run_number(&self.id)
    }

    /// Cancels the run. Does nothing if it has ended.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// True if the run survives the connection that started it.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Marks the last event as read: a drain no longer waits for a reader.
    pub fn set_end_read(&self) {
        drop(self.unread_end.lock().take());
    }

    pub fn is_end_read(&self) -> bool {
        self.unread_end.lock().is_none()
    }

    pub fn has_ended(&self) -> bool {
        self.state().ended.is_some()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// The sequence number of the last event, or 0 if there is none.
    pub fn last_seq(&self) -> u64 {
        *self.last.borrow()
    }

    /// The run as lists show it now.
    pub fn info(&self) -> RunInfo {
        self.info_of(&self.state())
    }

    fn info_of(&self, state: &JournalState) -> RunInfo {
        let until = state.ended.unwrap_or_else(Instant::now);
        RunInfo {
            ms: millis(until.saturating_duration_since(self.began)),
            events: state.events.len() as u64,
            ..state.info.clone()
        }
    }

    /// Appends an event. Does nothing after [`EventKind::Ended`].
    pub fn push(&self, event: EventKind) {
        let is_end = is_last(&event);
        let last = {
            let mut state = self.state();
            if state.ended.is_some() {
                return;
            }
            state.follow(&event);
            let is_full = state.bytes + event_bytes(&event) > MAX_EVENT_BYTES;
            let mut note = None;
            let mut kept = Some(event);
            if let Some(event) = &mut kept {
                match event {
                    EventKind::CallProgress { .. } if is_full => {
                        state.dropped_events += 1;
                        if state.dropped_events > 1 {
                            return;
                        }
                        note = Some("further events are only counted".to_owned());
                        kept = None;
                    }
                    EventKind::CallEnded {
                        error: Some(error), ..
                    } if is_full => truncate_error(error),
                    EventKind::Ended { .. } if state.dropped_events > 0 => {
                        note = Some(format!("{} events were dropped", state.dropped_events));
                    }
                    _ => {}
                }
            }
            let note = note.map(|note| EventKind::Console {
                level: Level::Warn,
                text: format!(
                    "[mux] progress events of calls exceed {} MiB: {note}",
                    MAX_EVENT_BYTES >> 20
                ),
            });
            for event in note.into_iter().chain(kept) {
                state.bytes += event_bytes(&event);
                let seq = state.events.len() as u64 + 1;
                let at_ms = millis(self.began.elapsed());
                state.events.push(Event { seq, at_ms, event });
            }
            state.events.len() as u64
        };
        self.last.send_replace(last);
        if is_end {
            self.ended.cancel();
        }
        self.feed_history();
    }

    /// The events after `after`. Waits up to `wait` for the first event, and then for [`EVENT_COLLECTION_TIME`] or the
    /// end of the run, because a short run should take one request, not a request for each event. Empty if no event
    /// arrives. Returns as many events as fit into `max_bytes`, but at least one.
    pub async fn read_after(&self, after: u64, wait: Duration, max_bytes: usize) -> Vec<Event> {
        let mut last = self.last.subscribe();
        let arrived = last.wait_for(|seq| *seq > after);
        // A timeout is not an error: there is just nothing new.
        if matches!(timeout(wait, arrived).await, Ok(Ok(_))) && !self.is_page_full(after, max_bytes)
        {
            let collecting = EVENT_COLLECTION_TIME.min(wait);
            drop(timeout(collecting, self.ended.cancelled()).await);
        }
        let state = self.state();
        let now_ms = millis(self.began.elapsed());
        page_of(&state.events, after, max_bytes, now_ms)
    }

    /// True if the events after `after` fill a page of `max_bytes`.
    fn is_page_full(&self, after: u64, max_bytes: usize) -> bool {
        let state = self.state();
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let mut bytes = 0;
        state.events.iter().skip(after).any(|event| {
            bytes += event_bytes(&event.event);
            bytes >= max_bytes
        })
    }

    /// Begins a call of the program, or answers it from the past. Calls are logged in the order of calls to this
    /// function.
    pub fn begin_call(&self, target: &CallTarget, arguments: &Arc<str>) -> BegunCall {
        let at = self.began.elapsed();
        self.state().calls.begin(target, arguments, at)
    }

    pub fn end_call(&self, index: Option<usize>, outcome: &Result<String, Fault>) {
        if let Some(index) = index {
            let at = self.began.elapsed();
            self.state().calls.end(index, outcome, at);
            self.feed_history();
        }
    }

    /// Names the number of a logged call in the run's events.
    pub fn number_call(&self, index: Option<usize>, number: u32) {
        if let Some(index) = index {
            self.state().calls.set_number(index, number);
        }
    }

    /// Marks a call as waiting for approval, or as no longer waiting, and then it may be sent.
    pub fn set_asked(&self, index: Option<usize>, is_asked: bool) {
        if let Some(index) = index {
            self.state().calls.set_asked(index, is_asked);
        }
    }

    /// True if the run has begun a call that the resumed run had not made.
    pub fn has_new_calls(&self) -> bool {
        self.state().calls.has_new_calls()
    }

    /// All calls. `None` if they exceed the limit.
    pub fn calls(&self) -> Option<Vec<LoggedCall>> {
        let state = self.state();
        let calls = state.calls.kept_calls().cloned();
        (!state.calls.is_full()).then(|| calls.collect())
    }

    /// True if the run may have rows in the history because a call waits for approval.
    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    pub(crate) fn set_held(&self, is_held: bool) {
        self.held.store(is_held, Ordering::Release);
    }

    /// Marks that the run makes no further calls.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Frees arguments and results. Called after the end, once nothing needs them any longer.
    pub fn release_calls(&self) {
        self.state().calls.clear();
    }

    /// The calls for the rows of a held run, and whether the rows have all earlier calls.
    pub(crate) fn take_held_changes(&self) -> (bool, CallChanges) {
        let mut state = self.state();
        let has_rows = state.calls.has_held_rows();
        (has_rows, state.calls.take_held_changes())
    }

    pub(crate) fn forget_held_rows(&self) {
        self.state().calls.forget_held_rows();
    }

    pub(crate) fn take_unwritten(&self) -> UnwrittenPart {
        self.dirty.store(false, Ordering::Release);
        let mut state = self.state();
        let from = state.in_history;
        state.in_history = state.events.len();
        UnwrittenPart {
            events: state.events[from..].to_vec(),
            calls: state.calls.take_history_changes(),
            info: self.info_of(&state),
            is_first: from == 0,
            is_last: state.ended.is_some(),
        }
    }

    /// Tells the history that there is something to write.
    fn feed_history(&self) {
        let Some(history) = self.history.get() else {
            return;
        };
        if !self.dirty.swap(true, Ordering::AcqRel)
            && let Some(this) = self.this.upgrade()
        {
            history.send(this);
        }
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock()
    }
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunJournal")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl JournalState {
    /// Applies an event to what lists show.
    fn follow(&mut self, event: &EventKind) {
        let info = &mut self.info;
        match event {
            EventKind::Started {} => info.state = RunState::Running,
            EventKind::CallStarted { .. } => info.calls += 1,
            EventKind::CallEnded { error, .. } => {
                info.calls_ended += 1;
                info.calls_failed += u32::from(error.is_some());
            }
            EventKind::ApprovalAsked(_) => info.approvals += 1,
            EventKind::ApprovalOver(_) => info.approvals = info.approvals.saturating_sub(1),
            EventKind::Ended { outcome } => {
                self.ended = Some(Instant::now());
                info.approvals = 0;
                info.state = RunState::Succeeded;
                if let Outcome::Error(error) = outcome {
                    info.state = RunState::Failed;
                    // The last event has the details.
                    info.error = Some(Error {
                        details: None,
                        ..error.clone()
                    });
                }
            }
            _ => {}
        }
    }
}

/// The number at the end of a run's id.
pub(crate) fn run_number(id: &str) -> u64 {
    let number = id.rsplit_once('-').map(|(_, number)| number.parse());
    number.and_then(Result::ok).unwrap_or_default()
}

/// The events after `after` that fit into `max_bytes`, but at least one, `now_ms` after the run was accepted.
pub(crate) fn page_of(events: &[Event], after: u64, max_bytes: usize, now_ms: u64) -> Vec<Event> {
    let start = usize::try_from(after)
        .unwrap_or(usize::MAX)
        .min(events.len());
    let mut room = max_bytes;
    let page = events[start..].iter().enumerate();
    let page = page.take_while(|(index, event)| {
        let bytes = event_bytes(&event.event);
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits || *index == 0
    });
    page.map(|(_, event)| event_at(event, now_ms)).collect()
}

/// Truncates the message and the hint of an error.
fn truncate_error(error: &mut Error) {
    let texts = [Some(&mut error.message), error.hint.as_mut()];
    for text in texts.into_iter().flatten() {
        if text.len() > MAX_TRUNCATED_ERROR_BYTES {
            text.truncate(text.floor_char_boundary(MAX_TRUNCATED_ERROR_BYTES));
            text.push('…');
        }
    }
}

#[cfg(test)]
mod tests;
