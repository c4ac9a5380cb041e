//! The tools of one server, found by any of their names.
//!
//! Invariant: a [`ToolSet`] never changes. A server whose tools change gets a new set.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use mux_typegen::names::{SpellingCollision, find_collisions, is_path, spell};

use super::{
    InjectionSign, Tool, ToolDescription,
    injection_signs::signs_of_instructions,
    search::ForwardIndex,
    tool_drafts::ToolDrafts,
    tool_names::{self, ToolNames},
    tool_overrides::{self, OverrideMistake},
};
use mux_settings::{ExcludedTools, ToolOverrides};
use mux_text::did_you_mean::nearest_few;
use mux_text::{
    digest::{Digest, DigestKey},
    sanitize::readable_instructions,
};

/// The number of a group's tools that an error shows.
const MAX_GROUP_TOOLS_IN_ERROR: usize = 8;

/// The number of notes on schemas that a remark shows.
const MAX_SHOWN_NOTES: usize = 10;

/// The tools of one server.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Arc<Tool>>,
    names: ToolNames,
    /// Indices of the overridden tools, by the names that their server gives them.
    overridden: HashMap<String, usize>,
    /// The server's instructions, without invisible characters.
    instructions: Option<Arc<str>>,
    /// Signs in the instructions that may instruct a model beyond the tools.
    pub(super) instruction_signs: Vec<InjectionSign>,
    /// Warnings about ambiguous and duplicate tools, for the user.
    pub warnings: Vec<String>,
    /// The parts of schemas that are ignored or reinterpreted.
    schema_notes: Vec<String>,
    /// The digest of all tools, in their order.
    pub key: DigestKey,
    /// Set if any tool is in a group.
    pub has_groups: bool,
    /// The list that programs see, computed on first use.
    outline: OnceLock<Box<str>>,
    /// The words of the tools, read by the first search.
    pub(super) search_index: OnceLock<ForwardIndex>,
}

impl ToolSet {
    /// `exclude` holds globs of tool names in any form, the server's or an override's.
    pub fn new(
        server: &str,
        described: Vec<ToolDescription>,
        exclude: &[String],
        overrides: &ToolOverrides,
    ) -> Self {
        let mut described = described;
        let exclude = ExcludedTools::new(exclude);
        described.retain(|tool| !exclude.contains(&tool.name));
        let (described, mistakes) = tool_overrides::apply(described, overrides);
        let mut set = Self {
            warnings: mistakes
                .iter()
                .map(|mistake| mistake.warning(server))
                .collect(),
            ..Self::default()
        };
        let server: Arc<str> = server.into();
        let mut known = HashSet::new();
        let mut drafts = ToolDrafts::default();
        for description in described {
            if description.overridden.is_some() && exclude.contains(&description.name) {
                continue;
            }
            if !known.insert(description.name.clone()) {
                set.warnings.push(format!(
                    "{server} offers `{}` twice; the first one counts",
                    description.name
                ));
                continue;
            }
            drafts.add(&server, description);
        }
        if drafts.is_over_search_limit() {
            set.warnings.push(format!(
                "{server} describes its tools in more text than is searched for instructions to a model"
            ));
        }
        set.schema_notes = drafts.take_schema_notes();
        set.tools = drafts.finish(&server);
        set.finish(&server);
        set
    }

    /// The overrides that cannot be applied to these tools. Parameters as in [`Self::new`].
    pub fn override_mistakes(
        mut described: Vec<ToolDescription>,
        exclude: &[String],
        overrides: &ToolOverrides,
    ) -> Vec<OverrideMistake> {
        let exclude = ExcludedTools::new(exclude);
        described.retain(|tool| !exclude.contains(&tool.name));
        tool_overrides::apply(described, overrides).1
    }

    /// Adds the server's instructions.
    #[must_use]
    pub fn saying(mut self, instructions: Option<&str>) -> Self {
        let Some(text) = instructions else {
            return self;
        };
        self.instructions = readable_instructions(text);
        match signs_of_instructions(text) {
            Some(signs) => self.instruction_signs = signs,
            None => self.warnings.push(
                "its instructions are longer than what is searched for instructions to a model"
                    .into(),
            ),
        }
        self
    }

    /// The parts of schemas that are not checked or were reinterpreted, with the tools' names, or a few of them if
    /// there are many.
    pub(super) fn schema_remark(&self) -> Option<String> {
        let mut notes = self.schema_notes.clone();
        for note in self.tools.iter().flat_map(|tool| tool.unchecked_parts()) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        if notes.is_empty() {
            return None;
        }
        let shown = notes.len().min(MAX_SHOWN_NOTES);
        let more = match notes.len() - shown {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Some(format!(
            "schemas that deviate from JSON Schema: {}{more}",
            notes[..shown].join("; ")
        ))
    }

    /// The server's instructions: its own words.
    pub fn instructions(&self) -> Option<&Arc<str>> {
        self.instructions.as_ref()
    }

    /// The first sentence of the instructions, on one line, unless they may instruct a model beyond the tools.
    pub fn purpose(&self, max_chars: usize) -> Option<String> {
        let text = self.instructions.as_deref()?;
        if !self.instruction_signs.is_empty() {
            return None;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let line = words.join(" ");
        let line = line.trim_start_matches(['#', '*', ' ']);
        let sentence = line.split_inclusive(". ").next()?.trim_end();
        (!sentence.is_empty()).then(|| sentence.chars().take(max_chars).collect())
    }

    /// The set without some tools, as if the server did not have them.
    pub(super) fn without(&self, hidden: impl Fn(&Tool) -> bool) -> Self {
        let kept = self.tools.iter().filter(|tool| !hidden(tool));
        let mut set = Self {
            tools: kept.cloned().collect(),
            instructions: self.instructions.clone(),
            instruction_signs: self.instruction_signs.clone(),
            ..Self::default()
        };
        let server = set.tools.first().map(|tool| Arc::clone(&tool.server));
        set.finish(server.as_deref().unwrap_or_default());
        set
    }

    fn finish(&mut self, server: &str) {
        let keys = self.tools.iter();
        self.key = keys
            .fold(Digest::new(), |digest, tool| digest.bytes(&tool.key))
            .key();
        let names = self.tools.iter().map(|tool| {
            let shown = tool.shown_name();
            let shown = Some(shown).filter(|shown| *shown != tool.name);
            (tool.name.as_str(), shown)
        });
        let names: Vec<_> = names.collect();
        let collisions = self.collisions();
        let ambiguous = collisions.iter().map(|c| ambiguous(server, c));
        let ambiguous: Vec<String> = ambiguous.collect();
        let found = ToolNames::new(&names, &collisions);
        self.names = found;
        let all = self.tools.iter().enumerate();
        let overridden = all.filter(|(_, tool)| tool.overridden.is_some());
        self.overridden = overridden
            .map(|(index, tool)| (tool.server_name().to_owned(), index))
            .collect();
        self.has_groups = self.tools.iter().any(|tool| is_path(&tool.name));
        self.warnings.extend(ambiguous);
    }

    fn collisions(&self) -> Vec<SpellingCollision<'_>> {
        find_collisions(self.tools.iter().map(|tool| tool.name.as_str()))
    }

    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.names.find(name).map(|index| &self.tools[index])
    }

    /// The tool with exactly this server name, regardless of the user's name for it.
    pub fn find_by_server_name(&self, name: &str) -> Option<&Arc<Tool>> {
        let index = self.overridden.get(name).copied();
        let index = index.or_else(|| self.names.find(name))?;
        Some(&self.tools[index]).filter(|tool| tool.server_name() == name)
    }

    /// The tools whose names start with this one and a dot.
    pub fn in_group(&self, name: &str) -> Vec<&Arc<Tool>> {
        let group = spell(name);
        let begins = |tool: &&Arc<Tool>| {
            let spelled = self.spelled(tool);
            let rest = spelled.strip_prefix(&*group);
            is_path(&tool.name) && rest.is_some_and(|rest| rest.starts_with('.'))
        };
        self.tools.iter().filter(begins).collect()
    }

    /// The list that programs see, as JSON.
    pub fn outline(&self) -> &str {
        self.outline.get_or_init(|| {
            let names = self.tools.iter().map(|tool| tool.name.as_str());
            tool_names::outline(names, &self.collisions()).into()
        })
    }

    /// Our program name if it resolves to this tool, otherwise the exact name.
    pub fn spelled<'a>(&self, tool: &'a Tool) -> Cow<'a, str> {
        let spelled = spell(&tool.name);
        let found = self.find(&spelled);
        if found.is_some_and(|found| found.name == tool.name) {
            spelled
        } else {
            Cow::Borrowed(&tool.name)
        }
    }

    /// The name without invisible characters if it resolves to this tool, otherwise the exact name.
    pub fn shown(&self, tool: &Tool) -> String {
        let shown = tool.shown_name();
        let found = self.find(&shown);
        if found.is_some_and(|found| found.name == tool.name) {
            shown
        } else {
            tool.name.clone()
        }
    }

    /// The path as programs write it after `mux.`.
    pub fn path(&self, tool: &Tool) -> String {
        format!("{}.{}", spell(&tool.server), self.spelled(tool))
    }

    /// A tool's signature with the path by which programs reach it.
    pub fn with_path(&self, tool: &Tool, mut signature: String) -> String {
        if self.spelled(tool) == tool.name
            && let Some(start) = signature.find('(')
        {
            signature.replace_range(..start, &self.path(tool));
        }
        signature
    }

    /// The tool names most similar to `name`.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest_few(name, self.tools.iter().map(|tool| tool.name.as_str()), 3)
    }

    /// A hint with the tools that an unknown name may mean.
    pub fn instead_of(&self, name: &str) -> Option<String> {
        let signatures = |tools: &[&Arc<Tool>]| {
            let signatures = tools
                .iter()
                .map(|tool| self.with_path(tool, tool.signature().to_owned()));
            signatures.collect::<Vec<_>>().join("\n")
        };
        let mut group = self.in_group(name);
        if !group.is_empty() {
            let more = group.len().saturating_sub(MAX_GROUP_TOOLS_IN_ERROR);
            group.truncate(MAX_GROUP_TOOLS_IN_ERROR);
            let more = match more {
                0 => String::new(),
                more => format!("\nand {more} more"),
            };
            let shown = signatures(&group);
            return Some(format!(
                "it is a group of tools; call one of them\n{shown}{more}"
            ));
        }
        let near = self.nearest(name);
        let near: Vec<_> = near.iter().filter_map(|name| self.find(name)).collect();
        (!near.is_empty()).then(|| format!("did you mean\n{}", signatures(&near)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

fn ambiguous(server: &str, collision: &SpellingCollision<'_>) -> String {
    let names = collision.names.iter();
    let exact: Vec<String> = names
        .map(|name| format!("mux.{server}[{name:?}]"))
        .collect();
    format!(
        "`{}` is ambiguous in {server}; call {} by exact name",
        collision.spelling,
        exact.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(names: &[&str], exclude: &[&str]) -> ToolSet {
        let described = names
            .iter()
            .map(|name| ToolDescription {
                name: (*name).to_owned(),
                input_schema: json!({"type": "object"}).into(),
                ..ToolDescription::default()
            })
            .collect();
        let exclude: Vec<String> = exclude.iter().map(|p| (*p).to_owned()).collect();
        ToolSet::new("s", described, &exclude, &ToolOverrides::default())
    }

    #[test]
    fn tool_is_found_by_its_name_and_by_our_spelling() {
        let set = set(&["get-thing", "read"], &[]);
        assert_eq!(set.find("get-thing").unwrap().name, "get-thing");
        assert_eq!(set.find("get_thing").unwrap().name, "get-thing");
        assert!(set.find("getThing").is_none());
        assert_eq!(set.nearest("getThing"), ["get-thing"]);
    }

    #[test]
    fn colliding_names_resolve_only_exactly() {
        let set = set(&["a-b", "a_b", "a b", "a.b", "c"], &[]);
        for name in ["a-b", "a_b", "a b", "a.b"] {
            assert_eq!(set.find(name).unwrap().name, name);
        }
        assert_eq!(set.warnings.len(), 1);
        assert!(set.warnings[0].contains("ambiguous"), "{:?}", set.warnings);
    }

    #[test]
    fn grouped_tools_are_found_in_any_spelling() {
        let set = set(
            &[
                "pet.get-one",
                "my-pets.all",
                "pet",
                "a.b-c",
                "a.b_c",
                "x y",
                "x-y",
                "x.y",
            ],
            &[],
        );
        for (written, name) in [
            ("pet.get-one", "pet.get-one"),
            ("pet.get_one", "pet.get-one"),
            ("pet_get_one", "pet.get-one"),
            ("my_pets.all", "my-pets.all"),
            ("my-pets.all", "my-pets.all"),
            ("my_pets_all", "my-pets.all"),
            ("pet", "pet"),
            ("a.b_c", "a.b_c"),
            ("a.b-c", "a.b-c"),
        ] {
            assert_eq!(
                set.find(written).map(|tool| tool.name.as_str()),
                Some(name),
                "{written}"
            );
        }
        // Names that are ambiguous or match no tool.
        for written in ["a.b c", "a_b_c", "x_y", "pet.get", "pet.", ".pet"] {
            assert!(set.find(written).is_none(), "{written}");
        }
        assert_eq!(set.spelled(set.find("my-pets.all").unwrap()), "my_pets.all");
        assert_eq!(set.spelled(set.find("a.b-c").unwrap()), "a.b-c");
        assert!(set.has_groups);
        let names = |group: &str| {
            let tools = set.in_group(group);
            tools
                .iter()
                .map(|tool| tool.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names("my-pets"), ["my-pets.all"]);
        assert_eq!(names("my_pets"), ["my-pets.all"]);
        assert!(names("pet.get-one").is_empty());
        assert_eq!(set.nearest("pets.getOne")[0], "pet.get-one");
        let hint = set.instead_of("my_pets").unwrap();
        assert!(
            hint.contains("group") && hint.contains("s.my_pets.all("),
            "{hint}"
        );
        let hint = set.instead_of("pets.getOne").unwrap();
        assert!(hint.contains("s.pet.get_one("), "{hint}");
    }

    #[test]
    fn tool_is_found_without_its_invisible_characters() {
        let set = set(&["odd\u{200b}one", "plain", "pla\u{200b}in"], &[]);
        let odd = set.find("oddone").unwrap();
        assert_eq!(
            (odd.name.as_str(), set.shown(odd).as_str()),
            ("odd\u{200b}one", "oddone")
        );
        let twin = set.find("pla\u{200b}in").unwrap();
        assert_eq!(set.find("plain").unwrap().name, "plain");
        assert_eq!(set.shown(twin), twin.name);
    }

    #[test]
    fn excluded_and_repeated_tools_are_not_offered() {
        let set = set(
            &["delete_a", "read", "read", "repos.delete-b", "my-x.get"],
            &["delete_*", "repos.delete_*", "my_x_get"],
        );
        assert!(set.find("delete_a").is_none());
        assert_eq!(set.len(), 1);
        assert_eq!(set.warnings.len(), 1);
    }
}
