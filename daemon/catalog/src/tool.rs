//! One tool: its server's description with the user's override, and its form for readers.
//!
//! Its schemas are stored as text, which takes a fifth of the memory of parsed values. A large API has a thousand
//! tools, most of which are never used. Members that every call needs are parsed once.
//!
//! Invariant: a [`Tool`] never changes. A new definition makes a new tool.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use mux_typegen::{ObservedResult, ToolDecl};
use serde_json::{Map, Value};

use super::{
    InjectionSign, OverriddenTool, PinStatus, argument_check::ArgumentSchema,
    injection_signs::signs_of_definition, lookalikes::NameSkeleton, tool_drafts::ToolDraft,
    tool_results::ResultSchema,
};
use mux_policy::ToolHints;
use mux_text::digest::DigestKey;
use mux_text::sanitize::clean;

/// A tool as its server describes it.
#[derive(Debug)]
pub struct Tool {
    /// The server's name in the configuration.
    pub server: Arc<str>,
    /// The server's name for the tool, or the user's.
    pub name: String,
    pub title: Option<String>,
    /// The description, possibly shortened.
    pub description: Option<String>,
    /// The complete description, if `description` is shortened.
    whole_description: Option<String>,
    /// The long texts of all tools of the list, to which the ranges below refer.
    texts: Arc<str>,
    input_schema: Range<usize>,
    output_schema: Option<Range<usize>>,
    /// The complete schemas, if descriptions in them are shortened.
    whole_input_schema: Option<Range<usize>>,
    whole_output_schema: Option<Range<usize>>,
    /// The schema of the value that results wrap and callers get.
    wrapped_schema: Option<Range<usize>>,
    /// All other members of the MCP definition (annotations, icons, `_meta`, title), as a JSON object.
    extra: Range<usize>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
    /// Set if it can only be called as a task.
    pub needs_task: bool,
    /// Set if only the server's MCP Apps pages may call it, and no model.
    pub is_for_apps: bool,
    /// The HTTP method of an API operation, as the source declared it.
    pub verb: Option<Box<str>>,
    /// The digest of everything that its types depend on.
    pub key: DigestKey,
    /// The digest of the complete definition: with another digest, the name may mean another tool.
    pub definition_key: DigestKey,
    pub pin_status: PinStatus,
    /// Signs in the shown definition that may instruct a model.
    pub(super) signs: Box<[InjectionSign]>,
    /// The tool as its server knows it, if the user overrides it.
    pub(super) overridden: Option<Arc<OverriddenTool>>,
    pub(super) arguments: ArgumentSchema,
    pub(super) results: ResultSchema,
    look: OnceLock<NameSkeleton>,
    signature: OnceLock<Box<str>>,
}

impl Tool {
    /// The declared annotations, for policy.
    pub fn hints(&self) -> ToolHints {
        ToolHints {
            read_only: self.read_only,
            destructive: self.destructive,
            idempotent: self.idempotent,
            open_world: self.open_world,
        }
    }

    /// Builds the tool from fresh allocations only: long-lived values between temporary ones would keep pages from
    /// being returned.
    pub(super) fn new(server: &Arc<str>, texts: &Arc<str>, words: &str, draft: ToolDraft) -> Self {
        let word = |range: Range<usize>| words[range].to_owned();
        Self {
            server: Arc::clone(server),
            name: word(draft.name),
            title: draft.title.map(word),
            description: draft.description.map(word),
            whole_description: draft.whole_description.map(word),
            texts: Arc::clone(texts),
            input_schema: draft.input_schema,
            output_schema: draft.output_schema,
            whole_input_schema: draft.whole_input_schema,
            whole_output_schema: draft.whole_output_schema,
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
            pin_status: draft.pin_status,
            signs: draft.signs.into(),
            overridden: draft.overridden,
            arguments: ArgumentSchema::default(),
            results: ResultSchema::default(),
            look: OnceLock::new(),
            signature: OnceLock::new(),
        }
    }

    /// `server.tool`, with the server's own name for the tool. Policy and errors use this path.
    pub fn path(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// The MCP `Tool` as shown in lists, with shortened descriptions.
    pub fn definition(&self) -> Value {
        self.definition_with(
            self.description.as_deref(),
            self.input_schema(),
            self.output_schema(),
        )
    }

    /// The MCP `Tool` with its complete descriptions.
    pub fn whole_definition(&self) -> Value {
        let parsed = |range: &Range<usize>| value(&self.texts[range.clone()]);
        let input = self.whole_input_schema.as_ref().map(parsed);
        let output = self.whole_output_schema.as_ref().map(parsed);
        self.definition_with(
            self.whole_description(),
            input.unwrap_or_else(|| self.input_schema()),
            output.or_else(|| self.output_schema()),
        )
    }

    fn definition_with(
        &self,
        description: Option<&str>,
        input_schema: Value,
        output_schema: Option<Value>,
    ) -> Value {
        let mut members = Map::new();
        members.insert("name".into(), self.name.as_str().into());
        members.extend(description.map(|text| ("description".to_owned(), text.into())));
        members.insert("inputSchema".into(), input_schema);
        members.extend(output_schema.map(|schema| ("outputSchema".to_owned(), schema)));
        if let Value::Object(extra) = value(&self.texts[self.extra.clone()]) {
            members.extend(extra);
        }
        Value::Object(members)
    }

    /// The annotations, if there are any.
    pub fn annotations(&self) -> Option<Value> {
        let mut extra = value(&self.texts[self.extra.clone()]);
        extra.get_mut("annotations").map(Value::take)
    }

    /// The input schema, parsed on each call.
    pub fn input_schema(&self) -> Value {
        value(self.input_schema_text())
    }

    /// The input schema as JSON text.
    pub(super) fn input_schema_text(&self) -> &str {
        &self.texts[self.input_schema.clone()]
    }

    /// The schema of the arguments that its server gets, as JSON.
    pub(super) fn sent_schema_text(&self) -> &str {
        match &self.overridden {
            Some(overridden) => &overridden.input_schema,
            None => self.input_schema_text(),
        }
    }

    /// The output schema, parsed on each call.
    pub fn output_schema(&self) -> Option<Value> {
        self.output_schema_text().map(value)
    }

    pub(super) fn output_schema_text(&self) -> Option<&str> {
        self.output_schema.clone().map(|range| &self.texts[range])
    }

    /// True if results wrap the value that callers get.
    pub(super) fn wraps_result(&self) -> bool {
        self.wrapped_schema.is_some()
    }

    /// The schema of the value that callers get.
    fn value_schema_text(&self) -> Option<&str> {
        let range = self.wrapped_schema.as_ref().or(self.output_schema.as_ref());
        range.map(|range| &self.texts[range.clone()])
    }

    pub fn has_output_schema(&self) -> bool {
        self.output_schema.is_some()
    }

    /// The skeleton of its name, for the comparison with others.
    pub(super) fn name_skeleton(&self) -> &NameSkeleton {
        self.look.get_or_init(|| NameSkeleton::of(&self.name))
    }

    /// Signs in its present definition that may instruct a model. The shown definition may be another.
    pub fn injection_signs(&self) -> Vec<InjectionSign> {
        match self.change() {
            Some(change) => signs_of_definition(&value(&change.now)),
            None => self.signs.to_vec(),
        }
    }

    /// Its name without invisible characters.
    pub fn shown_name(&self) -> String {
        clean(&self.name).into_owned()
    }

    /// `files.read(args: {…}): Promise<…>` on one line, without learned types.
    pub fn signature(&self) -> &str {
        let make = || mux_typegen::signature(&self.server, &self.declaration(None)).into();
        self.signature.get_or_init(make)
    }

    pub fn declaration<'a>(&'a self, observed: Option<ObservedResult<'a>>) -> ToolDecl<'a> {
        ToolDecl {
            observed,
            name: &self.name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            input_schema: self.input_schema_text().into(),
            output_schema: self.value_schema_text().map(Into::into),
        }
    }

    /// The complete description.
    pub fn whole_description(&self) -> Option<&str> {
        let whole = self.whole_description.as_deref();
        whole.or(self.description.as_deref())
    }

    /// The declaration with the complete description.
    pub fn whole_declaration<'a>(&'a self, observed: Option<ObservedResult<'a>>) -> ToolDecl<'a> {
        ToolDecl {
            description: self.whole_description(),
            ..self.declaration(observed)
        }
    }
}

/// Parses text that was serialized from a value.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
