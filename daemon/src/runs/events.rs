//! What happened in a run, in order, for whoever wants to read it from any point on.
//!
//! Invariant: numbers count up from 1 without gaps, and [`Happening::Ended`] is the last.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use mux_sandbox::{Fault, Level};
use tokio::sync::watch;

use super::StepEvent;
use crate::{
    handles::{Handle, Held},
    notices::{Ending, Progress, Request},
};

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Event {
    pub seq: u64,
    /// Since the run was accepted.
    pub at: Duration,
    pub what: Happening,
}

#[derive(Clone, Debug)]
pub enum Happening {
    /// Comes before the start, and only if there is something to tell.
    Checked {
        warnings: Vec<Fault>,
        /// Why its types were not looked at.
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
        progress: Progress,
    },
    CallEnded {
        call: u32,
        path: String,
        took: Duration,
        outcome: Result<usize, Fault>,
    },
    /// Of a JSON program, whose calls have events of their own.
    Step(StepEvent),
    Console {
        level: Level,
        text: String,
    },
    /// An MCP content block.
    Emitted(Held),
    /// It goes on with what this run began: so many of its calls are not sent again.
    Resumed {
        run: String,
        calls: usize,
    },
    /// A call waits for somebody's approval.
    ApprovalAsked(Request),
    /// It waits no more.
    ApprovalOver {
        approval: String,
        path: String,
        ending: Ending,
    },
    /// The recording that was asked for.
    Recorded(Handle),
    /// The result, or the failure.
    Ended(Result<Held, Fault>),
}

impl Happening {
    /// About how much room it takes, here and in a frame.
    fn bytes(&self) -> usize {
        let text = match self {
            Self::Console { text, .. } => text.len(),
            Self::Emitted(Held::Inline(text)) | Self::Ended(Ok(Held::Inline(text))) => text.len(),
            Self::Emitted(Held::Stored(handle)) | Self::Ended(Ok(Held::Stored(handle))) => {
                handle.preview.len()
            }
            Self::Checked { warnings, .. } => {
                let words = |fault: &Fault| fault.message.len() + SMALL;
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
                fault.message.len() + fault.details.as_ref().map_or(0, String::len)
            }
            _ => 0,
        };
        text + SMALL
    }
}

/// What an event takes beside its text.
const SMALL: usize = 128;

/// The events of one run.
pub struct EventLog {
    started: Instant,
    events: Mutex<Vec<Event>>,
    /// Of all events together.
    bytes: AtomicUsize,
    /// The number of the last event.
    last: watch::Sender<u64>,
}

impl EventLog {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            events: Mutex::default(),
            bytes: AtomicUsize::new(0),
            last: watch::Sender::new(0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of the last event.
    pub fn last(&self) -> u64 {
        *self.last.borrow()
    }

    /// After the last event there is no other.
    pub(super) fn push(&self, what: Happening) {
        let seq = {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let last = events.last().map(|event| &event.what);
            if matches!(last, Some(Happening::Ended(_))) {
                return;
            }
            self.bytes.fetch_add(what.bytes(), Ordering::Relaxed);
            let seq = events.len() as u64 + 1;
            events.push(Event {
                seq,
                at: self.started.elapsed(),
                what,
            });
            seq
        };
        self.last.send_replace(seq);
    }

    /// The events after `after`, as soon as there is one, or none when the time is over. No more
    /// than fit into `most` bytes, but one at least.
    pub async fn after(&self, after: u64, wait: Duration, most: usize) -> Vec<Event> {
        let mut last = self.last.subscribe();
        let arrived = last.wait_for(|seq| *seq > after);
        // Neither the end of the time nor of the run is an error: there is just nothing new.
        drop(tokio::time::timeout(wait, arrived).await);
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: usize = 1 << 20;

    #[tokio::test]
    async fn a_page_has_room_for_so_many_bytes_and_for_one_event_at_least() {
        let log = EventLog::new();
        for length in [10, 1000, 5000, 10] {
            let (level, text) = (Level::Log, "x".repeat(length));
            log.push(Happening::Console { level, text });
        }
        for (after, expected) in [(0, vec![1, 2]), (2, vec![3]), (3, vec![4]), (4, vec![])] {
            let page = log.after(after, Duration::ZERO, 2000).await;
            assert_eq!(page.iter().map(|e| e.seq).collect::<Vec<_>>(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_waits_for_the_next_event_and_can_read_again_from_any_point() {
        let log = EventLog::new();
        assert!(log.after(0, Duration::from_secs(5), ALL).await.is_empty());
        log.push(Happening::Started);
        let (_, events) = tokio::join!(
            async { log.push(Happening::Ended(Ok(Held::Inline("1".into())))) },
            log.after(1, Duration::from_secs(5), ALL)
        );
        assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [2]);
        log.push(Happening::Started);
        let all = log.after(0, Duration::ZERO, ALL).await;
        assert_eq!(all.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2]);
        assert!(log.after(99, Duration::ZERO, ALL).await.is_empty());
    }
}
