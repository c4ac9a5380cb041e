//! Detects that a silent server is dead.
//!
//! A process can hang without exiting, and its next call would wait for the whole timeout. So a silent session is
//! pinged: by `ping`, or by `server/discover` if the era has no `ping`. Any message from the server counts as a sign of
//! life.
//!
//! A server may do one thing at a time and read nothing meanwhile. While a call is in flight, an unanswered ping
//! therefore shows only as a degraded state. It counts against the session only after all its calls have timed out,
//! when the server has been silent for longer than a call may be.
//!
//! Invariant: a session is ended after two pings, each unanswered for [`PING_TIMEOUT`] in complete silence.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ClientRequest, DiscoverRequest, PingRequest};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::{Session, request::RequestOptions};

/// The silence after which an idle session is pinged.
const IDLE_PING_INTERVAL: Duration = Duration::from_mins(2);
/// The silence after which a session with a call in flight is pinged.
const BUSY_PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a ping may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of unanswered pings that end a session.
const MAX_MISSED_PINGS: u32 = 2;

/// The next step for a session.
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
    missed_pings: u32,
    /// Set if a ping was not answered.
    ping_missed: bool,
}

impl SilenceTracker {
    /// `call_timeout` is how long one call may be silent.
    fn next_step(
        &mut self,
        now: Instant,
        last: Instant,
        calls: bool,
        call_timeout: Duration,
    ) -> LivenessStep {
        if last > self.last {
            *self = Self {
                last,
                missed_pings: 0,
                ping_missed: false,
            };
        }
        let counts = !calls || now >= self.last + call_timeout.max(BUSY_PING_INTERVAL);
        let due = match (calls, self.ping_missed) {
            // The server was pinged and may be busy.
            (true, true) => self.last + call_timeout.max(BUSY_PING_INTERVAL),
            (true, false) => self.last + BUSY_PING_INTERVAL,
            (false, _) => self.last + IDLE_PING_INTERVAL,
        };
        match () {
            () if counts && self.missed_pings >= MAX_MISSED_PINGS => LivenessStep::End,
            // The calls may end before that, and then the shorter interval applies.
            () if now < due => LivenessStep::LookAgain(due.min(now + BUSY_PING_INTERVAL)),
            () => LivenessStep::Ask,
        }
    }

    /// Records an unanswered ping that was sent at `asked`. `calls` is true if a call was in flight at the ping's start
    /// or end.
    fn record_missed_ping(&mut self, asked: Instant, calls: bool, call_timeout: Duration) {
        self.ping_missed = true;
        if !calls || asked >= self.last + call_timeout.max(BUSY_PING_INTERVAL) {
            self.missed_pings += 1;
        }
    }
}

/// Watches a session until its end, and closes it if it is dead.
pub(crate) async fn watch_liveness(session: Arc<Session>, call_timeout: Duration) {
    let mut silence = SilenceTracker {
        last: *session.router.last_heard.lock(),
        missed_pings: 0,
        ping_missed: false,
    };
    loop {
        let now = Instant::now();
        let last = *session.router.last_heard.lock();
        let calls = session.router.in_flight.has_calls();
        let step = silence.next_step(now, last, calls, call_timeout);
        session
            .health
            .set_unresponsive_since(silence.ping_missed.then_some(silence.last));
        match step {
            LivenessStep::LookAgain(at) => tokio::select! {
                () = session.ended.cancelled() => return,
                () = sleep_until(at) => {}
            },
            LivenessStep::Ask => {
                let answered = tokio::select! {
                    () = session.ended.cancelled() => return,
                    answered = ping_session(&session) => answered,
                };
                if !answered && *session.router.last_heard.lock() <= last {
                    silence.record_missed_ping(
                        now,
                        calls || session.router.in_flight.has_calls(),
                        call_timeout,
                    );
                }
            }
            LivenessStep::End => {
                let silent = Duration::from_secs(silence.last.elapsed().as_secs());
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

/// Pings the session. Returns true if an answer came. An error response is an answer.
async fn ping_session(session: &Session) -> bool {
    // Revisions are dates, so string comparison orders them.
    let has_ping = session
        .protocol
        .as_deref()
        .is_none_or(|version| version < "2026-07-28");
    let ping: ClientRequest = if has_ping {
        PingRequest::default().into()
    } else {
        DiscoverRequest::default().into()
    };
    let heard_before = *session.router.last_heard.lock();
    // An error may be the end of the session, which is handled elsewhere.
    drop(
        session
            .request(ping, &RequestOptions::without_caller(PING_TIMEOUT))
            .await,
    );
    *session.router.last_heard.lock() > heard_before || !session.is_open()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_mins(5);

    fn silence(now: Instant) -> SilenceTracker {
        SilenceTracker {
            last: now,
            missed_pings: 0,
            ping_missed: false,
        }
    }

    /// The lifetime of a server that stays silent, and the number of pings to it.
    fn lifetime(calls: impl Fn(Duration) -> bool) -> (Duration, u32) {
        let started = Instant::now();
        let mut silence = silence(started);
        let mut now = started;
        let mut pings = 0;
        loop {
            let busy = calls(now - started);
            match silence.next_step(now, started, busy, PATIENCE) {
                LivenessStep::LookAgain(at) => now = at.max(now + Duration::from_millis(1)),
                LivenessStep::Ask => {
                    let asked = now;
                    now += PING_TIMEOUT;
                    pings += 1;
                    silence.record_missed_ping(asked, busy || calls(now - started), PATIENCE);
                }
                LivenessStep::End => return (now - started, pings),
            }
            assert!(now - started < PATIENCE * 10, "it is never ended");
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
        // The call ends after a minute, and from then on the session is idle.
        let (lived, _) = lifetime(|at| at < Duration::from_mins(1));
        assert!(
            lived >= IDLE_PING_INTERVAL
                && lived <= IDLE_PING_INTERVAL + BUSY_PING_INTERVAL + PING_TIMEOUT * 2,
            "{lived:?}"
        );
    }

    #[test]
    fn any_message_resets_the_silence() {
        let started = Instant::now();
        let mut silence = silence(started);
        let now = started + IDLE_PING_INTERVAL;
        assert_eq!(
            silence.next_step(now, started, false, PATIENCE),
            LivenessStep::Ask
        );
        silence.record_missed_ping(now, false, PATIENCE);
        assert_eq!(
            silence.next_step(now + PING_TIMEOUT, started, false, PATIENCE),
            LivenessStep::Ask
        );
        let heard = now + PING_TIMEOUT;
        let step = silence.next_step(heard + PING_TIMEOUT, heard, false, PATIENCE);
        assert!(matches!(step, LivenessStep::LookAgain(_)), "{step:?}");
        assert!(!silence.ping_missed && silence.missed_pings == 0);
    }
}
