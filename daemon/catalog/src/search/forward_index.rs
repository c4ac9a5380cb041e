//! The words of one tool list: for each tool its stems, each with how much it counts there.
//!
//! Invariant: an index depends only on the tools, which it keeps sorted by path.

use std::{collections::HashMap, mem, sync::Arc};

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

/// The tools of a list with their stems.
#[derive(Debug)]
pub(crate) struct ForwardIndex {
    /// The tools, sorted by path.
    pub(super) tools: Vec<IndexedTool>,
    /// The number of each stem.
    stems: HashMap<Box<str>, u32>,
    /// For each stem, how many tools contain it.
    pub(super) tools_with_stem: Box<[u32]>,
    /// The words as written, sorted.
    pub(super) words: Box<[IndexWord]>,
}

#[derive(Debug)]
pub(super) struct IndexedTool {
    pub(super) tool: Arc<Tool>,
    /// The name in lowercase without separators.
    pub(super) folded_name: Box<str>,
    /// The number of distinct words in the name.
    pub(super) name_words: u16,
    /// Set if the description calls the tool deprecated.
    pub(super) is_deprecated: bool,
    pub(super) stems: Box<[StemWeight]>,
}

/// A stem that a tool contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct StemWeight {
    pub(super) stem: u32,
    pub(super) weight: f32,
    pub(super) is_in_name: bool,
}

/// A word as written, for prefixes and misspelled words.
#[derive(Debug)]
pub(super) struct IndexWord {
    pub(super) text: Box<str>,
    /// A bit for each letter, which quickly rules out most other words.
    pub(super) letters: u32,
    /// The number of its stem.
    pub(super) stem: u32,
}

impl ForwardIndex {
    pub(crate) fn of(tools: &ToolSet) -> Self {
        let mut sorted: Vec<&Arc<Tool>> = tools.iter().collect();
        sorted.sort_by_cached_key(|tool| tools.spelled(tool));
        let mut builder = IndexBuilder::default();
        let tools = sorted.into_iter().map(|tool| builder.index_tool(tool));
        let tools = tools.collect();
        let words = builder.words.into_iter().map(|(text, stem)| IndexWord {
            letters: letters(&text),
            text,
            stem,
        });
        let mut words: Box<[IndexWord]> = words.collect();
        words.sort_by(|a, b| a.text.cmp(&b.text));
        Self {
            tools,
            stems: builder.stems,
            tools_with_stem: builder.tools_with_stem.into(),
            words,
        }
    }

    /// The number of a stem, if a tool contains it.
    pub(super) fn stem(&self, stem: &str) -> Option<u32> {
        self.stems.get(stem).copied()
    }

    /// The words that start with this word.
    pub(super) fn words_with_prefix(&self, prefix: &str) -> impl Iterator<Item = &IndexWord> {
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

/// The words of the tools so far.
#[derive(Default)]
struct IndexBuilder {
    /// The number of each word's stem.
    words: HashMap<Box<str>, u32>,
    stems: HashMap<Box<str>, u32>,
    tools_with_stem: Vec<u32>,
    /// Every occurrence of a word in the current tool.
    occurrences: Vec<StemWeight>,
}

impl IndexBuilder {
    fn index_tool(&mut self, tool: &Arc<Tool>) -> IndexedTool {
        self.label(&tool.server, SERVER, false);
        let name_words = self.label(&tool.name, NAME, true);
        self.other_fields(tool);
        let mut stems = mem::take(&mut self.occurrences);
        stems.sort_by_key(|occurrence| occurrence.stem);
        stems.dedup_by(|next, kept| {
            let is_same = next.stem == kept.stem;
            if is_same {
                kept.weight += next.weight;
                kept.is_in_name |= next.is_in_name;
            }
            is_same
        });
        for stem in &stems {
            self.tools_with_stem[stem.stem as usize] += 1;
        }
        IndexedTool {
            tool: Arc::clone(tool),
            folded_name: fold(&tool.name).into(),
            name_words: u16::try_from(name_words).unwrap_or(u16::MAX),
            is_deprecated: is_deprecated(tool),
            stems: stems.into(),
        }
    }

    /// Adds everything except the name.
    fn other_fields(&mut self, tool: &Tool) {
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
        let stem = self.words.get(word).copied();
        let stem = stem.unwrap_or_else(|| self.number_word(word));
        self.occurrences.push(StemWeight {
            stem,
            weight,
            is_in_name,
        });
    }

    fn number_word(&mut self, word: &str) -> u32 {
        let stem = vocabulary::stem(word);
        let known = self.stems.get(&*stem).copied();
        let number = known.unwrap_or_else(|| {
            let next = u32::try_from(self.tools_with_stem.len()).unwrap_or(u32::MAX);
            self.stems.insert(stem.into(), next);
            self.tools_with_stem.push(0);
            next
        });
        self.words.insert(word.into(), number);
        number
    }
}

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
