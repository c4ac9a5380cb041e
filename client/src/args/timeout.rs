//! Times on the command line.

use std::{ops::RangeInclusive, time::Duration};

/// The wall time that the daemon accepts for a run.
const RUN_TIMEOUT_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_mins(5);

/// A time with a unit, or a number of seconds.
pub(super) fn parse_timeout(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let time = match seconds.map(Duration::try_from_secs_f64) {
        Some(time) => time.ok(),
        None => humantime::parse_duration(text).ok(),
    };
    time.ok_or_else(|| "it must be a time such as 10s, 2m or 500ms".into())
}

/// The maximum wall time of a run.
pub(super) fn parse_run_timeout(text: &str) -> Result<Duration, String> {
    let least = RUN_TIMEOUT_RANGE.start();
    let most = RUN_TIMEOUT_RANGE.end();
    let wrong = || {
        let least = least.as_secs();
        let most = most.as_secs();
        format!("it must be a time from {least}s to {most}s, such as 30s or 2m")
    };
    let time = parse_timeout(text).map_err(|_| wrong())?;
    if RUN_TIMEOUT_RANGE.contains(&time) {
        Ok(time)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_without_a_unit_is_in_seconds() {
        for (text, ms) in [
            ("3", 3_000),
            ("0.5", 500),
            ("3s", 3_000),
            ("1m 30s", 90_000),
        ] {
            assert_eq!(parse_timeout(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["soon", "-1", "", "NaN", "1e300", "3 bananas"] {
            assert!(parse_timeout(text).is_err(), "{text}");
        }
    }

    #[test]
    fn timeout_of_a_run_has_a_range() {
        assert_eq!(parse_run_timeout("5m"), Ok(Duration::from_mins(5)));
        for text in ["soon", "0", "999ms", "301", "1h"] {
            let error = parse_run_timeout(text).unwrap_err();
            assert!(error.contains("from 1s to 300s"), "{text}: {error}");
        }
    }
}
