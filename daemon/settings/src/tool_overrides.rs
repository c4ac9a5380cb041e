//! `[servers.NAME.override.TOOL]`: changes to a server's tools for everyone who uses them through muxd.
//!
//! Invariant: an override with an error never means "no override". Its tool is not offered until the error is fixed,
//! because the override might be all that blocks an argument.

use std::collections::BTreeMap;

use mux_config::ToolOverrideEntry as ToolOverride;
use mux_typegen::names::spell;

/// The longest name that a tool can be given, in bytes.
const MAX_TOOL_NAME_BYTES: usize = 128;

/// The overrides of one server, by the names of its tools as written in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOverrides(BTreeMap<String, Result<ToolOverride, String>>);

impl ToolOverrides {
    pub(super) fn resolve(written: &BTreeMap<String, toml::Value>) -> Self {
        let read = |value| ToolOverride::read(value).and_then(checked);
        let entries = written.iter();
        let mut all: BTreeMap<_, _> = entries
            .map(|(tool, value)| (tool.clone(), read(value)))
            .collect();
        for (tool, mistake) in collisions(&all) {
            all.insert(tool, Err(mistake));
        }
        Self(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each override by the name of its tool, or its error.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Result<&ToolOverride, &str>)> {
        self.0.iter().map(|(tool, read)| {
            let read = read.as_ref().map_err(String::as_str);
            (tool.as_str(), read)
        })
    }

    /// The overrides that cannot be used, each with the reason.
    pub(super) fn mistakes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter()
            .filter_map(|(tool, read)| Some((tool, read.err()?)))
    }
}

/// Refuses an override that changes nothing or contradicts itself.
fn checked(entry: ToolOverride) -> Result<ToolOverride, String> {
    if entry == ToolOverride::default() {
        return Err(
            "it changes nothing: set name, description, annotations, defaults or fixed".into(),
        );
    }
    if let Some(name) = &entry.name
        && !is_tool_name(name)
    {
        return Err(format!(
            "name = {name:?} must be a letter or _, then letters, digits, _, - and ., at most {MAX_TOOL_NAME_BYTES}"
        ));
    }
    if let Some(both) = entry
        .fixed
        .keys()
        .find(|key| entry.defaults.contains_key(*key))
    {
        return Err(format!(
            "`{both}` is in `defaults` and in `fixed`: keep one of them"
        ));
    }
    Ok(entry)
}

fn is_tool_name(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && name.len() <= MAX_TOOL_NAME_BYTES
}

/// Overrides of one tool under two spellings, and overrides that give two tools the same name.
fn collisions(all: &BTreeMap<String, Result<ToolOverride, String>>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (tool, read) in all {
        let mut others = all.iter().filter(|(other, _)| *other != tool);
        if let Some((other, _)) = others
            .clone()
            .find(|(other, _)| spell(other) == spell(tool))
        {
            let mistake = format!("`{other}` overrides the same tool: keep one of them");
            found.push((tool.clone(), mistake));
            continue;
        }
        let name_of = |read: &Result<ToolOverride, String>| {
            let name = read.as_ref().ok().and_then(|read| read.name.clone());
            name.map(|name| spell(&name).into_owned())
        };
        let Some(name) = name_of(read) else { continue };
        if let Some((other, _)) = others.find(|(_, read)| name_of(read).as_ref() == Some(&name)) {
            let mistake = format!("`{other}` is given the same name: rename one of them");
            found.push((tool.clone(), mistake));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn overrides(text: &str) -> ToolOverrides {
        ToolOverrides::resolve(&toml::from_str(text).unwrap())
    }

    #[test]
    fn override_is_read_with_its_values_as_json() {
        let all = overrides(
            "[create_issue]\nname = \"new_issue\"\nannotations = { destructive = true }\n\
             defaults = { owner = \"acme\", labels = [\"a\", \"b\"], deep = { n = 1.5 } }\nfixed = { repo = \"site\" }\n",
        );
        let (tool, read) = all.iter().next().unwrap();
        let read = read.unwrap();
        assert_eq!(
            (tool, read.name.as_deref()),
            ("create_issue", Some("new_issue"))
        );
        assert_eq!(read.annotations.destructive, Some(true));
        assert_eq!(
            Value::Object(read.defaults.clone()),
            json!({ "owner": "acme", "labels": ["a", "b"], "deep": { "n": 1.5 } })
        );
        assert_eq!(Value::Object(read.fixed.clone()), json!({ "repo": "site" }));
    }

    #[test]
    fn mistakes_concern_one_override_and_name_the_fix() {
        for (text, mistake) in [
            ("x = 1", "must be a table"),
            ("x = {}", "changes nothing"),
            ("[x]\nnam = \"y\"", "did you mean `name`"),
            ("[x]\nname = 1", "string"),
            ("[x]\nname = \"two words\"", "must be a letter"),
            ("[x]\nannotations = { destroys = true }", "destroys"),
            ("[x]\ndefaults = { a = 1 }\nfixed = { a = 2 }", "keep one"),
            ("[x]\nfixed = { since = 2026-01-01 }", "fixed.since"),
            ("[x]\nfixed = { n = nan }", "fixed.n"),
            ("[x]\nname = \"same\"\n[y]\nname = \"same\"", "rename one"),
            ("[x-a]\nname = \"b\"\n[x_a]\nname = \"c\"", "keep one"),
        ] {
            let all = overrides(text);
            let found: Vec<_> = all.mistakes().collect();
            assert!(!found.is_empty(), "{text}");
            assert!(
                found.iter().all(|(_, why)| why.contains(mistake)),
                "{text}: {found:?}"
            );
        }
        let all = overrides("[bad]\n[good]\nname = \"better\"\n");
        assert_eq!(
            all.mistakes().map(|(tool, _)| tool).collect::<Vec<_>>(),
            ["bad"]
        );
    }
}
