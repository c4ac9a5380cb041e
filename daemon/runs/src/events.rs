//! The event log of a run, which clients can read from any position.
//!
//! Invariant: sequence numbers start at 1 without gaps, and [`RunEvent::Ended`] is the last event. Progress events and
//! details of faults are dropped beyond [`MAX_EVENT_LOG_BYTES`]. The program's output has its own limits.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use mux_wire::{ConsoleLevel, Fault};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::StepEvent;
use mux_caller::{ApprovalOutcome, ApprovalRequest, ProgressUpdate};
use mux_handles::{InlineOrStored, ValueHandle};

/// One event of a run, with its sequence number.
#[derive(Clone, Debug)]
pub struct SequencedEvent {
    pub seq: u64,
    /// Time since the run was accepted.
    pub at: Duration,
    pub what: RunEvent,
}

#[derive(Clone, Debug)]
pub enum RunEvent {
    /// Findings of the type checker. Comes before `Started`, and only if there are any.
    Checked {
        warnings: Vec<Fault>,
        /// The reason the types were not checked.
        unchecked: Option<String>,
    },
    Started,
    ServerStarting {
        server: String,
    },
    ServerReady {
        server: String,
        took: Duration,
    },
    CallStarted {
        call: u32,
        path: String,
    },
    CallProgress {
        call: u32,
        path: String,
        progress: ProgressUpdate,
    },
    CallEnded {
        call: u32,
        path: String,
        took: Duration,
        outcome: Result<usize, Fault>,
    },
    /// An event of a step in a step program. The calls of steps have their own events.
    Step(StepEvent),
    Console {
        level: ConsoleLevel,
        text: String,
    },
    /// An MCP content block.
    Emitted(InlineOrStored),
    /// This run resumes `run`. `calls` is the number of its calls that are answered from its log instead of being
    /// repeated.
    Resumed {
        run: String,
        calls: usize,
    },
    /// A call waits for approval.
    ApprovalAsked(ApprovalRequest),
    /// A call no longer waits for approval.
    ApprovalOver {
        approval: String,
        path: String,
        ending: ApprovalOutcome,
    },
    /// The requested recording is stored.
    Recorded(ValueHandle),
    /// The result or the fault of the run.
    Ended(Result<InlineOrStored, Fault>),
}

impl RunEvent {
    /// The approximate size of the event, in memory and in a frame.
    fn bytes(&self) -> usize {
        let text = match self {
            Self::Console { text, .. } => text.len(),
            Self::Emitted(InlineOrStored::Inline(text))
            | Self::Ended(Ok(InlineOrStored::Inline(text))) => text.len(),
            Self::Emitted(InlineOrStored::Stored(handle))
            | Self::Ended(Ok(InlineOrStored::Stored(handle))) => handle.preview.len(),
            Self::Checked { warnings, .. } => {
                let words = |fault: &Fault| fault.message.len() + EVENT_OVERHEAD_BYTES;
                warnings.iter().map(words).sum()
            }
            Self::ApprovalAsked(asked) => asked.arguments.len() + asked.path.len(),
            Self::CallProgress { progress, .. } => progress.message.as_ref().map_or(0, String::len),
            Self::Step(event) => event.bytes(),
            Self::CallEnded {
                outcome: Err(fault),
                ..
            }
            | Self::Ended(Err(fault)) => {
                let more = [&fault.hint, &fault.path, &fault.details];
                let more = more.into_iter().flatten().map(String::len);
                fault.message.len() + more.sum::<usize>()
            }
            _ => 0,
        };
        text + EVENT_OVERHEAD_BYTES
    }
}

/// The size of an event beyond its text.
const EVENT_OVERHEAD_BYTES: usize = 128;
/// How long events are collected after the first event of a page.
const EVENT_COLLECTION_TIME: Duration = Duration::from_millis(5);
/// Beyond this size the log drops progress events and truncates the faults of calls.
const MAX_EVENT_LOG_BYTES: usize = 16 << 20;
const MAX_TRUNCATED_FAULT_BYTES: usize = 256;

/// The events of one run.
pub struct EventLog {
    started: Instant,
    events: Mutex<EventLogState>,
    /// The size of all events.
    bytes: AtomicUsize,
    /// The sequence number of the last event, or 0 if there is none.
    last: watch::Sender<u64>,
    /// Cancelled with the last event of the run.
    ended: CancellationToken,
}

#[derive(Default)]
struct EventLogState {
    kept: Vec<SequencedEvent>,
    left_out: u64,
}

impl EventLog {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            events: Mutex::default(),
            bytes: AtomicUsize::new(0),
            last: watch::Sender::new(0),
            ended: CancellationToken::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The sequence number of the last event, or 0 if there is none.
    pub fn last_seq(&self) -> u64 {
        *self.last.borrow()
    }

    /// Appends an event. Does nothing after [`RunEvent::Ended`].
    pub(super) fn push(&self, what: RunEvent) {
        let is_end = matches!(what, RunEvent::Ended(_));
        let last = {
            let mut events = self.events.lock();
            let last = events.kept.last().map(|event| &event.what);
            if matches!(last, Some(RunEvent::Ended(_))) {
                return;
            }
            let full = self.bytes() + what.bytes() > MAX_EVENT_LOG_BYTES;
            let (what, left_out) = match what {
                RunEvent::CallProgress { .. } if full => {
                    events.left_out += 1;
                    let note = match events.left_out {
                        1 => "further events are only counted".into(),
                        _ => return,
                    };
                    (None, Some(note))
                }
                RunEvent::CallEnded {
                    outcome,
                    call,
                    path,
                    took,
                } if full => {
                    let outcome = outcome.map_err(truncate_fault);
                    let ended = RunEvent::CallEnded {
                        call,
                        path,
                        took,
                        outcome,
                    };
                    (Some(ended), None)
                }
                RunEvent::Ended(_) if events.left_out > 0 => {
                    let note = format!("{} events were dropped", events.left_out);
                    (Some(what), Some(note))
                }
                what => (Some(what), None),
            };
            let note = left_out.map(|note| RunEvent::Console {
                level: ConsoleLevel::Warn,
                text: format!(
                    "[mux] progress events of calls exceed {} MiB: {note}",
                    MAX_EVENT_LOG_BYTES >> 20
                ),
            });
            for what in note.into_iter().chain(what) {
                self.bytes.fetch_add(what.bytes(), Ordering::Relaxed);
                let seq = events.kept.len() as u64 + 1;
                let at = self.started.elapsed();
                events.kept.push(SequencedEvent { seq, at, what });
            }
            events.kept.len() as u64
        };
        self.last.send_replace(last);
        if is_end {
            self.ended.cancel();
        }
    }

    /// The events after `after`. Waits up to `wait` for the first event, and then for [`EVENT_COLLECTION_TIME`] or the
    /// end of the run, because a short run should take one request, not a request for each event. Empty if no event
    /// arrives. Returns as many events as fit into `most` bytes, but at least one.
    pub async fn read_after(&self, after: u64, wait: Duration, most: usize) -> Vec<SequencedEvent> {
        let mut last = self.last.subscribe();
        let arrived = last.wait_for(|seq| *seq > after);
        // A timeout is not an error: there is just nothing new.
        if matches!(timeout(wait, arrived).await, Ok(Ok(_))) && !self.is_page_full(after, most) {
            let collecting = EVENT_COLLECTION_TIME.min(wait);
            drop(timeout(collecting, self.ended.cancelled()).await);
        }
        let events = self.events.lock();
        let events = &events.kept;
        let start = usize::try_from(after)
            .unwrap_or(usize::MAX)
            .min(events.len());
        let mut room = most;
        events[start..]
            .iter()
            .enumerate()
            .take_while(|(index, event)| {
                let fits = event.what.bytes() <= room;
                room = room.saturating_sub(event.what.bytes());
                fits || *index == 0
            })
            .map(|(_, event)| event.clone())
            .collect()
    }

    /// True if the events after `after` fill a page of `most` bytes.
    fn is_page_full(&self, after: u64, most: usize) -> bool {
        let events = self.events.lock();
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let mut bytes = 0;
        events.kept.iter().skip(after).any(|event| {
            bytes += event.what.bytes();
            bytes >= most
        })
    }
}

/// Truncates the message and the hint of a fault.
fn truncate_fault(mut fault: Fault) -> Fault {
    for text in [Some(&mut fault.message), fault.hint.as_mut()]
        .into_iter()
        .flatten()
    {
        if text.len() > MAX_TRUNCATED_FAULT_BYTES {
            text.truncate(text.floor_char_boundary(MAX_TRUNCATED_FAULT_BYTES));
            text.push('…');
        }
    }
    fault
}

#[cfg(test)]
mod tests {
    use mux_wire::FaultKind;

    use super::*;

    #[tokio::test]
    async fn excess_progress_is_counted_and_call_events_are_kept() {
        let log = EventLog::new();
        let message = Some("x".repeat(2_000));
        for call in 0..20_000 {
            let progress = ProgressUpdate {
                progress: 1.0,
                total: None,
                message: message.clone(),
            };
            let path = "s.t".to_owned();
            log.push(RunEvent::CallProgress {
                call,
                path,
                progress,
            });
        }
        for call in 0..1_000 {
            let outcome = Err(Fault::new(FaultKind::Tool, "y".repeat(4_000)));
            let path = "s.t".to_owned();
            let took = Duration::ZERO;
            log.push(RunEvent::CallEnded {
                call,
                path,
                took,
                outcome,
            });
        }
        assert!(
            log.bytes() < MAX_EVENT_LOG_BYTES + (1 << 20),
            "{}",
            log.bytes()
        );
        log.push(RunEvent::Ended(Ok(InlineOrStored::Inline("1".into()))));
        let events = log.read_after(0, Duration::ZERO, usize::MAX).await;
        let ended = |event: &&SequencedEvent| matches!(event.what, RunEvent::CallEnded { .. });
        assert_eq!(events.iter().filter(ended).count(), 1_000);
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
        let notes = events.iter().filter_map(|event| match &event.what {
            RunEvent::Console { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let notes: Vec<&str> = notes.collect();
        assert!(notes[0].contains("16 MiB") && notes.len() == 2, "{notes:?}");
        assert!(notes[1].contains("events were dropped"), "{notes:?}");
    }

    const ALL: usize = 1 << 20;

    #[tokio::test]
    async fn page_is_bounded_but_has_at_least_one_event() {
        let log = EventLog::new();
        for length in [10, 1000, 5000, 10] {
            let level = ConsoleLevel::Log;
            let text = "x".repeat(length);
            log.push(RunEvent::Console { level, text });
        }
        for (after, expected) in [(0, vec![1, 2]), (2, vec![3]), (3, vec![4]), (4, vec![])] {
            let page = log.read_after(after, Duration::ZERO, 2000).await;
            assert_eq!(page.iter().map(|e| e.seq).collect::<Vec<_>>(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reader_waits_for_next_event_and_can_reread_from_any_position() {
        let log = EventLog::new();
        assert!(
            log.read_after(0, Duration::from_secs(5), ALL)
                .await
                .is_empty()
        );
        log.push(RunEvent::Started);
        let ((), events) = tokio::join!(
            async { log.push(RunEvent::Ended(Ok(InlineOrStored::Inline("1".into())))) },
            log.read_after(1, Duration::from_secs(5), ALL)
        );
        assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [2]);
        log.push(RunEvent::Started);
        let all = log.read_after(0, Duration::ZERO, ALL).await;
        assert_eq!(all.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2]);
        assert!(log.read_after(99, Duration::ZERO, ALL).await.is_empty());
    }
}
