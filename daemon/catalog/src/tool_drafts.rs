//! Builds the tools of a list: each is taken apart as it is added, and all long texts share one allocation.
//!
//! Invariant: once the list is finished, nothing remains of the values from which it was made.

use std::{ops::Range, sync::Arc};

use serde_json::Value;

use super::{
    ChangeReaction, InjectionSign, OverriddenTool, PinStatus, SchemaText, Tool, ToolDescription,
    description::wrapped_schema, injection_signs::SignSearch, pin_status,
};
use mux_text::{
    digest::{Digest, DigestKey},
    sanitize::{clean, clean_members, clean_schema, shorten_schema, shortened},
};
use mux_typegen::normal_form::normalize;

/// Once there are so many notes, no further schemas are searched for more.
const MAX_SCHEMA_NOTES: usize = 100;
/// The texts of a list whose schemas are searched for notes: reading every schema would delay a list of ten thousand
/// tools by seconds.
const MAX_NOTED_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct ToolDrafts {
    drafts: Vec<ToolDraft>,
    /// Schemas and other long texts, shared by the tools.
    texts: String,
    /// Texts of which each tool gets its own copy.
    words: String,
    search: SignSearch,
    /// The parts of schemas that are ignored or reinterpreted.
    schema_notes: Vec<String>,
}

/// A tool, with the ranges of its texts.
#[derive(Debug)]
pub(super) struct ToolDraft {
    pub(super) name: Range<usize>,
    pub(super) title: Option<Range<usize>>,
    pub(super) description: Option<Range<usize>>,
    pub(super) whole_description: Option<Range<usize>>,
    pub(super) verb: Option<Range<usize>>,
    /// A range of `texts`, like the next five.
    pub(super) input_schema: Range<usize>,
    pub(super) output_schema: Option<Range<usize>>,
    /// The complete schemas, if their descriptions are shortened.
    pub(super) whole_input_schema: Option<Range<usize>>,
    pub(super) whole_output_schema: Option<Range<usize>>,
    pub(super) wrapped_schema: Option<Range<usize>>,
    pub(super) extra: Range<usize>,
    pub(super) read_only: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) idempotent: Option<bool>,
    pub(super) open_world: Option<bool>,
    pub(super) needs_task: bool,
    pub(super) is_for_apps: bool,
    pub(super) key: DigestKey,
    pub(super) definition_key: DigestKey,
    pub(super) pin_status: PinStatus,
    pub(super) signs: Vec<InjectionSign>,
    pub(super) overridden: Option<Arc<OverriddenTool>>,
}

/// The schemas of the tool that is added.
struct ParsedSchemas {
    input: Value,
    output: Option<Value>,
}

impl ToolDrafts {
    pub(super) fn add(&mut self, server: &str, mut described: ToolDescription) {
        let mut schemas = ParsedSchemas {
            input: described.input_schema.parse(),
            output: described.output_schema.take().map(|it| it.parse()),
        };
        described.input_schema = SchemaText::default();
        let texts = [Some(&schemas.input), schemas.output.as_ref()];
        let signs = self.search.of_tool(&described, texts.into_iter().flatten());
        self.note_schemas(&described.name, &schemas);
        readable(&mut described, &mut schemas, server);
        let path = format!("{server}.{}", described.name);
        let description = described.description.take();
        let short = description
            .as_deref()
            .and_then(|text| shortened(text, &path));
        let (description, whole_description) = match short {
            Some(head) => (Some(head), description),
            None => (description, None),
        };
        let whole_input_schema = self.shorten(&mut schemas.input);
        let input_schema = self.json(&schemas.input);
        let output_schema = schemas.output.as_mut();
        let whole_output_schema = output_schema.and_then(|schema| self.shorten(schema));
        let wrapped_schema = schemas.output.as_ref().and_then(wrapped_schema);
        let wrapped_schema = wrapped_schema.map(|schema| self.json(&schema));
        let output_schema = schemas.output.take();
        let output_schema = output_schema.map(|schema| self.json(&schema));
        let output = output_schema.clone().map(|range| &self.texts[range]);
        let key = Digest::new()
            .bytes(&mux_typegen::GENERATOR_VERSION.to_le_bytes())
            .text(server)
            .text(&described.name)
            .optional_text(described.title.as_deref())
            .optional_text(description.as_deref())
            .text(&self.texts[input_schema.clone()])
            .text(output.unwrap_or("null"))
            .key();
        let needs_task = described.needs_task();
        let verb = described.verb();
        let is_for_apps = described.is_for_apps();
        let idempotent = described.hint("idempotentHint");
        let open_world = described.hint("openWorldHint");
        let extra = self.json(&Value::Object(described.extra));
        let text_of = |range: &Option<Range<usize>>| range.clone().map(|range| &self.texts[range]);
        let whole = Digest::new()
            .bytes(&key)
            .optional_text(whole_description.as_deref())
            .optional_text(text_of(&whole_input_schema))
            .optional_text(text_of(&whole_output_schema))
            .text(&self.texts[extra.clone()]);
        let whole = match &described.overridden {
            Some(overridden) => overridden.add_to(whole),
            None => whole,
        };
        let draft = ToolDraft {
            name: self.word(&described.name),
            title: described.title.map(|title| self.word(&title)),
            description: description.map(|text| self.word(&text)),
            whole_description: whole_description.map(|text| self.word(&text)),
            verb: verb.map(|verb| self.word(&verb)),
            input_schema,
            output_schema,
            whole_input_schema,
            whole_output_schema,
            wrapped_schema,
            extra,
            read_only: described.read_only,
            destructive: described.destructive,
            idempotent,
            open_world,
            needs_task,
            is_for_apps,
            key,
            definition_key: whole.key(),
            pin_status: described.pin_status,
            signs,
            overridden: described.overridden,
        };
        self.drafts.push(draft);
    }

    fn note_schemas(&mut self, name: &str, schemas: &ParsedSchemas) {
        let input = Some((&schemas.input, ""));
        let output = schemas.output.as_ref();
        let output = output.map(|schema| (schema, " (result)"));
        for (schema, side) in [input, output].into_iter().flatten() {
            if self.schema_notes.len() >= MAX_SCHEMA_NOTES || self.texts.len() > MAX_NOTED_BYTES {
                return;
            }
            let notes = normalize(schema).notes.into_iter();
            let name = clean(name);
            self.schema_notes
                .extend(notes.map(|note| format!("{name}{side}: {note}")));
        }
    }

    /// At most about a hundred.
    pub(super) fn take_schema_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.schema_notes)
    }

    /// True if there was too much text to search all of it for signs of injection.
    pub(super) fn is_over_search_limit(&self) -> bool {
        self.search.is_over
    }

    pub(super) fn finish(self, server: &Arc<str>) -> Vec<Arc<Tool>> {
        let texts = Arc::<str>::from(self.texts);
        let words = self.words;
        let tools = self.drafts.into_iter();
        tools
            .map(|draft| Arc::new(Tool::new(server, &texts, &words, draft)))
            .collect()
    }

    /// Shortens the descriptions of a schema, and keeps the original if any was too long.
    fn shorten(&mut self, schema: &mut Value) -> Option<Range<usize>> {
        let length = self.texts.len();
        let whole = self.json(schema);
        if shorten_schema(schema) {
            return Some(whole);
        }
        self.texts.truncate(length);
        None
    }

    fn json(&mut self, value: &Value) -> Range<usize> {
        let from = self.texts.len();
        self.texts.push_str(&value.to_string());
        from..self.texts.len()
    }

    fn word(&mut self, word: &str) -> Range<usize> {
        let from = self.words.len();
        self.words.push_str(word);
        from..self.words.len()
    }
}

/// Cleans a description for readers: removes invisible characters, and marks a refused tool.
fn readable(described: &mut ToolDescription, schemas: &mut ParsedSchemas, server: &str) {
    let cleaned = |text: &mut String| *text = clean(text).into_owned();
    described.title.as_mut().map(cleaned);
    described.description.as_mut().map(cleaned);
    clean_schema(&mut schemas.input);
    schemas.output.as_mut().map(clean_schema);
    for (name, member) in &mut described.extra {
        match member {
            Value::String(title) if name == "title" => cleaned(title),
            Value::Object(annotations) if name == "annotations" => clean_members(annotations),
            _ => {}
        }
    }
    if let PinStatus::Changed(change) = &described.pin_status
        && change.reaction == ChangeReaction::Refuse
    {
        let mark = pin_status::mark(server, change);
        described.description = Some(match &described.description {
            Some(was) => format!("{mark}\n\n{was}"),
            None => mark,
        });
    }
}
