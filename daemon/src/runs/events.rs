//! What happened in a run, in order, for whoever wants to read it from any point on.
//!
//! Invariant: numbers count up from 1 without gaps, and [`Happening::Ended`] is the last.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use mux_sandbox::{Fault, Level};
use tokio::sync::watch;

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
    CallEnded {
        call: u32,
        path: String,
        took: Duration,
        outcome: Result<usize, Fault>,
    },
    Console {
        level: Level,
        text: String,
    },
    /// JSON text of the result, or the failure.
    Ended(Result<String, Fault>),
}

/// The events of one run.
pub struct EventLog {
    started: Instant,
    events: Mutex<Vec<Event>>,
    /// The number of the last event.
    last: watch::Sender<u64>,
}

impl EventLog {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            events: Mutex::default(),
            last: watch::Sender::new(0),
        }
    }

    pub(super) fn push(&self, what: Happening) {
        let seq = {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The events after `after`, as soon as there is one, or none when the time is over. At most
    /// `most` of them.
    pub async fn after(&self, after: u64, wait: Duration, most: usize) -> Vec<Event> {
        let mut last = self.last.subscribe();
        let arrived = last.wait_for(|seq| *seq > after);
        // Neither the end of the time nor of the run is an error: there is just nothing new.
        drop(tokio::time::timeout(wait, arrived).await);
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let start = usize::try_from(after)
            .unwrap_or(usize::MAX)
            .min(events.len());
        events[start..].iter().take(most).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_waits_for_the_next_event_and_can_read_again_from_any_point() {
        let log = EventLog::new();
        assert!(log.after(0, Duration::from_secs(5), 10).await.is_empty());
        log.push(Happening::Started);
        let (_, events) = tokio::join!(
            async { log.push(Happening::Ended(Ok("1".into()))) },
            log.after(1, Duration::from_secs(5), 10)
        );
        assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [2]);
        let all = log.after(0, Duration::ZERO, 10).await;
        assert_eq!(all.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2]);
        assert!(log.after(99, Duration::ZERO, 10).await.is_empty());
    }
}
