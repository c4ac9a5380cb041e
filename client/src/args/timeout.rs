//! Times on the command line.

use std::{
    ops::RangeInclusive,
    time::{Duration, SystemTime},
};

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime};

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

/// A duration before now, or a date with or without a time of day, local unless it has an offset.
pub(super) fn parse_since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let then = SystemTime::now().checked_sub(ago);
        return then.ok_or_else(|| "it is too long ago".into());
    }
    parse_date(text)
        .ok_or_else(|| "it must be an age such as 1h or a date such as 2026-11-22".into())
}

fn parse_date(text: &str) -> Option<SystemTime> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(at.into());
    }
    let text = text.replacen(' ', "T", 1);
    let midnight = NaiveDate::parse_from_str(&text, "%Y-%m-%d")
        .ok()
        .and_then(|day| day.and_hms_opt(0, 0, 0));
    let mut formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"].into_iter();
    let at = midnight
        .or_else(|| formats.find_map(|format| NaiveDateTime::parse_from_str(&text, format).ok()))?;
    Some(at.and_local_timezone(Local).earliest()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_accepts_durations_and_dates() {
        let day = parse_since("2026-11-22").unwrap();
        for text in [
            "2026-11-22T00:00",
            "2026-11-22 00:00:00",
            "2026-11-22T00:00:00.000",
        ] {
            assert_eq!(parse_since(text).unwrap(), day, "{text}");
        }
        let noon = parse_since("2026-11-22T12:00:00Z").unwrap();
        assert_eq!(parse_since("2026-11-22T13:00:00+01:00").unwrap(), noon);
        assert!(parse_since("1h").unwrap() < SystemTime::now());
        for text in ["", "yesterday", "2026-13-01"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }

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
