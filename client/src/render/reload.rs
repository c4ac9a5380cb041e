//! The output of `mux reload`: the changes, one line for each section of the configuration.

use super::terminal::report;
use mux_proto::{ReloadReport, SectionChange};

use super::{
    human_units::{age_text, count_text},
    style::one_line,
    warn,
};

/// More rules than this are only counted.
const MAX_SHOWN_RULES: usize = 3;
const MAX_RULE_CHARS: usize = 100;

pub(crate) fn reloaded(report: &ReloadReport) {
    for line in report_lines(report) {
        report!("{line}");
    }
    for problem in &report.problems {
        warn(problem);
    }
}

fn report_lines(report: &ReloadReport) -> Vec<String> {
    let mut lines = change_lines(report);
    let configured = report.unchanged.len();
    let changed_servers = [&report.added, &report.changed, &report.removed];
    if lines.is_empty() {
        lines.push(match configured {
            0 => "nothing changed; no server is configured".into(),
            count => format!("nothing changed ({})", count_text(count, "server")),
        });
    } else if configured > 0 && changed_servers.iter().all(|names| names.is_empty()) {
        lines.push("servers: nothing changed".into());
    }
    if let Some(earlier) = &report.earlier {
        let age = match earlier.age_ms {
            0..1_000 => "just now".to_owned(),
            age => age_text(age),
        };
        let changes = change_lines(&earlier.report).join("; ");
        lines.push(format!("already active (loaded {age}): {changes}"));
    }
    lines
}

/// The changes: servers, sources, then the other sections.
fn change_lines(report: &ReloadReport) -> Vec<String> {
    let is_source = |name: &String| report.sources.contains(name);
    let of = |names: &[String], source: bool| -> Vec<String> {
        let names = names.iter().filter(|name| is_source(name) == source);
        names.map(|name| with_reasons(report, name)).collect()
    };
    let entries = [("servers", false), ("sources", true)].map(|(section, source)| SectionChange {
        section: section.to_owned(),
        added: of(&report.added, source),
        removed: of(&report.removed, source),
        changed: of(&report.changed, source),
    });
    let sections = entries.iter().chain(&report.sections);
    sections.filter_map(section_line).collect()
}

fn with_reasons(report: &ReloadReport, name: &str) -> String {
    match report.reasons.get(name) {
        Some(keys) => format!("{name} ({})", keys.join(", ")),
        None => name.to_owned(),
    }
}

/// `None` if the section has not changed.
fn section_line(change: &SectionChange) -> Option<String> {
    let parts = [
        ("added", &change.added),
        ("changed", &change.changed),
        ("removed", &change.removed),
    ];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(what, names)| match (change.section.as_str(), what) {
            ("policy", "added" | "removed") => rules_text(names, what),
            _ => format!("{} {what}", names.join(", ")),
        })
        .collect();
    (!parts.is_empty()).then(|| format!("{}: {}", change.section, parts.join("; ")))
}

fn rules_text(rules: &[String], what: &str) -> String {
    let count = count_text(rules.len(), "rule");
    if rules.len() > MAX_SHOWN_RULES {
        return format!("{count} {what}");
    }
    let shown: Vec<String> = rules
        .iter()
        .map(|rule| one_line(rule, MAX_RULE_CHARS))
        .collect();
    format!("{count} {what} ({})", shown.join("; "))
}

#[cfg(test)]
mod tests {
    use mux_proto::EarlierLoad;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn policy_report() -> ReloadReport {
        ReloadReport {
            unchanged: names(&["a", "b"]),
            sections: vec![SectionChange {
                section: "policy".into(),
                added: names(&["deny fix.echo"]),
                ..SectionChange::default()
            }],
            ..ReloadReport::default()
        }
    }

    #[test]
    fn each_section_that_changed_has_a_line() {
        assert_eq!(
            report_lines(&policy_report()),
            [
                "policy: 1 rule added (deny fix.echo)",
                "servers: nothing changed"
            ]
        );
        let report = ReloadReport {
            added: names(&["new", "shop"]),
            removed: names(&["old"]),
            changed: names(&["fix"]),
            reasons: [("fix".to_owned(), names(&["args", "env.T"]))].into(),
            sources: names(&["shop"]),
            sections: vec![
                SectionChange {
                    section: "policy".into(),
                    removed: names(&["deny a.*", "deny b.*", "deny c.*", "deny d.*"]),
                    ..SectionChange::default()
                },
                SectionChange {
                    section: "limits".into(),
                    changed: names(&["wall", "heap"]),
                    ..SectionChange::default()
                },
            ],
            ..ReloadReport::default()
        };
        assert_eq!(
            report_lines(&report),
            [
                "servers: new added; fix (args, env.T) changed; old removed",
                "sources: shop added",
                "policy: 4 rules removed",
                "limits: wall, heap changed",
            ]
        );
    }

    #[test]
    fn changes_that_are_already_active_are_told_apart() {
        let nothing = |unchanged: &[&str]| ReloadReport {
            unchanged: names(unchanged),
            ..ReloadReport::default()
        };
        assert_eq!(
            report_lines(&nothing(&[])),
            ["nothing changed; no server is configured"]
        );
        let report = ReloadReport {
            earlier: Some(Box::new(EarlierLoad {
                age_ms: 12_000,
                report: policy_report(),
            })),
            ..nothing(&["a"])
        };
        assert_eq!(
            report_lines(&report),
            [
                "nothing changed (1 server)",
                "already active (loaded 12s ago): policy: 1 rule added (deny fix.echo)"
            ]
        );
    }
}
