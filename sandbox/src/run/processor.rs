//! Processor time of one run, counted from outside.
//!
//! Invariant: a run that waits is not looked at often. A process with so many threads cannot use up what
//! is left any sooner than all of them at once would, so the next look comes then.

use std::{future::pending, thread::available_parallelism, time::Duration};

use tokio::time::{Instant, sleep_until};

/// Looks are never closer than this.
const STEP: Duration = Duration::from_millis(20);

pub(super) struct Processor {
    /// None where a system tells no such thing; the wall time holds there.
    worker: Option<Meter>,
    most: Duration,
    next: Instant,
}

/// The clock of one process, and what it showed when the run began.
struct Meter {
    pid: u32,
    began: Duration,
}

impl Processor {
    pub(super) fn start(pid: Option<u32>, most: Duration) -> Self {
        let worker = pid.and_then(|pid| {
            let began = used(pid)?;
            Some(Meter { pid, began })
        });
        Self {
            worker,
            most,
            next: Instant::now() + share(most),
        }
    }

    /// Ends when the run has used more than it may, with what it has used. Cancel-safe.
    pub(super) async fn exceeded(&mut self) -> Duration {
        let Some(meter) = &self.worker else {
            return pending().await;
        };
        loop {
            sleep_until(self.next).await;
            // A process that has ended uses nothing; its end is told elsewhere.
            let now = used(meter.pid).unwrap_or(meter.began);
            let spent = now.saturating_sub(meter.began);
            let Some(left) = self.most.checked_sub(spent) else {
                return spent;
            };
            self.next = Instant::now() + share(left);
        }
    }
}

/// The least time in which the threads of this machine can use up so much.
fn share(left: Duration) -> Duration {
    let threads = available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
    (left / threads).max(STEP)
}

/// Processor time of a process so far.
#[cfg(target_os = "linux")]
fn used(pid: u32) -> Option<Duration> {
    use nix::{time, unistd::Pid};
    let clock = time::clock_getcpuclockid(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    time::clock_gettime(clock).ok().map(Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn used(_pid: u32) -> Option<Duration> {
    None
}
