//! `[approvals]`: how long a call waits for approval, and the data that is kept meanwhile.
//!
//! Invariant: an out-of-range value is reported with its range, and the default is used.

use std::time::Duration;

use super::setting_limits::SectionReader;
use mux_config::{ApprovalsEntry, ConfigProblem};

const MINUTE: Duration = Duration::from_mins(1);

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApprovalTerms {
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

impl Default for ApprovalTerms {
    fn default() -> Self {
        Self {
            wait: 4 * MINUTE,
            held: 256,
            held_per_run: 32,
            log: 4 << 20,
            keep: 24 * 60 * MINUTE,
            desktop: None,
        }
    }
}

impl ApprovalTerms {
    pub(super) fn resolve(entry: &ApprovalsEntry, problems: &mut Vec<ConfigProblem>) -> Self {
        let mut this = Self::default();
        let mut read = SectionReader {
            what: "approvals".into(),
            keys: vec!["approvals"],
            otherwise: "the default is used",
            problems,
        };
        let second = Duration::from_secs(1);
        read.time(&entry.wait, "wait", second..=60 * MINUTE, &mut this.wait);
        let month = 30 * 24 * 60 * MINUTE;
        read.time(&entry.keep, "keep", MINUTE..=month, &mut this.keep);
        read.number(entry.held, "held", 1..=10_000, &mut this.held);
        read.number(
            entry.held_per_run,
            "held_per_run",
            1..=256,
            &mut this.held_per_run,
        );
        read.size(&entry.log, "log", 64 << 10..=32 << 20, &mut this.log);
        this.desktop = entry.desktop;
        this
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
            let mut problems = config.problems;
            (
                ApprovalTerms::resolve(&config.approvals, &mut problems),
                problems,
            )
        };
        let (terms, problems) =
            resolved("wait = \"90s\"\nheld = 3\nlog = \"1MiB\"\ndesktop = false");
        assert_eq!(problems, []);
        assert_eq!(
            (terms.wait, terms.held, terms.log),
            (Duration::from_secs(90), 3, 1 << 20)
        );
        assert_eq!(terms.desktop, Some(false));
        for (text, part) in [
            (
                "wait = \"2h\"",
                "approvals.wait = 2h is not between 1s and 1h",
            ),
            ("held = 0", "approvals.held = 0 is not between 1 and 10000"),
            ("keep = \"soon\"", "approvals.keep"),
            ("log = \"1GiB\"", "approvals.log"),
        ] {
            let (terms, problems) = resolved(text);
            assert!(
                problems.len() == 1 && problems[0].message.contains(part),
                "{problems:?}"
            );
            assert_eq!(terms, ApprovalTerms::default());
        }
    }
}
