//! `[approvals]`: how long a call waits for approval, and the data that is kept meanwhile.

use std::time::Duration;

use mux_config::ApprovalsEntry;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApprovalSettings {
    /// How long a call is held for an answer before it fails.
    pub wait: Duration,
    /// The maximum number of calls that are held at the same time.
    pub held: usize,
    pub held_per_run: usize,
    /// The maximum size of a run's call log, which is needed to resume the run.
    pub log: usize,
    /// How long an unanswered call and its run are kept.
    pub keep: Duration,
    /// Whether desktop notifications are shown. `None` shows them if a desktop is detected.
    pub desktop: Option<bool>,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self::of(&ApprovalsEntry::default())
    }
}

impl ApprovalSettings {
    pub(super) fn of(entry: &ApprovalsEntry) -> Self {
        Self {
            wait: entry.wait.0,
            held: entry.held.as_usize(),
            held_per_run: entry.held_per_run.as_usize(),
            log: entry.log.as_usize(),
            keep: entry.keep.0,
            desktop: entry.desktop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    #[test]
    fn out_of_range_value_is_reported_and_default_is_used() {
        let resolved = |text: &str| {
            let config = Config::parse(&format!("[approvals]\n{text}"), "config.toml").unwrap();
            (ApprovalSettings::of(&config.approvals), config.problems)
        };
        let (settings, problems) =
            resolved("wait = \"90s\"\nheld = 3\nlog = \"1MiB\"\ndesktop = false");
        assert_eq!(problems, []);
        assert_eq!(
            (settings.wait, settings.held, settings.log),
            (Duration::from_secs(90), 3, 1 << 20)
        );
        assert_eq!(settings.desktop, Some(false));
        for (text, part) in [
            (
                "wait = \"2h\"",
                "approvals.wait = 2h is not between 1s and 1h",
            ),
            ("held = 0", "approvals.held = 0 is not between 1 and 10000"),
            ("keep = \"soon\"", "approvals.keep"),
            ("log = \"1GiB\"", "approvals.log"),
        ] {
            let (settings, problems) = resolved(text);
            assert!(
                problems.len() == 1 && problems[0].message.contains(part),
                "{problems:?}"
            );
            assert_eq!(settings, ApprovalSettings::default());
        }
    }
}
