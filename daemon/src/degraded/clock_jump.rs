//! The system's clock, held against one that nobody sets.

use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};

use super::HostCondition;

/// What a clock is corrected by, and nobody has to know.
const MIN_CLOCK_JUMP: Duration = Duration::from_secs(10 * 60);
/// So long is told of a jump; then the clock is believed.
const JUMP_REPORT_DURATION: Duration = Duration::from_secs(60 * 60);

/// Both at one moment.
#[derive(Clone, Copy, Debug)]
struct ClockSample {
    /// Since the machine was started, suspended or not.
    steady: Duration,
    clock: SystemTime,
}

impl ClockSample {
    fn now() -> Self {
        Self {
            steady: steady(),
            clock: SystemTime::now(),
        }
    }
}

#[cfg(target_os = "linux")]
const STEADY_CLOCK_ID: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const STEADY_CLOCK_ID: ClockId = ClockId::CLOCK_MONOTONIC;

fn steady() -> Duration {
    clock_gettime(STEADY_CLOCK_ID).map_or(Duration::ZERO, Duration::from)
}

#[derive(Debug)]
pub(super) struct ClockWatch {
    since: ClockSample,
    /// When a jump was seen first, by the steady clock.
    jumped: Option<Duration>,
}

impl ClockWatch {
    pub(super) fn start() -> Self {
        Self {
            since: ClockSample::now(),
            jumped: None,
        }
    }

    pub(super) fn look(&mut self) -> Option<HostCondition> {
        self.look_at(ClockSample::now())
    }

    fn look_at(&mut self, now: ClockSample) -> Option<HostCondition> {
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
        // To the minute: nobody sets it more precisely.
        let by = humantime::format_duration(Duration::from_secs((by.as_secs() + 30) / 60 * 60));
        Some(HostCondition::new(
            "clock",
            format!(
                "the clock was set {whither} by {by} while muxd ran: logins may seem to have ended, or not to, and what \
                 the logs say of times leaps"
            ),
            "if it is wrong now, set it right; if it was wrong before, nothing is to be done",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn a_clock_that_leaps_is_told_of_until_it_is_back_or_has_stayed() {
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
            let told = clock.look_at(ClockSample {
                steady: start.steady + passed,
                clock: start.clock + passed + forward - back,
            });
            told.map(|strait| strait.message)
        };
        let none = Duration::ZERO;
        assert_eq!(at(10, none, none), None);
        assert_eq!(at(20, Duration::from_secs(5), none), None);
        let told = at(30, DAY, none).unwrap();
        assert!(told.contains("forward by 1day "), "{told}");
        assert_eq!(at(40, none, none), None, "it is back");
        let told = at(50, none, DAY).unwrap();
        assert!(told.contains("back by 1day "), "{told}");
        assert!(at(60, none, DAY).is_some());
        assert_eq!(at(4000, none, DAY), None, "it is believed");
        assert_eq!(at(4010, none, DAY), None);
        assert!(at(4020, none, none).is_some());
    }
}
