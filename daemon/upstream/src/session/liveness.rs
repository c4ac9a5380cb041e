//! Detects that a silent server is dead.
//!
//! A process can hang without exiting, and its next call would wait for the whole timeout. So a silent session is
//! pinged: by `ping`, or by `server/discover` where the era has no `ping`. Any message from the server counts as a sign
//! of life.
//!
//! A server may do one thing at a time and read nothing meanwhile. While a call is in flight, an unanswered ping
//! therefore only shows as a degraded state; it counts against the session only when the server has been silent for
//! longer than a call may be, so that all its calls have timed out.
//!
//! Invariant: a session is ended after two pings, each unanswered for [`PING_TIMEOUT`] in complete silence.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ClientRequest, DiscoverRequest, PingRequest};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::{Session, request::RequestOptions};

/// The silence after which an idle session is pinged.
const IDLE_PING_INTERVAL: Duration = Duration::from_secs(120);
/// The silence after which a session with a call in flight is pinged.
const BUSY_PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a ping may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of unanswered pings that end a session.
const MAX_MISSED_PINGS: u32 = 2;

/// What to do about a session now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LivenessStep {
    LookAgain(Instant),
    Ask,
    End,
}

/// Tracks the silence of a session.
#[derive(Debug)]
struct SilenceTracker {
    /// The last known message.
    last: Instant,
    /// The number of unanswered pings that count against the session.
    misses: u32,
    /// Whether a ping was not answered.
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
            // It was pinged, and may be busy.
            (true, true) => self.last + patience.max(BUSY_PING_INTERVAL),
            (true, false) => self.last + BUSY_PING_INTERVAL,
            (false, _) => self.last + IDLE_PING_INTERVAL,
        };
        match () {
            () if in_earnest && self.misses >= MAX_MISSED_PINGS => LivenessStep::End,
            // The calls may end before that, and then the shorter interval applies.
            () if now < due => LivenessStep::LookAgain(due.min(now + BUSY_PING_INTERVAL)),
            () => LivenessStep::Ask,
        }
    }

    /// Records an unanswered ping that was sent at `asked`. `calls`: whether a call was in flight at its start or its
    /// end.
    fn record_missed_ping(&mut self, asked: Instant, calls: bool, patience: Duration) {
        self.late = true;
        if !calls || asked >= self.last + patience.max(BUSY_PING_INTERVAL) {
            self.misses += 1;
        }
    }
}

/// Watches a session until its end, and closes it if it is dead.
pub(crate) async fn watch_liveness(session: Arc<Session>, patience: Duration) {
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
                warn!(pid = session.pid, ?silent, "the server is unresponsive");
                session.close(&format!(
                    "it hung: it sent nothing for {silent:?} and answered none of {MAX_MISSED_PINGS} pings within \
                     {PING_TIMEOUT:?}"
                ));
                return;
            }
        }
    }
}

/// Pings the session and returns whether an answer came; an error response is an answer.
async fn ping_session(session: &Session) -> bool {
    // Revisions are dates, so text comparison orders them.
    let has_ping = session
        .protocol
        .as_deref()
        .is_none_or(|version| version < "2026-07-28");
    let ping: ClientRequest = match has_ping {
        true => PingRequest::default().into(),
        false => DiscoverRequest::default().into(),
    };
    let begun = session.ears.alive.last_heard();
    // An error may be the end of the session, which is handled elsewhere.
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

    /// The lifetime of a server that stays silent, and the number of pings to it.
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
    fn idle_session_is_closed_after_two_unanswered_pings() {
        assert_eq!(
            lifetime(|_| false),
            (IDLE_PING_INTERVAL + PING_TIMEOUT * 2, 2)
        );
    }

    #[test]
    fn busy_session_is_closed_only_after_the_call_timeout() {
        let (lived, pings) = lifetime(|_| true);
        assert_eq!((lived, pings), (PATIENCE + PING_TIMEOUT * 2, 3));
        // The call ends after a minute; from then on the session is idle.
        let (lived, _) = lifetime(|at| at < Duration::from_secs(60));
        assert!(
            lived >= IDLE_PING_INTERVAL
                && lived <= IDLE_PING_INTERVAL + BUSY_PING_INTERVAL + PING_TIMEOUT * 2,
            "{lived:?}"
        );
    }

    #[test]
    fn any_message_resets_the_silence() {
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
