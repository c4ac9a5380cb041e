//! Parses times and matches runs given on the command line. Pure, except for the clock.

use std::time::SystemTime;

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime};

/// Parses `--since`: a duration before now, or a date with or without a time of day, local unless it has an offset.
pub(super) fn parse_since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let then = SystemTime::now().checked_sub(ago);
        return then.ok_or_else(|| format!("--since {text} is too long ago"));
    }
    parse_date(text).ok_or_else(|| {
        format!("--since {text:?} is neither a duration such as 1h nor a date such as 2026-11-22")
    })
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

/// Whether `wanted` is the run's id, or the number after the dash of the id.
pub(super) fn matches_run(id: &str, wanted: &str) -> bool {
    let number = id.rsplit_once('-').map(|(_, number)| number);
    !id.is_empty() && (id == wanted || number == Some(wanted))
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
            assert!(parse_since(text).unwrap_err().contains("--since"), "{text}");
        }
    }

    #[test]
    fn run_is_matched_by_its_id_or_number() {
        assert!(matches_run("f3a-12", "12") && matches_run("f3a-12", "f3a-12"));
        assert!(
            !matches_run("f3a-12", "2") && !matches_run("f3a-12", "f3a") && !matches_run("", "")
        );
    }
}
