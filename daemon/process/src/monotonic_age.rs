//! Ages that do not jump when the wall clock is set.

use std::time::{Duration, Instant, SystemTime};

/// An age that advances with the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicAge {
    /// The age by the wall clock at creation, or zero for a time in the future.
    first: Duration,
    seen: Instant,
}

impl MonotonicAge {
    pub fn since(then: SystemTime) -> Self {
        Self {
            first: then.elapsed().unwrap_or_default(),
            seen: Instant::now(),
        }
    }

    pub fn now(&self) -> Duration {
        self.first + self.seen.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_starts_at_the_wall_clock_difference() {
        let hour = Duration::from_hours(1);
        let now = SystemTime::now();
        assert!(MonotonicAge::since(now - hour).now() >= hour);
        assert!(
            MonotonicAge::since(now + hour).now() < hour,
            "what is of the future is new"
        );
    }
}
