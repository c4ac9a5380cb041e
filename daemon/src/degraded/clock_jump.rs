//! Jumps of the wall clock, measured against a clock that cannot be set.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::time::{Duration, SystemTime};

use mux_messages::Degraded;

/// Smaller differences are ordinary corrections and are not reported.
const MIN_CLOCK_JUMP: Duration = Duration::from_mins(10);
/// How long a jump is reported before the new time is accepted.
const JUMP_REPORT_DURATION: Duration = Duration::from_hours(1);

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
struct ClockSample {
    /// Time since boot, including time in suspend on Linux and Windows.
    steady: Duration,
    clock: SystemTime,
}

impl ClockSample {
    fn now() -> Self {
        Self {
            steady: system::time_since_boot(),
            clock: SystemTime::now(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ClockWatch {
    since: ClockSample,
    /// When the jump was first seen, by the steady clock.
    jumped: Option<Duration>,
}

impl ClockWatch {
    pub(super) fn start() -> Self {
        Self {
            since: ClockSample::now(),
            jumped: None,
        }
    }

    pub(super) fn look(&mut self) -> Option<Degraded> {
        self.look_at(ClockSample::now())
    }

    fn look_at(&mut self, now: ClockSample) -> Option<Degraded> {
        let right = self.since.clock + now.steady.saturating_sub(self.since.steady);
        let (by, whither) = match now.clock.duration_since(right) {
            Ok(ahead) => (ahead, "forward"),
            Err(behind) => (behind.duration(), "back"),
        };
        if by < MIN_CLOCK_JUMP {
            self.jumped = None;
            return None;
        }
        let seen = *self.jumped.get_or_insert(now.steady);
        if now.steady.saturating_sub(seen) > JUMP_REPORT_DURATION {
            (self.since, self.jumped) = (now, None);
            return None;
        }
        // Rounded to the minute.
        let by = humantime::format_duration(Duration::from_secs((by.as_secs() + 30) / 60 * 60));
        Some(Degraded::new(
            "clock",
            format!(
                "the clock was set {whither} by {by} while muxd ran: logins may seem expired or still valid, and times \
                 in the logs jump"
            ),
            "if the clock is wrong now, correct it; if it was wrong before, there is nothing to do",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn clock_jump_is_reported_until_it_is_reverted_or_accepted() {
        let start = ClockSample {
            steady: Duration::from_secs(1000),
            clock: SystemTime::UNIX_EPOCH + 1000 * DAY,
        };
        let mut clock = ClockWatch {
            since: start,
            jumped: None,
        };
        let mut at = |seconds: u64, forward: Duration, back: Duration| {
            let passed = Duration::from_secs(seconds);
            let reported = clock.look_at(ClockSample {
                steady: start.steady + passed,
                clock: start.clock + passed + forward - back,
            });
            reported.map(|condition| condition.message)
        };
        let none = Duration::ZERO;
        assert_eq!(at(10, none, none), None);
        assert_eq!(at(20, Duration::from_secs(5), none), None);
        let reported = at(30, DAY, none).unwrap();
        assert!(reported.contains("forward by 1day "), "{reported}");
        assert_eq!(at(40, none, none), None, "it is back");
        let reported = at(50, none, DAY).unwrap();
        assert!(reported.contains("back by 1day "), "{reported}");
        assert!(at(60, none, DAY).is_some());
        assert_eq!(at(4000, none, DAY), None, "it is believed");
        assert_eq!(at(4010, none, DAY), None);
        assert!(at(4020, none, none).is_some());
    }
}
