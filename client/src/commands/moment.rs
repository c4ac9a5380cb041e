//! What somebody types for a time, or for a run. Pure, but for the clock.

use std::time::SystemTime;

/// So long ago, or a date, in UTC where nothing else is said.
pub(super) fn since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let then = SystemTime::now().checked_sub(ago);
        return then.ok_or_else(|| format!("--since {text} is before all times"));
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    humantime::parse_rfc3339_weak(&whole).map_err(|_| {
        format!("--since {text:?} is no time such as 1h and no date such as 2026-11-22")
    })
}

/// A run has its id, and the number behind the dash for short.
pub(super) fn is_run(id: &str, wanted: &str) -> bool {
    let number = id.rsplit_once('-').map(|(_, number)| number);
    !id.is_empty() && (id == wanted || number == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_and_dates() {
        let day = since("2026-11-22").unwrap();
        assert_eq!(day, since("2026-11-22T00:00:00Z").unwrap());
        assert!(since("1h").unwrap() < SystemTime::now());
        for text in ["", "yesterday", "2026-13-01"] {
            assert!(since(text).unwrap_err().contains("--since"), "{text}");
        }
    }

    #[test]
    fn a_run_is_known_by_its_number_too() {
        assert!(is_run("f3a-12", "12") && is_run("f3a-12", "f3a-12"));
        assert!(!is_run("f3a-12", "2") && !is_run("f3a-12", "f3a") && !is_run("", ""));
    }
}
