//! When a server that fails may be tried again.
//!
//! A failure is a start that does not come off, or a session that ends right after it without having answered a
//! call. After each the server rests, twice as long as before. One that fails too often within a minute is left
//! alone: whoever calls it is told so at once, and after the rest one try shows whether it has recovered.
//! Invariant: a failure is forgotten only by a session that was of use, or by somebody who says so.

use std::{
    collections::{VecDeque, hash_map::RandomState},
    hash::{BuildHasher as _, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The rest after the first failure.
const MIN_RESTART_BACKOFF: Duration = Duration::from_millis(250);
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(30);
/// So many failures within [`FAILURE_WINDOW`] open the breaker.
pub(super) const FAILURE_THRESHOLD: usize = 5;
pub(super) const FAILURE_WINDOW: Duration = Duration::from_secs(60);
/// A session that has lived so long was no failure.
pub(super) const STABLE_SESSION_AGE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<BreakerState>);

/// Guarded by `CircuitBreaker`.
#[derive(Debug, Default)]
struct BreakerState {
    phase: BreakerPhase,
    /// Within the window.
    failures: VecDeque<Instant>,
    /// Since the last session that lived.
    streak: u32,
    rest: Option<Instant>,
    cause: String,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum BreakerPhase {
    #[default]
    Closed,
    Open,
    /// One try is under way.
    Trying,
    /// The try has become a session, which must live to close the breaker.
    Proving,
}

/// Whether a session may be opened now.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BreakerDecision {
    Go,
    /// Not before then; worth waiting for.
    Rest(Instant),
    /// Not before then, and nobody should wait; what was wrong the last time.
    Shut {
        until: Instant,
        cause: String,
    },
}

impl CircuitBreaker {
    /// Whoever is let through tells how it went: by `opened`, `failed` or `abandoned`.
    pub(super) fn try_enter(&self, now: Instant) -> BreakerDecision {
        let mut state = self.state();
        let rest = state.rest.filter(|rest| *rest > now);
        match (state.phase, rest) {
            (BreakerPhase::Closed | BreakerPhase::Proving, Some(until)) => {
                BreakerDecision::Rest(until)
            }
            (BreakerPhase::Closed | BreakerPhase::Proving, None) => BreakerDecision::Go,
            (BreakerPhase::Open, None) => {
                state.phase = BreakerPhase::Trying;
                BreakerDecision::Go
            }
            (BreakerPhase::Open | BreakerPhase::Trying, rest) => BreakerDecision::Shut {
                until: rest.unwrap_or(now),
                cause: state.cause.clone(),
            },
        }
    }

    pub(super) fn record_opened(&self) {
        let mut state = self.state();
        state.rest = None;
        if state.phase == BreakerPhase::Trying {
            state.phase = BreakerPhase::Proving;
        }
    }

    /// A start that failed, or a session that ended right after it. Until when to rest, and whether the
    /// breaker is open now.
    pub(super) fn record_failure(&self, now: Instant, cause: &str) -> (Instant, bool) {
        let mut state = self.state();
        let recent = |failure: &Instant| now.duration_since(*failure) < FAILURE_WINDOW;
        state.failures.retain(recent);
        state.failures.push_back(now);
        if state.failures.len() > FAILURE_THRESHOLD {
            state.failures.pop_front();
        }
        state.streak = state.streak.saturating_add(1);
        let rest = now + restart_backoff(state.streak, random_fraction());
        state.rest = Some(rest);
        cause.clone_into(&mut state.cause);
        if state.phase != BreakerPhase::Closed || state.failures.len() >= FAILURE_THRESHOLD {
            state.phase = BreakerPhase::Open;
        }
        (rest, state.phase == BreakerPhase::Open)
    }

    /// A session ended right after it was opened, but has answered a call before. It was of use and is worth
    /// opening again, if not at once. Until when to rest.
    pub(super) fn record_early_end(&self, now: Instant) -> Instant {
        let rest = now + restart_backoff(1, random_fraction());
        *self.state() = BreakerState {
            rest: Some(rest),
            ..BreakerState::default()
        };
        rest
    }

    /// The try will tell nothing: whoever made it was called off.
    pub(super) fn record_abandoned(&self) {
        let mut state = self.state();
        if state.phase == BreakerPhase::Trying {
            state.phase = BreakerPhase::Open;
        }
    }

    /// A session has lived, or somebody has seen to it.
    pub(super) fn reset(&self) {
        *self.state() = BreakerState::default();
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rest after so many failures, shorter by up to a quarter so that servers which failed together do not
/// come back together.
fn restart_backoff(streak: u32, chance: f64) -> Duration {
    let doubled = MIN_RESTART_BACKOFF.saturating_mul(1 << streak.saturating_sub(1).min(16));
    doubled.min(MAX_RESTART_BACKOFF).mul_f64(1.0 - chance / 4.0)
}

/// From 0 to 1.
fn random_fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 40;
    bits as f64 / (1 << 24) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shut(gate: BreakerDecision) -> bool {
        matches!(gate, BreakerDecision::Shut { .. })
    }

    #[test]
    fn a_rest_doubles_from_a_quarter_of_a_second_to_half_a_minute() {
        let rests = [1, 2, 3, 7, 8, 100].map(|streak| restart_backoff(streak, 0.0).as_millis());
        assert_eq!(rests, [250, 500, 1_000, 16_000, 30_000, 30_000]);
        assert_eq!(restart_backoff(1, 1.0), MIN_RESTART_BACKOFF.mul_f64(0.75));
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random_fraction())));
    }

    #[test]
    fn five_failures_in_a_minute_shut_it_and_one_try_is_let_through_after_the_rest() {
        let (breaker, mut now) = (CircuitBreaker::default(), Instant::now());
        for failure in 1..=FAILURE_THRESHOLD {
            assert_eq!(breaker.try_enter(now), BreakerDecision::Go, "{failure}");
            let (rest, open) = breaker.record_failure(now, "why");
            assert_eq!(open, failure == FAILURE_THRESHOLD);
            match breaker.try_enter(now) {
                BreakerDecision::Rest(until) => assert!(!open && until == rest),
                BreakerDecision::Shut { until, cause } => {
                    assert!(open && until == rest && cause == "why")
                }
                BreakerDecision::Go => panic!("no rest"),
            }
            now = rest;
        }
        assert_eq!(breaker.try_enter(now), BreakerDecision::Go);
        assert!(shut(breaker.try_enter(now)), "one try is enough");
        // It fails: shut again, for longer.
        let (rest, open) = breaker.record_failure(now, "still");
        assert!(
            open && rest - now > Duration::from_secs(5),
            "{:?}",
            rest - now
        );
        // The next one comes up, dies again at once, and is no recovery.
        assert_eq!(breaker.try_enter(rest), BreakerDecision::Go);
        breaker.record_opened();
        assert_eq!(
            breaker.try_enter(rest),
            BreakerDecision::Go,
            "there is a session"
        );
        assert!(breaker.record_failure(rest, "again").1);
        assert!(shut(breaker.try_enter(rest)));
        breaker.reset();
        assert_eq!(breaker.try_enter(rest), BreakerDecision::Go);
        assert!(!breaker.record_failure(rest, "once").1);
    }

    #[test]
    fn a_server_that_dies_of_its_work_rests_for_a_moment_and_is_never_shut_out() {
        let (breaker, mut now) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..FAILURE_THRESHOLD - 1 {
            now = breaker.record_failure(now, "why").0;
        }
        for _ in 0..50 {
            assert_eq!(breaker.try_enter(now), BreakerDecision::Go);
            breaker.record_opened();
            let rest = breaker.record_early_end(now);
            assert!(rest - now <= MIN_RESTART_BACKOFF);
            assert_eq!(breaker.try_enter(now), BreakerDecision::Rest(rest));
            now = rest;
        }
    }

    #[test]
    fn failures_that_are_far_apart_never_shut_it() {
        let (breaker, mut now) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..50 {
            assert_eq!(breaker.try_enter(now), BreakerDecision::Go);
            assert!(!breaker.record_failure(now, "why").1);
            now += Duration::from_secs(31);
        }
    }

    #[test]
    fn a_try_that_was_called_off_leaves_the_way_to_the_next() {
        let (breaker, mut now) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..FAILURE_THRESHOLD {
            now = breaker.record_failure(now, "why").0;
        }
        assert_eq!(breaker.try_enter(now), BreakerDecision::Go);
        breaker.record_abandoned();
        assert_eq!(breaker.try_enter(now), BreakerDecision::Go);
    }
}
