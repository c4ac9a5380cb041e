//! Who may call what. Asked in one place, [`crate::gateway`], for every call on every path.

use wildmatch::WildMatch;

use crate::config::PolicyEntry;

/// Rules in order; the first that matches the canonical path decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    pattern: String,
    action: Action,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Action {
    Allow,
    Ask,
    Deny,
}

/// What the rules say of one call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Decision {
    Allow,
    /// Somebody would have to be asked, and nobody can be in this version.
    Ask {
        rule: String,
    },
    Deny {
        rule: String,
    },
}

impl Policy {
    /// A rule that cannot be understood denies what it matches: a slip must not open a door.
    pub fn new(entries: &[PolicyEntry], problems: &mut Vec<String>) -> Self {
        let rules = entries
            .iter()
            .map(|entry| {
                let action = match entry.action.as_str() {
                    "allow" => Action::Allow,
                    "ask" => Action::Ask,
                    "deny" => Action::Deny,
                    other => {
                        problems.push(format!(
                            "policy for {:?}: action {other:?} is none of allow, ask, deny; denied",
                            entry.pattern
                        ));
                        Action::Deny
                    }
                };
                Rule {
                    pattern: entry.pattern.clone(),
                    action,
                }
            })
            .collect();
        Self { rules }
    }

    /// `path` is `server.tool` with the tool as its server spells it.
    pub fn decide(&self, path: &str) -> Decision {
        match self.rules.iter().find(|rule| glob(&rule.pattern, path)) {
            None
            | Some(Rule {
                action: Action::Allow,
                ..
            }) => Decision::Allow,
            Some(Rule {
                action: Action::Ask,
                pattern,
            }) => Decision::Ask {
                rule: pattern.clone(),
            },
            Some(Rule {
                action: Action::Deny,
                pattern,
            }) => Decision::Deny {
                rule: pattern.clone(),
            },
        }
    }
}

/// `*` stands for any characters, `?` for one; everything else for itself.
pub fn glob(pattern: &str, text: &str) -> bool {
    WildMatch::new(pattern).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_paths() {
        for (pattern, text, expected) in [
            ("github.delete_*", "github.delete_repo", true),
            ("github.delete_*", "github.list", false),
            ("*", "a.b", true),
            ("*.read?", "a.read1", true),
            ("a.*.c*d", "a.x.y.c.d", true),
            ("a.b", "a.bc", false),
            ("", "", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn the_first_match_wins_and_a_slip_denies() {
        let rule = |pattern: &str, action: &str| PolicyEntry {
            pattern: pattern.into(),
            action: action.into(),
        };
        let mut problems = Vec::new();
        let policy = Policy::new(
            &[
                rule("a.read", "allow"),
                rule("a.*", "deny"),
                rule("b.*", "dney"),
            ],
            &mut problems,
        );
        assert_eq!(policy.decide("a.read"), Decision::Allow);
        assert_eq!(
            policy.decide("a.write"),
            Decision::Deny { rule: "a.*".into() }
        );
        assert_eq!(policy.decide("b.x"), Decision::Deny { rule: "b.*".into() });
        assert_eq!(policy.decide("c.x"), Decision::Allow);
        assert_eq!(problems.len(), 1);
    }
}
