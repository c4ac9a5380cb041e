//! Decides when a server that failed may be started again.
//!
//! A failure is a failed start, or a session that ends soon after its start without having answered a call. A start
//! that times out is not a failure, because the server may be installing something. The backoff doubles after each
//! consecutive failure. Too many failures within a minute open the breaker: callers get an error immediately, and after
//! the backoff one attempt shows whether the server has recovered.
//!
//! A session that ends early but has answered a call is not a failure, and the next session starts immediately: each
//! start has served a caller. Only a server that does this repeatedly has to wait.
//!
//! Invariant: failures are forgotten only after a useful session or by an explicit reset.

use std::{
    collections::{VecDeque, hash_map::RandomState},
    hash::{BuildHasher as _, Hasher as _},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// The backoff after the first failure.
const MIN_RESTART_BACKOFF: Duration = Duration::from_millis(250);
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(30);
/// The number of failures within [`FAILURE_WINDOW`] that opens the breaker.
pub(super) const FAILURE_THRESHOLD: usize = 5;
pub(super) const FAILURE_WINDOW: Duration = Duration::from_mins(1);
/// A session that lived at least this long counts as a success.
pub(super) const STABLE_SESSION_AGE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<BreakerState>);

/// The state that `CircuitBreaker` guards.
#[derive(Debug, Default)]
struct BreakerState {
    phase: BreakerPhase,
    /// The failures within the window.
    failures: VecDeque<Instant>,
    /// Failures since the last successful session.
    streak: u32,
    /// The sessions of the last [`STABLE_SESSION_AGE`] that were useful but ended early.
    early_ends: VecDeque<Instant>,
    retry_at: Option<Instant>,
    cause: String,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum BreakerPhase {
    #[default]
    Closed,
    Open,
    /// One attempt is in progress.
    Trying,
    /// The attempt opened a session, which must stay up to close the breaker.
    Proving,
}

/// The decision whether a session may be opened now.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BreakerDecision {
    Allowed,
    /// Not before this time, which is short enough to wait for.
    BackOff(Instant),
    /// Not before this time, and callers should not wait. `cause` is the last failure.
    Open {
        until: Instant,
        cause: String,
    },
}

impl CircuitBreaker {
    /// After [`BreakerDecision::Allowed`] the caller reports the outcome: `record_opened`, `record_failure` or
    /// `record_abandoned`.
    pub(super) fn try_enter(&self, now: Instant) -> BreakerDecision {
        let mut state = self.0.lock();
        let retry_at = state.retry_at.filter(|retry_at| *retry_at > now);
        match (state.phase, retry_at) {
            (BreakerPhase::Closed | BreakerPhase::Proving, Some(until)) => {
                BreakerDecision::BackOff(until)
            }
            (BreakerPhase::Closed | BreakerPhase::Proving, None) => BreakerDecision::Allowed,
            (BreakerPhase::Open, None) => {
                state.phase = BreakerPhase::Trying;
                BreakerDecision::Allowed
            }
            (BreakerPhase::Open | BreakerPhase::Trying, retry_at) => BreakerDecision::Open {
                until: retry_at.unwrap_or(now),
                cause: state.cause.clone(),
            },
        }
    }

    pub(super) fn record_opened(&self) {
        let mut state = self.0.lock();
        state.retry_at = None;
        if state.phase == BreakerPhase::Trying {
            state.phase = BreakerPhase::Proving;
        }
    }

    /// Records a start that failed, or a session that ended soon after it. Returns the end of the backoff, and whether
    /// the breaker is open.
    pub(super) fn record_failure(&self, now: Instant, cause: &str) -> (Instant, bool) {
        let mut state = self.0.lock();
        let recent = |failure: &Instant| now.duration_since(*failure) < FAILURE_WINDOW;
        state.failures.retain(recent);
        state.failures.push_back(now);
        if state.failures.len() > FAILURE_THRESHOLD {
            state.failures.pop_front();
        }
        state.streak = state.streak.saturating_add(1);
        let retry_at = now + restart_backoff(state.streak, random_fraction());
        state.retry_at = Some(retry_at);
        cause.clone_into(&mut state.cause);
        if state.phase != BreakerPhase::Closed || state.failures.len() >= FAILURE_THRESHOLD {
            state.phase = BreakerPhase::Open;
        }
        (retry_at, state.phase == BreakerPhase::Open)
    }

    /// Records a start that timed out. The server may have been installing something and continues at the next try, so
    /// this neither opens the breaker nor lengthens the backoff. Returns when the next start is allowed.
    pub(super) fn record_slow_start(&self, now: Instant, cause: &str) -> Instant {
        let mut state = self.0.lock();
        let retry_at = now + restart_backoff(1, random_fraction());
        state.retry_at = Some(retry_at);
        cause.clone_into(&mut state.cause);
        if state.phase == BreakerPhase::Trying {
            state.phase = BreakerPhase::Open;
        }
        retry_at
    }

    /// Records a session that ended soon after its start but had answered a call, so it was useful. Returns when the
    /// next may start: now, or after a short backoff if there were [`FAILURE_THRESHOLD`] such sessions just before.
    pub(super) fn record_early_end(&self, now: Instant) -> Instant {
        let mut state = self.0.lock();
        let mut early_ends = std::mem::take(&mut state.early_ends);
        early_ends.retain(|end| now.duration_since(*end) < STABLE_SESSION_AGE);
        let is_often = early_ends.len() >= FAILURE_THRESHOLD;
        if is_often {
            early_ends.pop_front();
        }
        early_ends.push_back(now);
        let retry_at = is_often.then(|| now + restart_backoff(1, random_fraction()));
        *state = BreakerState {
            early_ends,
            retry_at,
            ..BreakerState::default()
        };
        retry_at.unwrap_or(now)
    }

    /// The attempt was cancelled and has no outcome.
    pub(super) fn record_abandoned(&self) {
        let mut state = self.0.lock();
        if state.phase == BreakerPhase::Trying {
            state.phase = BreakerPhase::Open;
        }
    }

    /// Forgets all failures: a session was stable, or the user intervened.
    pub(super) fn reset(&self) {
        *self.0.lock() = BreakerState::default();
    }
}

/// The backoff after `streak` failures, reduced by up to a quarter, because servers that failed together should not
/// restart together.
fn restart_backoff(streak: u32, chance: f64) -> Duration {
    let doubled = MIN_RESTART_BACKOFF.saturating_mul(1 << streak.saturating_sub(1).min(16));
    doubled.min(MAX_RESTART_BACKOFF).mul_f64(1.0 - chance / 4.0)
}

/// Uniform in `0.0..1.0`.
fn random_fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 40;
    bits as f64 / f64::from(1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shut(gate: &BreakerDecision) -> bool {
        matches!(gate, BreakerDecision::Open { .. })
    }

    #[test]
    fn backoff_doubles_from_250_ms_to_30_s() {
        let rests = [1, 2, 3, 7, 8, 100].map(|streak| restart_backoff(streak, 0.0).as_millis());
        assert_eq!(rests, [250, 500, 1_000, 16_000, 30_000, 30_000]);
        assert_eq!(restart_backoff(1, 1.0), MIN_RESTART_BACKOFF.mul_f64(0.75));
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random_fraction())));
    }

    #[test]
    fn five_failures_in_a_minute_open_it_and_one_attempt_follows_the_backoff() {
        let breaker = CircuitBreaker::default();
        let mut now = Instant::now();
        for failure in 1..=FAILURE_THRESHOLD {
            assert_eq!(
                breaker.try_enter(now),
                BreakerDecision::Allowed,
                "{failure}"
            );
            let (retry_at, open) = breaker.record_failure(now, "why");
            assert_eq!(open, failure == FAILURE_THRESHOLD);
            match breaker.try_enter(now) {
                BreakerDecision::BackOff(until) => assert!(!open && until == retry_at),
                BreakerDecision::Open { until, cause } => {
                    assert!(open && until == retry_at && cause == "why");
                }
                BreakerDecision::Allowed => panic!("no rest"),
            }
            now = retry_at;
        }
        assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
        assert!(shut(&breaker.try_enter(now)), "one try is enough");
        // The attempt fails: the breaker opens again, for longer.
        let (retry_at, open) = breaker.record_failure(now, "still");
        assert!(
            open && retry_at - now > Duration::from_secs(5),
            "{:?}",
            retry_at - now
        );
        // The next attempt starts and dies immediately, which is not a recovery.
        assert_eq!(breaker.try_enter(retry_at), BreakerDecision::Allowed);
        breaker.record_opened();
        assert_eq!(
            breaker.try_enter(retry_at),
            BreakerDecision::Allowed,
            "there is a session"
        );
        assert!(breaker.record_failure(retry_at, "again").1);
        assert!(shut(&breaker.try_enter(retry_at)));
        breaker.reset();
        assert_eq!(breaker.try_enter(retry_at), BreakerDecision::Allowed);
        assert!(!breaker.record_failure(retry_at, "once").1);
    }

    #[test]
    fn server_that_dies_after_answering_never_opens_the_breaker() {
        let breaker = CircuitBreaker::default();
        let mut now = Instant::now();
        for _ in 0..FAILURE_THRESHOLD - 1 {
            now = breaker.record_failure(now, "why").0;
        }
        for death in 1..=50 {
            assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
            breaker.record_opened();
            let retry_at = breaker.record_early_end(now);
            // The first sessions are replaced immediately.
            let expected = if death <= FAILURE_THRESHOLD {
                BreakerDecision::Allowed
            } else {
                BreakerDecision::BackOff(retry_at)
            };
            assert_eq!(breaker.try_enter(now), expected, "{death}");
            assert!(retry_at - now <= MIN_RESTART_BACKOFF);
            now = retry_at;
        }
        now += STABLE_SESSION_AGE;
        assert_eq!(breaker.record_early_end(now), now, "the deaths are over");
    }

    #[test]
    fn failures_outside_the_window_never_open_it() {
        let breaker = CircuitBreaker::default();
        let mut now = Instant::now();
        for _ in 0..50 {
            assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
            assert!(!breaker.record_failure(now, "why").1);
            now += Duration::from_secs(31);
        }
    }

    #[test]
    fn slow_starts_never_open_the_breaker() {
        let breaker = CircuitBreaker::default();
        let mut now = Instant::now();
        for _ in 0..50 {
            assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
            let retry_at = breaker.record_slow_start(now, "slow");
            assert!(retry_at - now <= MIN_RESTART_BACKOFF);
            now = retry_at;
        }
        for _ in 0..FAILURE_THRESHOLD {
            now = breaker.record_failure(now, "why").0;
        }
        assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
        let retry_at = breaker.record_slow_start(now, "slow");
        assert!(shut(&breaker.try_enter(now)), "an open breaker stays open");
        assert_eq!(breaker.try_enter(retry_at), BreakerDecision::Allowed);
    }

    #[test]
    fn abandoned_attempt_allows_the_next() {
        let breaker = CircuitBreaker::default();
        let mut now = Instant::now();
        for _ in 0..FAILURE_THRESHOLD {
            now = breaker.record_failure(now, "why").0;
        }
        assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
        breaker.record_abandoned();
        assert_eq!(breaker.try_enter(now), BreakerDecision::Allowed);
    }
}
