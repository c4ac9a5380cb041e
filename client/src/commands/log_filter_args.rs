//! Parses times and matches runs given on the command line. Pure, except for the clock.

use std::time::SystemTime;

/// Parses `--since`: a duration before now, or a date, in UTC by default.
pub(super) fn parse_since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let then = SystemTime::now().checked_sub(ago);
        return then.ok_or_else(|| format!("--since {text} is too long ago"));
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    humantime::parse_rfc3339_weak(&whole).map_err(|_| {
        format!("--since {text:?} is neither a duration such as 1h nor a date such as 2026-11-22")
    })
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
        assert_eq!(day, parse_since("2026-11-22T00:00:00Z").unwrap());
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
