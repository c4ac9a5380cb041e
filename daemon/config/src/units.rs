//! Durations and sizes as written in `config.toml`, with the units of its reference.

use std::time::Duration;

const DAY_SECS: u64 = 24 * 60 * 60;
const BINARY_UNITS: [(&str, u64); 5] = [
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// `90d`, `24h`, `1h 30m`: whole days from two on, otherwise hours and shorter units.
pub fn duration_text(time: Duration) -> String {
    let seconds = time.as_secs();
    if time.subsec_nanos() == 0 && seconds >= 2 * DAY_SECS && seconds.is_multiple_of(DAY_SECS) {
        return format!("{}d", seconds / DAY_SECS);
    }
    let hours = seconds / 3600;
    // Less than an hour has the same units there.
    let rest = time.checked_sub(Duration::from_secs(hours * 3600)).unwrap();
    match (hours, rest.is_zero()) {
        (0, _) => humantime::format_duration(rest).to_string(),
        (hours, true) => format!("{hours}h"),
        (hours, false) => format!("{hours}h {}", humantime::format_duration(rest)),
    }
}

/// `4MiB`: in the largest unit that leaves a whole number, otherwise in bytes.
pub fn size_text(bytes: u64) -> String {
    let unit = BINARY_UNITS
        .iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match unit {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use bytesize::ByteSize;

    use super::*;

    #[test]
    fn units_are_exact_and_are_those_of_the_reference() {
        for text in [
            "90d",
            "2d",
            "24h",
            "36h",
            "3h",
            "1h 30m",
            "5m",
            "30s",
            "1m 30s",
            "250ms",
            "0s",
            "25h 1s 5ms",
        ] {
            let time = humantime::parse_duration(text).unwrap();
            assert_eq!(duration_text(time), text);
        }
        for text in ["4MiB", "64KiB", "1GiB", "1536KiB", "1000", "1PiB", "0"] {
            let bytes = text.parse::<ByteSize>().unwrap().as_u64();
            assert_eq!(size_text(bytes), text);
        }
    }
}
