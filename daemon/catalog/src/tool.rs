//! One tool: as its server describes it, and as readers get it.
//!
//! Its schemas are held as text, which takes a fifth of the room of values: a large API has a thousand of them, and most are
//! never looked at. What each call asks is read once and held beside them.
//!
//! Invariant: a [`Tool`] never changes. What its server says anew is another one.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use mux_typegen::{Observed, ToolDecl};
use serde_json::{Map, Value};

use super::{
    PinStatus, ToolDescription, argument_check::ArgumentSchema, lookalikes::NameSkeleton,
    tool_drafts::ToolDraft, tool_results::ResultSchema,
};
use mux_policy::ToolHints;
use mux_text::digest::DigestKey;
use mux_text::sanitize::clean;

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
    /// The long texts of all tools of its list. Where its own stand in it:
    sheet: Arc<str>,
    input_schema: Range<usize>,
    output_schema: Option<Range<usize>>,
    /// Of the value that its results wrap, and that its callers get.
    wrapped_schema: Option<Range<usize>>,
    /// What else the server says of it: annotations, icons, `_meta`, title, as MCP has them. An object.
    extra: Range<usize>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
    /// Whether it is called as a task or not at all.
    pub needs_task: bool,
    /// Whether only a page that the server shows may call it, and no model.
    pub is_for_apps: bool,
    /// The HTTP method of an operation, as the source wrote it that made a tool of it.
    pub verb: Option<Box<str>>,
    /// Names everything that its types depend on: the same key has the same types.
    pub key: DigestKey,
    /// Names the whole definition: another one may mean another tool under the same name.
    pub definition_key: DigestKey,
    pub standing: PinStatus,
    pub(super) arguments: ArgumentSchema,
    pub(super) results: ResultSchema,
    look: OnceLock<NameSkeleton>,
    signature: OnceLock<Box<str>>,
}

impl Tool {
    /// What it says of itself, for policy.
    pub fn hints(&self) -> ToolHints {
        ToolHints {
            read_only: self.read_only,
            destructive: self.destructive,
            idempotent: self.idempotent,
            open_world: self.open_world,
        }
    }

    /// Made of nothing that its server's list was read from: what is held for long between what is not keeps pages from being
    /// given back.
    pub(super) fn new(server: &Arc<str>, sheet: &Arc<str>, words: &str, draft: ToolDraft) -> Self {
        let word = |place: Range<usize>| words[place].to_owned();
        Self {
            server: Arc::clone(server),
            name: word(draft.name),
            title: draft.title.map(word),
            description: draft.description.map(word),
            whole_description: draft.whole_description.map(word),
            sheet: Arc::clone(sheet),
            input_schema: draft.input_schema,
            output_schema: draft.output_schema,
            wrapped_schema: draft.wrapped_schema,
            extra: draft.extra,
            read_only: draft.read_only,
            destructive: draft.destructive,
            idempotent: draft.idempotent,
            open_world: draft.open_world,
            needs_task: draft.needs_task,
            is_for_apps: draft.is_for_apps,
            verb: draft.verb.map(|verb| words[verb].into()),
            key: draft.key,
            definition_key: draft.definition_key,
            standing: draft.standing,
            arguments: ArgumentSchema::default(),
            results: ResultSchema::default(),
            look: OnceLock::new(),
            signature: OnceLock::new(),
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
            input_schema: self.input_schema(),
            output_schema: self.output_schema(),
            extra: match value(&self.sheet[self.extra.clone()]) {
                Value::Object(extra) => extra,
                _ => Map::new(),
            },
            ..ToolDescription::default()
        };
        described.definition()
    }

    /// Read anew each time.
    pub fn input_schema(&self) -> Value {
        value(self.input_schema_text())
    }

    /// As JSON.
    pub(super) fn input_schema_text(&self) -> &str {
        &self.sheet[self.input_schema.clone()]
    }

    /// Read anew each time.
    pub fn output_schema(&self) -> Option<Value> {
        self.output_schema_text().map(value)
    }

    pub(super) fn output_schema_text(&self) -> Option<&str> {
        self.output_schema.clone().map(|place| &self.sheet[place])
    }

    /// Whether its results are objects around the one value that its callers get.
    pub(super) fn wraps_result(&self) -> bool {
        self.wrapped_schema.is_some()
    }

    /// That of what its callers get.
    fn value_schema_text(&self) -> Option<&str> {
        let place = self.wrapped_schema.as_ref().or(self.output_schema.as_ref());
        place.map(|place| &self.sheet[place.clone()])
    }

    pub fn has_output_schema(&self) -> bool {
        self.output_schema.is_some()
    }

    /// As its name is compared with others.
    pub(super) fn name_skeleton(&self) -> &NameSkeleton {
        self.look.get_or_init(|| NameSkeleton::of(&self.name))
    }

    /// Its name for the eye: what nobody sees is left out.
    pub fn shown_name(&self) -> String {
        clean(&self.name).into_owned()
    }

    /// `files.read(args: {…}): Promise<…>` on one line, without what was learned of its results.
    pub fn signature(&self) -> &str {
        let make = || mux_typegen::signature(&self.server, &self.declaration(None)).into();
        self.signature.get_or_init(make)
    }

    pub fn declaration<'a>(&'a self, observed: Option<Observed<'a>>) -> ToolDecl<'a> {
        ToolDecl {
            observed,
            name: &self.name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            input_schema: self.input_schema_text().into(),
            output_schema: self.value_schema_text().map(Into::into),
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

/// It was made of one.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
