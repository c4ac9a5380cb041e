//! The line numbers of keys in the configuration file.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

/// The maximum depth of indexed keys.
const MAX_KEY_DEPTH: usize = 4;

/// Line numbers by key path. The items of a list have their numbers, from 1, as keys.
#[derive(Clone, Debug, Default)]
pub struct LineIndex(BTreeMap<Vec<String>, usize>);

impl LineIndex {
    pub(super) fn of(document: &DeTable<'_>, text: &str) -> Self {
        let mut lines = Self::default();
        lines.walk(document, &[], text);
        lines
    }

    /// The line of a key path, or of its longest prefix that is indexed.
    pub fn near(&self, keys: &[&str]) -> Option<usize> {
        let all = (1..=keys.len()).rev();
        all.map(|length| &keys[..length])
            .find_map(|keys| self.at(keys))
    }

    pub fn at(&self, keys: &[&str]) -> Option<usize> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        self.0.get(&keys).copied()
    }

    fn walk(&mut self, table: &DeTable<'_>, above: &[String], text: &str) {
        for (key, value) in table {
            let mut keys = above.to_vec();
            keys.push(key.get_ref().to_string());
            self.0.insert(keys.clone(), line(text, key.span().start));
            if keys.len() == MAX_KEY_DEPTH {
                continue;
            }
            match value.get_ref() {
                DeValue::Table(table) => self.walk(table, &keys, text),
                DeValue::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        let mut keys = keys.clone();
                        keys.push((index + 1).to_string());
                        let first = item
                            .get_ref()
                            .as_table()
                            .and_then(|table| table.keys().map(|key| key.span().start).min());
                        let start = first.unwrap_or_else(|| item.span().start);
                        self.0.insert(keys, line(text, start));
                    }
                }
                _ => {}
            }
        }
    }
}

fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.split(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_rules_have_their_lines() {
        let text = "# one\n[servers.a]\ncommand = \"x\"\n\n[[policy]]\nmatch = \"a\"\n[[policy]]\nmatch = \"b\"\naction = \"deny\"\n\
             [agents.s]\nlimits = { wall = \"5s\" }\npolicy = [\n  { match = \"c\", action = \"ask\" },\n]\n";
        let lines = LineIndex::of(DeTable::parse(text).unwrap().get_ref(), text);
        for (keys, line) in [
            (&["servers", "a"][..], Some(2)),
            (&["servers", "a", "command"], Some(3)),
            (&["policy", "2"], Some(8)),
            (&["agents", "s", "limits", "wall"], Some(11)),
            (&["agents", "s", "policy", "1"], Some(13)),
            (&["limits"], None),
        ] {
            assert_eq!(lines.at(keys), line, "{keys:?}");
        }
        assert_eq!(lines.near(&["servers", "a", "env", "X"]), Some(2));
        assert_eq!(lines.near(&["daemon"]), None);
    }
}
