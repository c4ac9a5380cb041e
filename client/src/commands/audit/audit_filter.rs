//! Filters audit log entries by the options of `mux audit`. Pure.

use std::time::{Duration, UNIX_EPOCH};

use mux_typegen::names::{display_path, spell};
use serde_json::Value;
use wildmatch::WildMatch;

use crate::{args, log_line::matches_run};

/// The value of `--outcome` for all calls that did not succeed.
const FAILED_OUTCOME: &str = "failed";

impl args::AuditArgs {
    /// Returns true if an entry written before `before`, in milliseconds since 1970, can match.
    pub(super) fn may_match_before(&self, before: u64) -> bool {
        let before = UNIX_EPOCH + Duration::from_millis(before);
        self.since.is_none_or(|since| since <= before)
    }

    /// Parses a line: `None` if it is invalid, `Some(None)` if it does not match.
    #[expect(clippy::option_option, reason = "invalid, not wanted, or wanted")]
    pub(super) fn parse_match(&self, line: &str) -> Option<Option<Value>> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let at = entry["at"].as_str()?;
        let at = humantime::parse_rfc3339(at).ok()?;
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        let outcome = text("outcome");
        let is = |wanted: &Option<String>, fits: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(fits)
        };
        let wanted = self.since.is_none_or(|since| since <= at)
            && is(&self.tool, &|glob| {
                let path = text("path");
                let fits = |path: &str| glob_matches(glob, path);
                !path.is_empty() && (fits(path) || fits(&display_path(path)))
            })
            && is(&self.server, &|server| {
                let path = text("path");
                let of_path = path.split_once('.').map_or(path, |(of_path, _)| of_path);
                of_path == server
                    || spell(of_path) == spell(server)
                    || names_word(text("subject"), server)
            })
            && is(&self.agent, &|agent| agent == text("agent"))
            && is(&self.run, &|run| matches_run(text("run"), run))
            && is(&self.outcome, &|kind| match kind {
                FAILED_OUTCOME => !outcome.is_empty() && outcome != "ok",
                kind => outcome == kind,
            });
        Some(wanted.then_some(entry))
    }
}

/// True if one of the words of a subject, such as `added files, git`, is this name.
fn names_word(subject: &str, name: &str) -> bool {
    let mut words = subject.split([' ', ',', ';']);
    words.any(|word| word == name)
}

/// Matches globs as policy rules do: `*` is any text, `?` is one character.
fn glob_matches(glob: &str, text: &str) -> bool {
    WildMatch::new(glob).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_policy_rules() {
        for (glob, text, fit) in [
            ("*", "a.b", true),
            ("github.*", "github.delete_repo", true),
            ("github.*", "git.log", false),
            ("*.delete_*", "github.delete_repo", true),
            ("*a*b", "xxaxbxb", true),
            ("a.?", "a.b", true),
            ("a.?", "a.bc", false),
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("", "a", false),
        ] {
            assert_eq!(glob_matches(glob, text), fit, "{glob} {text}");
        }
    }

    #[test]
    fn entries_are_filtered_by_their_fields() {
        let line = r#"{"at":"2026-11-22T01:00:00.000Z","kind":"call","path":"a.b","agent":"s","run":"f-12","outcome":"denied"}"#;
        let deed = r#"{"at":"2026-11-22T01:00:00.000Z","kind":"login","subject":"a"}"#;
        let audit = args::AuditArgs::default;
        let of = |name: &str, text: &str| {
            let value = Some(text.to_owned());
            match name {
                "since" => args::AuditArgs {
                    since: humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok(),
                    ..audit()
                },
                "tool" => args::AuditArgs {
                    tool: value,
                    ..audit()
                },
                "agent" => args::AuditArgs {
                    agent: value,
                    ..audit()
                },
                "run" => args::AuditArgs {
                    run: value,
                    ..audit()
                },
                _ => args::AuditArgs {
                    outcome: value,
                    ..audit()
                },
            }
        };
        for (name, value, is_wanted) in [
            ("since", "2026-11-22", true),
            ("since", "2026-11-23", false),
            ("tool", "a.*", true),
            ("tool", "b.*", false),
            ("agent", "s", true),
            ("agent", "t", false),
            ("run", "12", true),
            ("run", "f-12", true),
            ("run", "2", false),
            ("outcome", "denied", true),
            ("outcome", "failed", true),
            ("outcome", "ok", false),
        ] {
            let wanted = of(name, value);
            assert_eq!(
                wanted.parse_match(line).unwrap().is_some(),
                is_wanted,
                "{name} {value}"
            );
            assert_eq!(
                wanted.parse_match(deed).unwrap().is_some(),
                value == "2026-11-22"
            );
        }
        // Both spellings of a tool are found.
        let called = line.replace("a.b", "my-server.get-it");
        for (glob, is_wanted) in [
            ("my-server.get-it", true),
            ("my_server.get_*", true),
            ("my_server.get-it", false),
        ] {
            let wanted = of("tool", glob);
            assert_eq!(
                wanted.parse_match(&called).unwrap().is_some(),
                is_wanted,
                "{glob}"
            );
        }
        let all = audit();
        assert!(all.parse_match(deed).unwrap().is_some());
        for torn in ["", "{\"at\":\"2026", "[]", "{\"at\":\"now\"}"] {
            assert!(all.parse_match(torn).is_none(), "{torn}");
        }
    }
}
