//! Short formats for sizes, times and counts.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Local};

/// Formats a size: `12 B`, `12.3 KiB`, `1.5 MiB`.
pub(crate) fn size_text(count: u64) -> String {
    const KIB: f64 = 1024.0;
    let count = count as f64;
    if count < KIB {
        format!("{count} B")
    } else if count < KIB * KIB {
        format!("{:.1} KiB", count / KIB)
    } else {
        format!("{:.1} MiB", count / (KIB * KIB))
    }
}

/// Formats a duration: `0.4 ms`, `12 ms`, `1.2 s`, `2m 5s`.
pub(crate) fn duration_text(ms: f64) -> String {
    if ms < 1.0 {
        format!("{ms:.1} ms")
    } else if ms < 1_000.0 {
        format!("{ms:.0} ms")
    } else if ms < 60_000.0 {
        format!("{:.1} s", ms / 1_000.0)
    } else {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 60"
        )]
        let seconds = (ms / 1_000.0) as u64;
        format!("{}m {}s", seconds / 60, seconds % 60)
    }
}

/// Formats a Unix time in milliseconds as a date in the local time zone.
pub(crate) fn date_text(ms: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(ms);
    DateTime::<Local>::from(at).format("%Y-%m-%d").to_string()
}

/// Formats a time in the local time zone with its offset from UTC: `2026-11-22 09:00:00.123+01:00`.
pub(crate) fn time_text(at: SystemTime) -> String {
    let at = DateTime::<Local>::from(at);
    let offset = match at.offset().local_minus_utc() {
        0 => "Z",
        _ => "%:z",
    };
    at.format(&format!("%Y-%m-%d %H:%M:%S%.3f{offset}"))
        .to_string()
}

/// Formats an age in milliseconds: `now`, `5s ago`, `3m ago`, `2h ago`, `4d ago`.
pub(crate) fn age_text(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => "now".into(),
        1..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// Formats a count with its noun: `1 call`, `2 calls`.
pub(crate) fn count_text(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (12_600, "12.3 KiB"),
            (3 << 20, "3.0 MiB"),
        ] {
            assert_eq!(size_text(count), text);
        }
        for (ms, text) in [
            (0.42, "0.4 ms"),
            (12.4, "12 ms"),
            (1_234.0, "1.2 s"),
            (125_900.0, "2m 5s"),
        ] {
            assert_eq!(duration_text(ms), text);
        }
        for (ms, text) in [
            (999, "now"),
            (59_999, "59s ago"),
            (60_000, "1m ago"),
            (7_300_000, "2h ago"),
            (4 * 86_400_000, "4d ago"),
        ] {
            assert_eq!(age_text(ms), text);
        }
        assert_eq!(count_text(1, "call"), "1 call");
        assert_eq!(count_text(0, "call"), "0 calls");
    }
}
