//! One tool: as its server describes it, and as readers get it.
//!
//! Invariant: a [`Tool`] never changes. What its server says anew is another one.

use std::sync::{Arc, OnceLock};

use mux_sandbox::typegen::{self, Observed, ToolDecl};
use serde_json::{Map, Value};

use super::{
    Standing, ToolDescription,
    arguments::Arguments,
    compact::compact,
    digest::Digest,
    hygiene::{clean, clean_members, clean_schema, shortened},
    imitation::Look,
    results::Results,
    standing,
};
use crate::cache::Key;

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
    pub(super) fn new(server: Arc<str>, mut described: ToolDescription) -> Self {
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
            input_schema: compact(described.input_schema),
            output_schema: described.output_schema.map(compact),
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
