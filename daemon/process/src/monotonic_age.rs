//! How old something is, whoever sets the clock meanwhile.

use std::time::{Duration, Instant, SystemTime};

/// An age that goes on by a clock that nobody sets.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicAge {
    /// How old it was by the clock when we saw it first; what is of the future is new.
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
    fn it_begins_with_what_the_clock_said() {
        let hour = Duration::from_secs(3600);
        let now = SystemTime::now();
        assert!(MonotonicAge::since(now - hour).now() >= hour);
        assert!(
            MonotonicAge::since(now + hour).now() < hour,
            "what is of the future is new"
        );
    }
}
