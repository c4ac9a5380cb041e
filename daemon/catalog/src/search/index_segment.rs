//! The words of one server's tools, each with the tools that contain it.
//!
//! Invariant: a segment depends on its tool set alone, and its tools are sorted by path.

use std::{collections::HashMap, sync::Arc};

use mux_typegen::names::spell;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::word_splitting::{self, fold};
use crate::{Tool, ToolSet};

/// The weight of a word by the field that contains it.
const NAME_WEIGHT: f32 = 10.0;
const TITLE_WEIGHT: f32 = 4.0;
const SERVER_WEIGHT: f32 = 4.0;
const ARGUMENT_WEIGHT: f32 = 2.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const ARGUMENT_DESCRIPTION_WEIGHT: f32 = 0.4;

/// The typical number of words in a name and in a description. In longer ones each word counts less.
const USUAL_NAME_WORDS: f32 = 3.0;
const USUAL_TEXT_WORDS: f32 = 15.0;
/// How strongly the length counts.
const NAME_LENGTH_PENALTY: f32 = 0.4;
const TEXT_LENGTH_PENALTY: f32 = 0.7;

/// Longer texts and further arguments are not indexed.
const MAX_INDEXED_TEXT_BYTES: usize = 4_096;
const MAX_INDEXED_NOTE_BYTES: usize = 400;
const MAX_INDEXED_ARGUMENTS: usize = 64;

#[derive(Debug)]
pub(super) struct IndexSegment {
    pub(super) server: Arc<str>,
    /// The server's spelled name with the dot.
    pub(super) prefix: String,
    pub(super) tools: Arc<ToolSet>,
    /// The tools, sorted by path.
    pub(super) docs: Vec<Arc<Tool>>,
    /// The words, sorted.
    pub(super) terms: Vec<IndexTerm>,
    /// Indices of tools by folded name.
    names: HashMap<String, Vec<u32>>,
}

#[derive(Debug)]
pub(super) struct IndexTerm {
    pub(super) text: Box<str>,
    /// A bit for each letter, which quickly rules out most other words.
    pub(super) letters: u32,
    pub(super) places: Box<[Posting]>,
}

/// A tool that contains a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) doc: u32,
    pub(super) weight: f32,
}

impl IndexSegment {
    pub(super) fn build(server: &str, tools: &Arc<ToolSet>) -> Self {
        let mut spelled: Vec<_> = tools
            .iter()
            .map(|tool| (tools.spelled(tool), tool))
            .collect();
        spelled.sort_by(|a, b| a.0.cmp(&b.0));
        let mut names: HashMap<String, Vec<u32>> = HashMap::new();
        let mut gathered = SegmentBuilder::default();
        let mut of_server = Vec::new();
        word_splitting::each(server, |word| of_server.push(word.to_owned()));
        for (doc, (_, tool)) in (0..).zip(&spelled) {
            names.entry(fold(&tool.name)).or_default().push(doc);
            gathered.doc = doc;
            for word in &of_server {
                gathered.add(word, SERVER_WEIGHT);
            }
            gathered.tool(tool);
        }
        let docs = spelled.into_iter().map(|(_, tool)| Arc::clone(tool));
        Self {
            server: server.into(),
            prefix: format!("{}.", spell(server)),
            docs: docs.collect(),
            terms: gathered.into_terms(),
            names,
            tools: Arc::clone(tools),
        }
    }

    /// The tools with this folded name.
    pub(super) fn named(&self, folded: &str) -> &[u32] {
        self.names.get(folded).map_or(&[], Vec::as_slice)
    }

    pub(super) fn term(&self, word: &str) -> Option<&IndexTerm> {
        let place = self.terms.binary_search_by(|term| (*term.text).cmp(word));
        place.ok().map(|place| &self.terms[place])
    }

    /// The words that start with this one and are longer.
    pub(super) fn longer<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a IndexTerm> {
        let from = self.terms.partition_point(|term| *term.text <= *word);
        let rest = self.terms[from..].iter();
        rest.take_while(move |term| term.text.starts_with(word))
    }
}

/// The bit for all letters outside of ASCII.
pub(super) const NON_ASCII_LETTER_BIT: u32 = 1 << 31;

pub(super) fn letters(word: &str) -> u32 {
    let bit = |byte: u8| match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'0'..=b'9' => 1 << (26 + byte % 5),
        _ => NON_ASCII_LETTER_BIT,
    };
    word.bytes().fold(0, |all, byte| all | bit(byte))
}

/// The indexed part of a schema; most of a long schema is definitions.
#[derive(Deserialize)]
struct InputProperties {
    #[serde(default)]
    properties: Map<String, Value>,
}

/// The words found so far, with their tools.
#[derive(Default)]
struct SegmentBuilder {
    words: HashMap<String, Vec<Posting>>,
    doc: u32,
}

impl SegmentBuilder {
    fn tool(&mut self, tool: &Tool) {
        self.text(
            &tool.name,
            NAME_WEIGHT,
            NAME_LENGTH_PENALTY,
            USUAL_NAME_WORDS,
        );
        let whole = fold(&tool.name);
        if !tool.name.eq_ignore_ascii_case(&whole) {
            self.add(&whole, NAME_WEIGHT);
        }
        if let Some(title) = &tool.title {
            self.text(title, TITLE_WEIGHT, NAME_LENGTH_PENALTY, USUAL_NAME_WORDS);
        }
        if let Some(description) = &tool.description {
            let text = start(description, MAX_INDEXED_TEXT_BYTES);
            self.text(
                text,
                DESCRIPTION_WEIGHT,
                TEXT_LENGTH_PENALTY,
                USUAL_TEXT_WORDS,
            );
        }
        let Ok(input) = serde_json::from_str::<InputProperties>(tool.input_schema_text()) else {
            return;
        };
        for (name, schema) in input.properties.iter().take(MAX_INDEXED_ARGUMENTS) {
            word_splitting::each(start(name, MAX_INDEXED_NOTE_BYTES), |word| {
                self.add(word, ARGUMENT_WEIGHT)
            });
            if let Some(Value::String(note)) = schema.get("description") {
                let note = start(note, MAX_INDEXED_NOTE_BYTES);
                self.text(
                    note,
                    ARGUMENT_DESCRIPTION_WEIGHT,
                    TEXT_LENGTH_PENALTY,
                    USUAL_TEXT_WORDS,
                );
            }
        }
    }

    fn text(&mut self, text: &str, weight: f32, by_length: f32, usual: f32) {
        let mut count = 0.0;
        word_splitting::each(text, |_| count += 1.0);
        let weight = weight / (1.0 - by_length + by_length * count / usual);
        word_splitting::each(text, |word| self.add(word, weight));
    }

    fn add(&mut self, word: &str, weight: f32) {
        let place = Posting {
            doc: self.doc,
            weight,
        };
        match self.words.get_mut(word) {
            Some(places) => match places.last_mut() {
                Some(last) if last.doc == self.doc => last.weight += weight,
                _ => places.push(place),
            },
            None => {
                self.words.insert(word.to_owned(), vec![place]);
            }
        }
    }

    fn into_terms(self) -> Vec<IndexTerm> {
        let terms = self.words.into_iter().map(|(text, places)| IndexTerm {
            letters: letters(&text),
            text: text.into(),
            places: places.into(),
        });
        let mut terms: Vec<IndexTerm> = terms.collect();
        terms.sort_by(|a, b| a.text.cmp(&b.text));
        terms
    }
}

fn start(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
