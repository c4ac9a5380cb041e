//! One run: its origin, its progress and its outcome.
//!
//! Invariant: the state only moves forward (waiting, running, ended), and an ended run never changes.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::{Mutex, MutexGuard};

use mux_wire::Fault;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use super::EventLog;
use mux_caller::ClientOrigin;

/// One run, active or ended.
pub struct Run {
    pub id: String,
    pub events: EventLog,
    pub(super) cancel: CancellationToken,
    origin: Arc<ClientOrigin>,
    detached: bool,
    title: String,
    accepted: SystemTime,
    began: Instant,
    progress: Mutex<RunProgress>,
    /// Held until a client has read the last event, or none will.
    unheard: Mutex<Option<TaskTrackerToken>>,
}

/// The state that `Run::progress` guards.
#[derive(Clone, Debug, Default)]
struct RunProgress {
    state: RunStatus,
    calls: CallCounts,
    /// Calls that wait for an approval.
    approvals: u32,
    error: Option<Fault>,
    ended: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RunStatus {
    /// Queued for a worker.
    #[default]
    Waiting,
    Running,
    Succeeded,
    Failed,
}

/// Counts of tool calls so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CallCounts {
    pub started: u32,
    /// Calls that have ended, successfully or not.
    pub ended: u32,
    pub failed: u32,
}

/// The state of a run at one moment.
#[derive(Clone, Debug)]
pub struct RunSnapshot {
    pub id: String,
    pub origin: Arc<ClientOrigin>,
    pub detached: bool,
    pub title: String,
    pub accepted: SystemTime,
    pub state: RunStatus,
    pub calls: CallCounts,
    /// The number of calls that wait for an approval.
    pub approvals: u32,
    /// Time from the acceptance of the run to its end, or to now.
    pub took: Duration,
    pub error: Option<Fault>,
    /// The sequence number of the last event.
    pub events: u64,
}

impl Run {
    pub(super) fn new(
        id: String,
        title: String,
        origin: Arc<ClientOrigin>,
        unheard: Option<TaskTrackerToken>,
    ) -> Self {
        Self {
            id,
            events: EventLog::new(),
            cancel: CancellationToken::new(),
            origin,
            detached: unheard.is_none(),
            title,
            accepted: SystemTime::now(),
            began: Instant::now(),
            progress: Mutex::default(),
            unheard: Mutex::new(unheard),
        }
    }

    /// The client that started the run.
    pub fn origin(&self) -> &ClientOrigin {
        &self.origin
    }

    /// The number in the run's id, which counts up in the order of acceptance.
    pub(super) fn number(&self) -> u64 {
        let number = self.id.rsplit_once('-').map(|(_, number)| number.parse());
        number.and_then(Result::ok).unwrap_or_default()
    }

    /// Cancels the run. Does nothing if it has ended.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// True if the run survives the connection that started it.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Marks the last event as read: a drain no longer waits for a reader.
    pub fn set_end_read(&self) {
        drop(self.unheard().take());
    }

    pub fn is_end_read(&self) -> bool {
        self.unheard().is_none()
    }

    pub fn snapshot(&self) -> RunSnapshot {
        let progress = self.progress().clone();
        let until = progress.ended.unwrap_or_else(Instant::now);
        RunSnapshot {
            id: self.id.clone(),
            origin: Arc::clone(&self.origin),
            detached: self.detached,
            title: self.title.clone(),
            accepted: self.accepted,
            state: progress.state,
            calls: progress.calls,
            approvals: progress.approvals,
            took: until.saturating_duration_since(self.began),
            error: progress.error,
            events: self.events.last_seq(),
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended().is_some()
    }

    pub(super) fn ended(&self) -> Option<Instant> {
        self.progress().ended
    }

    pub(super) fn set_running(&self) {
        let mut progress = self.progress();
        if progress.state == RunStatus::Waiting {
            progress.state = RunStatus::Running;
        }
    }

    pub(super) fn update_call_counts(&self, change: impl FnOnce(&mut CallCounts)) {
        change(&mut self.progress().calls);
    }

    /// Counts one more call that waits for an approval, or one less.
    pub(super) fn count_waiting_approval(&self, waits: bool) {
        let mut progress = self.progress();
        progress.approvals = if waits {
            progress.approvals.saturating_add(1)
        } else {
            progress.approvals.saturating_sub(1)
        };
    }

    /// Marks the run as ended. Called just before its last event is written.
    pub(super) fn set_ended(&self, error: Option<&Fault>) {
        let mut progress = self.progress();
        if progress.ended.is_none() {
            progress.ended = Some(Instant::now());
            progress.approvals = 0;
            progress.state = error.map_or(RunStatus::Succeeded, |_| RunStatus::Failed);
            // The last event has the details.
            progress.error = error.map(|fault| Fault {
                details: None,
                ..fault.clone()
            });
        }
    }

    fn progress(&self) -> MutexGuard<'_, RunProgress> {
        self.progress.lock()
    }

    fn unheard(&self) -> MutexGuard<'_, Option<TaskTrackerToken>> {
        self.unheard.lock()
    }
}

#[cfg(test)]
mod tests {
    use mux_wire::FaultKind;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn run_state_only_moves_forward() {
        let run = Run::new("a-1".into(), "return 1".into(), Arc::default(), None);
        assert_eq!(run.snapshot().state, RunStatus::Waiting);
        run.set_running();
        run.update_call_counts(|calls| calls.started += 1);
        tokio::time::advance(Duration::from_secs(2)).await;
        for (waits, count) in [(true, 1), (true, 2), (false, 1)] {
            run.count_waiting_approval(waits);
            assert_eq!(run.snapshot().approvals, count);
        }
        assert_eq!(run.snapshot().state, RunStatus::Running);
        run.set_ended(Some(&Fault::new(FaultKind::Timeout, "too long")));
        tokio::time::advance(Duration::from_secs(2)).await;
        run.set_running();
        run.set_ended(None);
        let view = run.snapshot();
        assert_eq!(
            (view.state, view.took),
            (RunStatus::Failed, Duration::from_secs(2))
        );
        assert_eq!((view.calls.started, view.approvals), (1, 0));
        assert_eq!(view.error.unwrap().message, "too long");
        assert!(view.detached && run.is_end_read());
    }
}
