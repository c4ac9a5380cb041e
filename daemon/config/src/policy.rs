//! `[[policy]]`, as the user wrote it.
//!
//! Invariant: reading a rule never fails. A rule with errors keeps its valid parts and the errors. It can then deny
//! the calls that it was meant for.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::{Table, Value};

use super::{
    schema::{ANNOTATION_KEYS, RULE_KEYS},
    unknown_key_message,
};

/// A `[[policy]]` rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyEntry {
    /// Globs of paths. Empty if not given.
    pub paths: Vec<String>,
    /// `allow`, `ask` or `deny`.
    pub action: String,
    /// Globs of servers, or `None` if the rule has no such condition.
    pub servers: Option<Vec<String>>,
    pub agents: Option<Vec<String>>,
    pub clients: Option<Vec<String>>,
    /// Globs of directories.
    pub workspaces: Option<Vec<String>>,
    pub annotations: AnnotationsEntry,
    /// HTTP methods.
    pub verbs: Option<Vec<String>>,
    /// Paths in the arguments, each with its condition.
    pub arguments: Vec<(String, Value)>,
    pub reason: Option<String>,
    /// The errors in the rule, as messages.
    pub mistakes: Vec<String>,
}

/// `annotations = { … }` of a rule, which names the annotations that a tool must have, and of an override.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct AnnotationsEntry {
    /// The tool only reads.
    pub read_only: Option<bool>,
    /// The tool may delete or overwrite.
    pub destructive: Option<bool>,
    /// A second call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// The tool reaches systems beyond the server.
    pub open_world: Option<bool>,
}

impl PolicyEntry {
    /// Reads a list of rules. A value that is not a list becomes one rule with an error.
    pub(super) fn read_rules(value: Value) -> Vec<Self> {
        match value {
            Value::Array(entries) => entries.into_iter().map(Self::read_rule).collect(),
            _ => vec![Self::unreadable_rule("a policy is a list of rules")],
        }
    }

    fn read_rule(value: Value) -> Self {
        let Value::Table(table) = value else {
            return Self::unreadable_rule("a rule is a table with `match` and `action`");
        };
        let mut entry = Self::default();
        for (key, value) in table {
            entry.read_rule_key(&key, value);
        }
        if entry.action.is_empty() && entry.mistakes.is_empty() {
            entry.mistakes.push("`action` is missing".into());
        }
        entry
    }

    /// The globs of the paths that the rule applies to.
    pub fn path_globs(&self) -> Vec<String> {
        if self.paths.is_empty() {
            vec!["*".into()]
        } else {
            self.paths.clone()
        }
    }

    fn read_rule_key(&mut self, key: &str, value: Value) {
        match key {
            "match" => self.paths = self.texts(key, value).unwrap_or_default(),
            "action" => self.action = self.text(key, value).unwrap_or_default(),
            "server" => self.servers = self.texts(key, value),
            "agent" => self.agents = self.texts(key, value),
            "client" => self.clients = self.texts(key, value),
            "workspace" => self.workspaces = self.texts(key, value),
            "verb" => self.verbs = self.texts(key, value),
            "reason" => self.reason = self.text(key, value),
            "annotations" => {
                for (name, value) in self.table(key, value) {
                    self.read_annotation(&name, &value);
                }
            }
            "arguments" => self.arguments = self.table(key, value).into_iter().collect(),
            unknown => self.mistakes.push(unknown_key_message(unknown, &RULE_KEYS)),
        }
    }

    fn read_annotation(&mut self, name: &str, value: &Value) {
        let hints = &mut self.annotations;
        let place = match name {
            "read_only" => &mut hints.read_only,
            "destructive" => &mut hints.destructive,
            "idempotent" => &mut hints.idempotent,
            "open_world" => &mut hints.open_world,
            unknown => {
                let unknown = format!(
                    "annotations.{}",
                    unknown_key_message(unknown, &ANNOTATION_KEYS)
                );
                return self.mistakes.push(unknown);
            }
        };
        *place = value.as_bool();
        if place.is_none() {
            let wrong = format!("`annotations.{name}` must be true or false");
            self.mistakes.push(wrong);
        }
    }

    fn text(&mut self, key: &str, value: Value) -> Option<String> {
        if let Value::String(text) = value {
            Some(text)
        } else {
            self.mistakes.push(format!("`{key}` must be a string"));
            None
        }
    }

    /// Reads a string or a list of strings.
    fn texts(&mut self, key: &str, value: Value) -> Option<Vec<String>> {
        let texts: Option<Vec<String>> = match value {
            Value::String(text) => Some(vec![text]),
            Value::Array(items) => {
                let items = items.into_iter().map(|item| match item {
                    Value::String(text) => Some(text),
                    _ => None,
                });
                items.collect()
            }
            _ => None,
        };
        let texts = texts.filter(|texts| !texts.is_empty());
        if texts.is_none() {
            let wrong = format!("`{key}` must be a string or a list of strings");
            self.mistakes.push(wrong);
        }
        texts
    }

    fn table(&mut self, key: &str, value: Value) -> Table {
        if let Value::Table(table) = value {
            table
        } else {
            self.mistakes.push(format!("`{key}` must be a table"));
            Table::new()
        }
    }

    fn unreadable_rule(what: &str) -> Self {
        Self {
            mistakes: vec![what.to_owned()],
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn rules(text: &str) -> Vec<PolicyEntry> {
        Config::parse(text, "c").unwrap().policy
    }

    #[test]
    fn rule_is_read_with_all_its_conditions() {
        let rules = rules(
            "[[policy]]\nmatch = [\"a.*\", \"b.x\"]\naction = \"ask\"\nserver = \"a\"\nagent = [\"one\", \"two\"]\n\
             client = \"c*\"\nworkspace = \"~/work\"\nverb = \"DELETE\"\nreason = \"it costs\"\n\
             annotations = { destructive = true, read_only = false }\n\
             arguments = { path = \"/etc/*\", \"body.amount\" = { over = 3 } }\n",
        );
        let [rule] = &rules[..] else { panic!() };
        assert_eq!(rule.mistakes, Vec::<String>::new());
        assert_eq!(rule.paths, ["a.*", "b.x"]);
        assert_eq!(rule.agents.as_deref().unwrap(), ["one", "two"]);
        assert_eq!(rule.annotations.destructive, Some(true));
        assert_eq!(rule.annotations.read_only, Some(false));
        let places: Vec<_> = rule.arguments.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(places, ["path", "body.amount"]);
    }

    #[test]
    fn rule_with_a_mistake_keeps_its_valid_parts() {
        for (rule, expected) in [
            ("mach = \"a.*\"\naction = \"deny\"", "did you mean `match`"),
            ("match = \"a.*\"", "`action` is missing"),
            ("match = 3\naction = \"deny\"", "`match` must be a string"),
            ("match = []\naction = \"deny\"", "`match` must be a string"),
            (
                "match = \"a.*\"\naction = \"deny\"\nannotations = { destructiv = true }",
                "did you mean `destructive`",
            ),
            (
                "match = \"a.*\"\naction = \"deny\"\nannotations = { destructive = \"yes\" }",
                "true or false",
            ),
            (
                "match = \"a.*\"\naction = \"deny\"\narguments = \"x\"",
                "`arguments` must be a table",
            ),
        ] {
            let rules = rules(&format!("[[policy]]\n{rule}\n"));
            let mistakes = rules[0].mistakes.join("; ");
            assert!(mistakes.contains(expected), "{rule}: {mistakes}");
        }
        let kept = rules("[[policy]]\nmatch = \"a.*\"\naction = \"allow\"\nserver = 3\n");
        assert_eq!(kept[0].paths, ["a.*"]);
        let of_agent = Config::parse("[agents.a]\npolicy = \"deny\"\n", "c").unwrap();
        let rules = of_agent.agents["a"].policy.as_ref().unwrap();
        assert_eq!(rules.len(), 1);
        assert!(!rules[0].mistakes.is_empty());
    }
}
