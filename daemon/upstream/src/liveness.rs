//! Whether a server that says nothing still lives.
//!
//! A process can hang without ending, and its next call would wait for its whole time. So a session that
//! has been silent is asked for a sign: by a ping, or by `server/discover` where the era has none. Anything
//! that comes from the server is a sign, whatever it says.
//!
//! A server may do one thing at a time and read nothing meanwhile. While a call is on its way, a ping that is
//! not answered therefore only shows as a degraded state; only when the server has been silent for longer
//! than a call of it may be, so that every call which it had has timed out, is it asked in earnest.
//! Invariant: a session is ended by two pings, each unanswered for [`PING_TIMEOUT`] in complete silence.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::{ClientRequest, DiscoverRequest, PingRequest};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::{Session, request::RequestOptions};

/// How long a session may be silent before it is asked, with nothing on its way.
const IDLE_PING_INTERVAL: Duration = Duration::from_secs(120);
/// And with a call on its way.
const BUSY_PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a ping may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Pings without an answer that end a session.
const MAX_MISSED_PINGS: u32 = 2;

/// When a server was last heard.
#[derive(Debug)]
pub(super) struct LastHeard {
    since: Instant,
    /// Milliseconds from then.
    last: AtomicU64,
}

impl Default for LastHeard {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            last: AtomicU64::new(0),
        }
    }
}

impl LastHeard {
    pub(super) fn record_heard(&self) {
        let now = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    pub(super) fn last_heard(&self) -> Instant {
        self.since + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

/// What to do about a session now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LivenessStep {
    LookAgain(Instant),
    Ask,
    End,
}

/// What is known of a session's silence.
#[derive(Debug)]
struct SilenceTracker {
    /// When it was heard last, as far as is known.
    last: Instant,
    /// Pings of which each counts.
    misses: u32,
    /// A ping was not answered.
    late: bool,
}

impl SilenceTracker {
    /// `patience` is how long one call may be silent.
    fn next_step(
        &mut self,
        now: Instant,
        last: Instant,
        calls: bool,
        patience: Duration,
    ) -> LivenessStep {
        if last > self.last {
            *self = Self {
                last,
                misses: 0,
                late: false,
            };
        }
        let in_earnest = !calls || now >= self.last + patience.max(BUSY_PING_INTERVAL);
        let due = match (calls, self.late) {
            // It was asked, and may be at work.
            (true, true) => self.last + patience.max(BUSY_PING_INTERVAL),
            (true, false) => self.last + BUSY_PING_INTERVAL,
            (false, _) => self.last + IDLE_PING_INTERVAL,
        };
        match () {
            () if in_earnest && self.misses >= MAX_MISSED_PINGS => LivenessStep::End,
            // The calls may end, and with them the excuse, before that.
            () if now < due => LivenessStep::LookAgain(due.min(now + BUSY_PING_INTERVAL)),
            () => LivenessStep::Ask,
        }
    }

    /// A ping was sent at `asked` and not answered, with a call on its way at its begin or its end, or not.
    fn record_missed_ping(&mut self, asked: Instant, calls: bool, patience: Duration) {
        self.late = true;
        if !calls || asked >= self.last + patience.max(BUSY_PING_INTERVAL) {
            self.misses += 1;
        }
    }
}

/// Follows a session to its end, and ends it if it is dead.
pub(super) async fn watch_liveness(session: Arc<Session>, patience: Duration) {
    let mut pulse = SilenceTracker {
        last: session.ears.alive.last_heard(),
        misses: 0,
        late: false,
    };
    loop {
        let (now, last) = (Instant::now(), session.ears.alive.last_heard());
        let calls = session.ears.in_flight.has_calls();
        let step = pulse.next_step(now, last, calls, patience);
        session
            .health
            .set_unresponsive_since(pulse.late.then_some(pulse.last));
        match step {
            LivenessStep::LookAgain(at) => tokio::select! {
                () = session.known.cancelled() => return,
                () = sleep_until(at) => {}
            },
            LivenessStep::Ask => {
                let answered = tokio::select! {
                    () = session.known.cancelled() => return,
                    answered = ping_session(&session) => answered,
                };
                if !answered && session.ears.alive.last_heard() <= last {
                    pulse.record_missed_ping(
                        now,
                        calls || session.ears.in_flight.has_calls(),
                        patience,
                    );
                }
            }
            LivenessStep::End => {
                let silent = Duration::from_secs(pulse.last.elapsed().as_secs());
                warn!(pid = session.pid, ?silent, "the server hangs and is ended");
                session.close(&format!(
                    "it hung: nothing came from it for {silent:?}, and it answered none of {MAX_MISSED_PINGS} pings within \
                     {PING_TIMEOUT:?}"
                ));
                return;
            }
        }
    }
}

/// Whether an answer came; a refusal is one.
async fn ping_session(session: &Session) -> bool {
    // As text, revisions are in the order of their dates.
    let has_ping = session
        .protocol
        .as_deref()
        .is_none_or(|version| version < "2026-07-28");
    let ping: ClientRequest = match has_ping {
        true => PingRequest::default().into(),
        false => DiscoverRequest::default().into(),
    };
    let begun = session.ears.alive.last_heard();
    // An error may be the end of the session, which others see to.
    drop(
        session
            .request(ping, &RequestOptions::without_caller(PING_TIMEOUT))
            .await,
    );
    session.ears.alive.last_heard() > begun || !session.is_open()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(300);

    fn pulse(now: Instant) -> SilenceTracker {
        SilenceTracker {
            last: now,
            misses: 0,
            late: false,
        }
    }

    /// How long a server lives that says nothing from now on.
    fn lifetime(calls: impl Fn(Duration) -> bool) -> (Duration, u32) {
        let begun = Instant::now();
        let (mut pulse, mut now, mut pings) = (pulse(begun), begun, 0);
        loop {
            let busy = calls(now - begun);
            match pulse.next_step(now, begun, busy, PATIENCE) {
                LivenessStep::LookAgain(at) => now = at.max(now + Duration::from_millis(1)),
                LivenessStep::Ask => {
                    let asked = now;
                    now += PING_TIMEOUT;
                    pings += 1;
                    pulse.record_missed_ping(asked, busy || calls(now - begun), PATIENCE);
                }
                LivenessStep::End => return (now - begun, pings),
            }
            assert!(now - begun < PATIENCE * 10, "it is never ended");
        }
    }

    #[test]
    fn an_idle_server_that_hangs_is_ended_after_two_pings() {
        assert_eq!(
            lifetime(|_| false),
            (IDLE_PING_INTERVAL + PING_TIMEOUT * 2, 2)
        );
    }

    #[test]
    fn one_with_a_call_has_the_time_of_a_call_before_it_is_asked_in_earnest() {
        let (lived, pings) = lifetime(|_| true);
        assert_eq!((lived, pings), (PATIENCE + PING_TIMEOUT * 2, 3));
        // The call is given up after a minute: what then is silent is idle.
        let (lived, _) = lifetime(|at| at < Duration::from_secs(60));
        assert!(
            lived >= IDLE_PING_INTERVAL
                && lived <= IDLE_PING_INTERVAL + BUSY_PING_INTERVAL + PING_TIMEOUT * 2,
            "{lived:?}"
        );
    }

    #[test]
    fn any_word_is_a_sign_of_life() {
        let begun = Instant::now();
        let mut pulse = pulse(begun);
        let now = begun + IDLE_PING_INTERVAL;
        assert_eq!(
            pulse.next_step(now, begun, false, PATIENCE),
            LivenessStep::Ask
        );
        pulse.record_missed_ping(now, false, PATIENCE);
        assert_eq!(
            pulse.next_step(now + PING_TIMEOUT, begun, false, PATIENCE),
            LivenessStep::Ask
        );
        let heard = now + PING_TIMEOUT;
        let step = pulse.next_step(heard + PING_TIMEOUT, heard, false, PATIENCE);
        assert!(matches!(step, LivenessStep::LookAgain(_)), "{step:?}");
        assert!(!pulse.late && pulse.misses == 0);
    }
}
