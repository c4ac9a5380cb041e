//! `[audit]`: how much of the log of calls and decisions is kept.

use std::time::Duration;

use mux_config::AuditEntry;

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
        Self::of(&AuditEntry::default())
    }
}

impl AuditRetention {
    pub(super) fn of(entry: &AuditEntry) -> Self {
        Self {
            keep: entry.keep.0,
            size: entry.size.0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Settings;
    use mux_config::{Config, ConfigProblem, environment::Environment};

    fn resolved(text: &str) -> (bool, AuditRetention, Vec<ConfigProblem>) {
        let config = Config::parse(text, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        let (enabled, retention) = settings.audit;
        (enabled, retention, settings.problems)
    }

    #[test]
    fn invalid_values_leave_the_default() {
        let (enabled, retention, problems) =
            resolved("[audit]\nenabled = false\nkeep = \"7d\"\nsize = \"8MiB\"");
        let week = Duration::from_hours(7 * 24);
        let size = 8 << 20;
        assert_eq!(
            (enabled, retention.keep, retention.size),
            (false, week, size)
        );
        assert_eq!(problems, []);
        for (text, part) in [
            ("keep = \"1m\"", "less than 1h"),
            ("keep = \"long\"", "audit.keep"),
            ("size = 7", "1MiB"),
            ("size = \"big\"", "64MiB"),
        ] {
            let (enabled, retention, problems) = resolved(&format!("[audit]\n{text}"));
            assert_eq!((enabled, retention), (true, AuditRetention::default()));
            assert!(problems[0].message.contains(part), "{problems:?}");
        }
    }
}
