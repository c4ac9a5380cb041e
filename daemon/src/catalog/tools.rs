//! The tools of one server, found by any of their names.
//!
//! Invariant: a [`ToolSet`] never changes. A server whose tools change gets a new one.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use mux_sandbox::typegen::{self, Observed, ToolDecl, names};
use serde_json::{Map, Value};

use super::{
    Standing, ToolDescription,
    arguments::Arguments,
    digest::Digest,
    hygiene::{clean, clean_members, clean_schema, shortened},
    imitation::Look,
    results::Results,
    standing,
};
use crate::{cache::Key, nearest::nearest_few, policy::glob};

/// A tool as its server describes it.
#[derive(Debug)]
pub struct Tool {
    /// The server's name in the configuration.
    pub server: Arc<str>,
    /// As the server spells it.
    pub name: String,
    pub title: Option<String>,
    /// As it stands beside others.
    pub description: Option<String>,
    /// All of it, where that is more.
    whole_description: Option<String>,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    /// What else the server says of it: annotations, icons, `_meta`, title, as MCP has them.
    pub extra: Map<String, Value>,
    /// Names everything that its types depend on: the same key has the same types.
    pub key: Key,
    /// Names the whole definition: another one may mean another tool under the same name.
    pub definition_key: Key,
    pub standing: Standing,
    pub(super) arguments: Arguments,
    pub(super) results: Results,
    look: OnceLock<Look>,
}

impl Tool {
    fn new(server: Arc<str>, mut described: ToolDescription) -> Self {
        readable(&mut described, &server);
        let path = format!("{server}.{}", described.name);
        let description = described.description;
        let short = description
            .as_deref()
            .and_then(|text| shortened(text, &path));
        let (description, whole_description) = match short {
            Some(head) => (Some(head), description),
            None => (description, None),
        };
        let key = Digest::of_generator()
            .text(&server)
            .text(&described.name)
            .maybe(described.title.as_deref())
            .maybe(description.as_deref())
            .json(&described.input_schema)
            .json(described.output_schema.as_ref().unwrap_or(&Value::Null))
            .key();
        let whole = Digest::new()
            .bytes(&key)
            .maybe(whole_description.as_deref())
            .json(&Value::Object(described.extra.clone()));
        Self {
            server,
            key,
            definition_key: whole.key(),
            extra: described.extra,
            name: described.name,
            title: described.title,
            description,
            whole_description,
            input_schema: described.input_schema,
            output_schema: described.output_schema,
            read_only: described.read_only,
            destructive: described.destructive,
            standing: described.standing,
            arguments: Arguments::default(),
            results: Results::default(),
            look: OnceLock::new(),
        }
    }

    /// `server.tool`, with the tool as its server spells it. Policy and errors speak of this.
    pub fn path(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// MCP's `Tool`, whole.
    pub fn definition(&self) -> Value {
        let described = ToolDescription {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
            output_schema: self.output_schema.clone(),
            extra: self.extra.clone(),
            ..ToolDescription::default()
        };
        described.definition()
    }

    /// As its name is compared with others.
    pub(super) fn look(&self) -> &Look {
        self.look.get_or_init(|| Look::of(&self.name))
    }

    /// Its name for the eye: what nobody sees is left out.
    pub fn shown_name(&self) -> String {
        clean(&self.name).into_owned()
    }

    /// `files.read(args: {…}): Promise<…>` on one line, without what was learned of its results.
    pub fn signature(&self) -> String {
        typegen::signature(&self.server, &self.declaration(None))
    }

    pub fn declaration<'a>(&'a self, observed: Option<Observed<'a>>) -> ToolDecl<'a> {
        ToolDecl {
            observed,
            name: &self.name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            input_schema: &self.input_schema,
            output_schema: self.output_schema.as_ref(),
        }
    }

    /// All of its description, for whoever asks for this one.
    pub fn whole_description(&self) -> Option<&str> {
        let whole = self.whole_description.as_deref();
        whole.or(self.description.as_deref())
    }

    /// The same with all of a long description, for whoever asks for this one.
    pub fn whole_declaration<'a>(&'a self, observed: Option<Observed<'a>>) -> ToolDecl<'a> {
        ToolDecl {
            description: self.whole_description(),
            ..self.declaration(observed)
        }
    }
}

/// What the server says, as readers get it: words without what nobody sees, and before those of a refused tool that it
/// is one.
fn readable(described: &mut ToolDescription, server: &str) {
    let cleaned = |text: &mut String| *text = clean(text).into_owned();
    described.title.as_mut().map(cleaned);
    described.description.as_mut().map(cleaned);
    clean_schema(&mut described.input_schema);
    described.output_schema.as_mut().map(clean_schema);
    for (name, member) in &mut described.extra {
        match member {
            Value::String(title) if name == "title" => cleaned(title),
            Value::Object(annotations) if name == "annotations" => clean_members(annotations),
            _ => {}
        }
    }
    if let Standing::Changed(change) = &described.standing
        && change.refused
    {
        let mark = standing::mark(server, change);
        described.description = Some(match &described.description {
            Some(was) => format!("{mark}\n\n{was}"),
            None => mark,
        });
    }
}

/// The tools that one session offers.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Arc<Tool>>,
    /// Both the server's spelling and, where it is unambiguous, ours.
    by_name: HashMap<String, usize>,
    /// Tools that only their exact name reaches, in words for a person.
    pub warnings: Vec<String>,
    /// Of all tools, in their order.
    pub key: Key,
}

impl ToolSet {
    /// `exclude` holds globs of tool names.
    pub fn new(server: &str, described: Vec<ToolDescription>, exclude: &[String]) -> Self {
        let server: Arc<str> = server.into();
        let mut set = Self::default();
        for description in described {
            if exclude
                .iter()
                .any(|pattern| glob(pattern, &description.name))
            {
                continue;
            }
            if set.by_name.contains_key(&description.name) {
                set.warnings.push(format!(
                    "{server} offers `{}` twice; the first one counts",
                    description.name
                ));
                continue;
            }
            set.by_name
                .insert(description.name.clone(), set.tools.len());
            set.tools
                .push(Arc::new(Tool::new(Arc::clone(&server), description)));
        }
        set.finish(&server);
        set
    }

    /// The same without some of them, as if their server did not have them.
    pub(super) fn without(&self, hidden: impl Fn(&Tool) -> bool) -> Self {
        let mut set = Self::default();
        for tool in self.tools.iter().filter(|tool| !hidden(tool)) {
            set.by_name.insert(tool.name.clone(), set.tools.len());
            set.tools.push(Arc::clone(tool));
        }
        let server = set.tools.first().map(|tool| Arc::clone(&tool.server));
        set.finish(server.as_deref().unwrap_or_default());
        set
    }

    fn finish(&mut self, server: &str) {
        self.add_spellings(server);
        let keys = self.tools.iter();
        self.key = keys
            .fold(Digest::new(), |digest, tool| digest.bytes(&tool.key))
            .key();
    }

    fn add_spellings(&mut self, server: &str) {
        let collisions = names::collisions(self.tools.iter().map(|tool| tool.name.as_str()));
        let collided: Vec<&str> = collisions
            .iter()
            .flat_map(|c| c.names.iter().copied())
            .collect();
        for (place, tool) in self.tools.iter().enumerate() {
            if !collided.contains(&tool.name.as_str()) {
                self.by_name
                    .entry(names::spell(&tool.name).into_owned())
                    .or_insert(place);
            }
        }
        for (place, tool) in self.tools.iter().enumerate() {
            self.by_name.entry(tool.shown_name()).or_insert(place);
        }
        for collision in &collisions {
            let exact: Vec<String> = collision
                .names
                .iter()
                .map(|name| format!("mux.{server}[{name:?}]"))
                .collect();
            self.warnings.push(format!(
                "`{}` is ambiguous in {server}; call {} by exact name",
                collision.spelling,
                exact.join(" or ")
            ));
        }
    }

    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).map(|place| &self.tools[*place])
    }

    /// Our spelling where it leads to this tool, the exact name where it does not.
    pub fn spelled<'a>(&self, tool: &'a Tool) -> Cow<'a, str> {
        let spelled = names::spell(&tool.name);
        let found = self.find(&spelled);
        match found.is_some_and(|found| found.name == tool.name) {
            true => spelled,
            false => Cow::Borrowed(&tool.name),
        }
    }

    /// The server's spelling without what nobody sees, where that leads to this tool.
    pub fn shown(&self, tool: &Tool) -> String {
        let shown = tool.shown_name();
        let found = self.find(&shown);
        match found.is_some_and(|found| found.name == tool.name) {
            true => shown,
            false => tool.name.clone(),
        }
    }

    /// As a program writes it after `mux.`.
    pub fn path(&self, tool: &Tool) -> String {
        format!("{}.{}", names::spell(&tool.server), self.spelled(tool))
    }

    /// The names that somebody may have meant.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest_few(name, self.tools.iter().map(|tool| tool.name.as_str()), 3)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(names: &[&str], exclude: &[&str]) -> ToolSet {
        let described = names
            .iter()
            .map(|name| ToolDescription {
                name: (*name).to_owned(),
                input_schema: json!({"type": "object"}),
                ..ToolDescription::default()
            })
            .collect();
        let exclude: Vec<String> = exclude.iter().map(|p| (*p).to_owned()).collect();
        ToolSet::new("s", described, &exclude)
    }

    #[test]
    fn a_tool_is_found_by_its_own_name_and_by_our_spelling() {
        let set = set(&["get-thing", "read"], &[]);
        assert_eq!(set.find("get-thing").unwrap().name, "get-thing");
        assert_eq!(set.find("get_thing").unwrap().name, "get-thing");
        assert!(set.find("getThing").is_none());
        assert_eq!(set.nearest("getThing"), ["get-thing"]);
    }

    #[test]
    fn colliding_names_are_reached_exactly_or_not_at_all() {
        let set = set(&["a-b", "a_b", "a.b", "c"], &[]);
        for name in ["a-b", "a_b", "a.b"] {
            assert_eq!(set.find(name).unwrap().name, name);
        }
        assert_eq!(set.warnings.len(), 1);
        assert!(set.warnings[0].contains("ambiguous"), "{:?}", set.warnings);
    }

    #[test]
    fn what_nobody_sees_of_a_name_is_needed_by_nobody_but_its_server() {
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
        let set = set(&["delete_a", "read", "read"], &["delete_*"]);
        assert!(set.find("delete_a").is_none());
        assert_eq!(set.len(), 1);
        assert_eq!(set.warnings.len(), 1);
    }
}
