//! The words of one server's tools, each with the tools that contain it and how much it counts there.
//!
//! Invariant: a segment depends only on its tool set, and its tools are sorted by path.

use std::{collections::HashMap, sync::Arc};

use mux_typegen::names::spell;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    vocabulary,
    word_splitting::{self, fold},
};
use crate::{Tool, ToolSet};

/// How much a word counts in a field, and how soon the length of the field makes it count less.
#[derive(Clone, Copy)]
struct FieldWeight {
    weight: f32,
    /// How strongly the length counts, from 0 to 1.
    length_penalty: f32,
    /// The typical number of words.
    usual_words: f32,
}

const NAME: FieldWeight = field_weight(4.0, 0.5, 3.0);
const SERVER: FieldWeight = field_weight(3.0, 0.0, 1.0);
const TITLE: FieldWeight = field_weight(1.0, 0.5, 3.0);
/// The first sentence of a description, which says what the tool does.
const LEAD: FieldWeight = field_weight(2.5, 0.7, 12.0);
/// The rest of the description: how the tool is used, what it returns, when other tools are better.
const DESCRIPTION: FieldWeight = field_weight(0.7, 0.75, 40.0);
const ARGUMENT: FieldWeight = field_weight(0.5, 0.5, 5.0);
const ARGUMENT_DESCRIPTION: FieldWeight = field_weight(0.2, 0.75, 15.0);

const fn field_weight(weight: f32, length_penalty: f32, usual_words: f32) -> FieldWeight {
    FieldWeight {
        weight,
        length_penalty,
        usual_words,
    }
}

impl FieldWeight {
    /// The weight of one occurrence in a field of so many words.
    fn of_word(self, words: usize) -> f32 {
        let penalty = self.length_penalty;
        self.weight / (1.0 - penalty + penalty * words as f32 / self.usual_words)
    }
}

/// The minimum and maximum length of a description's first sentence.
const MIN_LEAD_BYTES: usize = 20;
const MAX_LEAD_BYTES: usize = 300;
/// Longer texts and further arguments are not indexed.
const MAX_INDEXED_TEXT_BYTES: usize = 4_096;
const MAX_INDEXED_NOTE_BYTES: usize = 400;
const MAX_INDEXED_ARGUMENTS: usize = 64;

/// True if the tool itself is deprecated: descriptions also mention deprecated packages and parameters.
fn is_deprecated(tool: &Tool) -> bool {
    let Some(description) = &tool.description else {
        return false;
    };
    let start = description.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = start.get(.."deprecated".len()).unwrap_or_default();
    word.eq_ignore_ascii_case("deprecated")
        || description.contains("DEPRECATED")
        || description.contains("tool is deprecated")
}

#[derive(Debug)]
pub(super) struct IndexSegment {
    pub(super) server: Arc<str>,
    /// The server's program name with the dot.
    pub(super) prefix: String,
    pub(super) tools: Arc<ToolSet>,
    /// The tools, sorted by path.
    pub(super) docs: Vec<Arc<Tool>>,
    /// The number of words in each tool's name.
    pub(super) name_words: Vec<u16>,
    /// Set for each tool whose description calls it deprecated.
    pub(super) deprecated: Vec<bool>,
    /// The stems, sorted.
    pub(super) terms: Vec<IndexTerm>,
    /// The words as written, sorted.
    pub(super) words: Vec<IndexWord>,
    /// Indices of tools by folded name.
    names: HashMap<String, Vec<u32>>,
}

/// A stem with the tools that contain it.
#[derive(Debug)]
pub(super) struct IndexTerm {
    pub(super) stem: Box<str>,
    pub(super) postings: Box<[Posting]>,
}

/// A word as written, for prefixes and misspelled words.
#[derive(Debug)]
pub(super) struct IndexWord {
    pub(super) text: Box<str>,
    /// A bit for each letter, which quickly rules out most other words.
    pub(super) letters: u32,
    /// The index of its stem.
    pub(super) term: u32,
}

/// A tool that contains a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) doc: u32,
    pub(super) weight: f32,
    pub(super) is_in_name: bool,
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
        let mut name_words = Vec::with_capacity(spelled.len());
        for (doc, (_, tool)) in (0..).zip(&spelled) {
            names.entry(fold(&tool.name)).or_default().push(doc);
            gathered.doc = doc;
            gathered.label(server, SERVER, false);
            let words = gathered.label(&tool.name, NAME, true);
            name_words.push(u16::try_from(words).unwrap_or(u16::MAX));
            gathered.tool(tool);
        }
        let deprecated = spelled
            .iter()
            .map(|(_, tool)| is_deprecated(tool))
            .collect();
        let docs = spelled.into_iter().map(|(_, tool)| Arc::clone(tool));
        let (terms, words) = gathered.into_terms();
        Self {
            server: server.into(),
            prefix: format!("{}.", spell(server)),
            docs: docs.collect(),
            name_words,
            deprecated,
            terms,
            words,
            names,
            tools: Arc::clone(tools),
        }
    }

    /// The tools with this folded name.
    pub(super) fn named(&self, folded: &str) -> &[u32] {
        self.names.get(folded).map_or(&[], Vec::as_slice)
    }

    pub(super) fn term(&self, stem: &str) -> Option<&IndexTerm> {
        let place = self.terms.binary_search_by(|term| (*term.stem).cmp(stem));
        place.ok().map(|place| &self.terms[place])
    }

    pub(super) fn term_of(&self, word: &IndexWord) -> &IndexTerm {
        &self.terms[word.term as usize]
    }

    /// The words that start with this word.
    pub(super) fn words_with_prefix<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = &'a IndexWord> {
        let from = self.words.partition_point(|word| *word.text < *prefix);
        let rest = self.words[from..].iter();
        rest.take_while(move |word| word.text.starts_with(prefix))
    }
}

/// The bit for all letters outside ASCII.
pub(super) const NON_ASCII_LETTER_BIT: u32 = 1 << 31;

pub(super) fn letters(word: &str) -> u32 {
    let bit = |byte: u8| match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'0'..=b'9' => 1 << (26 + byte % 5),
        _ => NON_ASCII_LETTER_BIT,
    };
    word.bytes().fold(0, |all, byte| all | bit(byte))
}

/// The indexed part of a schema. Most of a long schema is definitions.
#[derive(Deserialize)]
struct InputProperties {
    #[serde(default)]
    properties: Map<String, Value>,
}

/// The words found so far, with their tools.
#[derive(Default)]
struct SegmentBuilder {
    /// The index of each word's stem.
    words: HashMap<Box<str>, usize>,
    stems: HashMap<Box<str>, usize>,
    postings: Vec<Vec<Posting>>,
    doc: u32,
}

impl SegmentBuilder {
    /// Adds everything except the name.
    fn tool(&mut self, tool: &Tool) {
        let whole = fold(&tool.name);
        if !tool.name.eq_ignore_ascii_case(&whole) {
            self.add(&whole, NAME.weight, false);
        }
        if let Some(title) = &tool.title {
            self.label(title, TITLE, false);
        }
        if let Some(description) = &tool.description {
            let text = start(description, MAX_INDEXED_TEXT_BYTES);
            let (lead, rest) = text.split_at(lead_length(text));
            self.text(lead, LEAD);
            self.text(rest, DESCRIPTION);
        }
        let Ok(input) = serde_json::from_str::<InputProperties>(tool.input_schema_text()) else {
            return;
        };
        let arguments = || input.properties.iter().take(MAX_INDEXED_ARGUMENTS);
        let names: Vec<&str> = arguments()
            .map(|(name, _)| start(name, MAX_INDEXED_NOTE_BYTES))
            .collect();
        self.text(&names.join(" "), ARGUMENT);
        for (_, schema) in arguments() {
            if let Some(Value::String(note)) = schema.get("description") {
                self.text(start(note, MAX_INDEXED_NOTE_BYTES), ARGUMENT_DESCRIPTION);
            }
        }
    }

    /// Adds the words of a text, each as often as it occurs.
    fn text(&mut self, text: &str, field: FieldWeight) {
        let mut count = 0;
        word_splitting::each(text, |_| count += 1);
        let weight = field.of_word(count);
        word_splitting::each(text, |word| self.add(word, weight, false));
    }

    /// Adds the distinct words of a name. Returns their number.
    fn label(&mut self, label: &str, field: FieldWeight, is_name: bool) -> usize {
        let mut words: Vec<String> = Vec::new();
        let mut count = 0;
        word_splitting::each(start(label, MAX_INDEXED_NOTE_BYTES), |word| {
            count += 1;
            if !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        });
        let weight = field.of_word(count);
        for word in &words {
            self.add(word, weight, is_name);
        }
        words.len()
    }

    fn add(&mut self, word: &str, weight: f32, is_in_name: bool) {
        let term = if let Some(term) = self.words.get(word) {
            *term
        } else {
            let stem = vocabulary::stem(word);
            let term = if let Some(term) = self.stems.get(&*stem) {
                *term
            } else {
                self.postings.push(Vec::new());
                self.stems.insert(stem.into(), self.postings.len() - 1);
                self.postings.len() - 1
            };
            self.words.insert(word.into(), term);
            term
        };
        let postings = &mut self.postings[term];
        match postings.last_mut() {
            Some(last) if last.doc == self.doc => {
                last.weight += weight;
                last.is_in_name |= is_in_name;
            }
            _ => postings.push(Posting {
                doc: self.doc,
                weight,
                is_in_name,
            }),
        }
    }

    fn into_terms(mut self) -> (Vec<IndexTerm>, Vec<IndexWord>) {
        let mut stems: Vec<(Box<str>, usize)> = self.stems.into_iter().collect();
        stems.sort();
        let mut sorted = vec![0_u32; stems.len()];
        for (place, (_, term)) in (0..).zip(&stems) {
            sorted[*term] = place;
        }
        let words = self.words.into_iter().map(|(text, term)| IndexWord {
            letters: letters(&text),
            text,
            term: sorted[term],
        });
        let mut words: Vec<IndexWord> = words.collect();
        words.sort_by(|a, b| a.text.cmp(&b.text));
        let terms = stems.into_iter().map(|(stem, term)| IndexTerm {
            stem,
            postings: std::mem::take(&mut self.postings[term]).into(),
        });
        (terms.collect(), words)
    }
}

/// The length of the first sentence or line.
fn lead_length(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        if place >= MAX_LEAD_BYTES {
            return place;
        }
        let mut is_last = || letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = match letter {
            '\n' => true,
            '.' | '!' | '?' => is_last(),
            _ => false,
        };
        if ends && place >= MIN_LEAD_BYTES {
            return place + 1;
        }
    }
    text.len()
}

fn start(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
