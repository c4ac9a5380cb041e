//! `[audit]`: whether calls and decisions are logged, and how much of the log is kept.

use std::{str::FromStr, time::Duration};

use bytesize::ByteSize;

use super::parse_setting_duration;
use mux_config::{AuditEntry, ConfigProblem, SizeEntry};

/// The minimum retention: with a shorter one the log would lose recent calls.
const MIN_RETENTION: Duration = Duration::from_hours(1);
const MIN_LOG_BYTES: u64 = 1 << 20;
const MAX_LOG_BYTES: u64 = 1 << 40;

/// How much of the audit log is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AuditRetention {
    /// The maximum age of a line.
    pub keep: Duration,
    /// The maximum size of all files, in bytes.
    pub size: u64,
}

impl Default for AuditRetention {
    fn default() -> Self {
        Self {
            keep: Duration::from_hours(90 * 24),
            size: 64 << 20,
        }
    }
}

/// Invalid values keep the default, and the log stays on.
pub(super) fn resolve(
    entry: &AuditEntry,
    problems: &mut Vec<ConfigProblem>,
) -> (bool, AuditRetention) {
    let mut terms = AuditRetention::default();
    let mut wrong = |key: &str, problem: String| {
        let message = format!("{problem}; the default is used");
        problems.push(ConfigProblem::at(&["audit", key], message));
    };
    if let Some(text) = &entry.keep {
        match parse_setting_duration(text, "audit.keep") {
            Ok(keep) if keep >= MIN_RETENTION => terms.keep = keep,
            Ok(_) => wrong("keep", format!("audit.keep = {text:?} is less than 1h")),
            Err(problem) => wrong("keep", problem),
        }
    }
    let size = entry.size.as_ref().map(|size| match size {
        SizeEntry::Bytes(bytes) => Ok(*bytes),
        SizeEntry::Text(text) => match ByteSize::from_str(text) {
            Ok(size) => Ok(size.as_u64()),
            Err(_) => Err(format!(
                "audit.size = {text:?} is not a size such as \"64MiB\""
            )),
        },
    });
    match size {
        None => {}
        Some(Ok(bytes)) if (MIN_LOG_BYTES..=MAX_LOG_BYTES).contains(&bytes) => terms.size = bytes,
        Some(Ok(_)) => wrong("size", "audit.size is not between 1MiB and 1TiB".into()),
        Some(Err(problem)) => wrong("size", problem),
    }
    (entry.enabled.unwrap_or(true), terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    fn resolved(text: &str) -> (bool, AuditRetention, Vec<ConfigProblem>) {
        let config = Config::parse(text, "c").unwrap();
        let mut problems = Vec::new();
        let (enabled, terms) = resolve(&config.audit, &mut problems);
        (enabled, terms, problems)
    }

    #[test]
    fn invalid_values_leave_the_default() {
        let (enabled, terms, problems) =
            resolved("[audit]\nenabled = false\nkeep = \"7d\"\nsize = \"8MiB\"");
        let week = Duration::from_hours(7 * 24);
        let size = 8 << 20;
        assert_eq!((enabled, terms.keep, terms.size), (false, week, size));
        assert_eq!(problems, []);
        for (text, part) in [
            ("keep = \"1m\"", "less than 1h"),
            ("keep = \"long\"", "audit.keep"),
            ("size = 7", "1MiB"),
            ("size = \"big\"", "64MiB"),
        ] {
            let (enabled, terms, problems) = resolved(&format!("[audit]\n{text}"));
            assert_eq!((enabled, terms), (true, AuditRetention::default()));
            assert!(problems[0].message.contains(part), "{problems:?}");
        }
    }
}
