//! The ranking of tools for a query, by a scan over all tools.
//!
//! The ranking is BM25F: a word counts by how rare it is among the tools, by the field that contains it, and less in a
//! long text. Synonyms of a word count less than the word itself, prefixes and misspelled words only if a tool has
//! neither. A tool ranks higher if its name consists of the words of the query, and if it contains many of them.
//!
//! Invariant: the order is total, by exactness of the name, then relevance, then path, so pages never overlap.

use std::sync::Arc;

use super::{
    forward_index::{ForwardIndex, IndexWord, IndexedTool, NON_ASCII_LETTER_BIT, letters},
    synonyms::synonyms,
    vocabulary::{QueryWord, query_words},
    word_splitting::fold,
};
use crate::ToolSet;

/// How soon further occurrences of the same word stop counting.
const TERM_SATURATION: f32 = 2.0;
/// The weights of a synonym, a matching prefix and a misspelled word, relative to the word itself.
const SYNONYM_WEIGHT: f32 = 0.8;
const PREFIX_WEIGHT: f32 = 0.5;
const MISSPELLING_WEIGHT: f32 = 0.5;
/// How much higher a tool ranks whose name consists of words of the query.
const NAME_COVERAGE_BONUS: f32 = 0.5;
/// How much higher a tool ranks that has all words of the query.
const QUERY_COVERAGE_BONUS: f32 = 1.5;
/// The share of its score that a deprecated tool keeps: its successor usually has the same words.
const DEPRECATED_FACTOR: f64 = 0.5;
/// Shorter words are not matched as prefixes.
const MIN_PREFIX_LETTERS: usize = 2;
/// The shortest words that may have one or two wrong letters.
const MIN_LETTERS_FOR_ONE_TYPO: usize = 4;
const MIN_LETTERS_FOR_TWO_TYPOS: usize = 8;
/// Longer words are not corrected.
const MAX_TYPO_LETTERS: usize = 40;
/// Further words of a query are ignored. Bounds the time that a tool takes.
const MAX_QUERY_WORDS: usize = 64;
/// How high a tool ranks whose name or path is the query, and how much higher if every letter is the same.
const NAME_LEVEL: f64 = 1.0;
const PATH_LEVEL: f64 = 2.0;
const LITERAL_BONUS: f64 = 2.0;
/// The limit of compared letters (the product of two words' lengths), over all misspelled words of a query.
const MAX_COMPARED_LETTERS: usize = 2_000_000;

/// A tool list with its index.
pub(super) struct IndexedList<'a> {
    pub(super) tools: &'a Arc<ToolSet>,
    pub(super) index: &'a ForwardIndex,
}

/// A tool that matches the query.
pub(super) struct RankedTool<'a> {
    pub(super) tools: &'a Arc<ToolSet>,
    pub(super) tool: &'a IndexedTool,
    pub(super) score: f64,
}

/// All matching tools, the best first, and among equals in the order of the lists. An empty query matches every tool.
pub(super) fn rank<'a>(query: &str, lists: &[IndexedList<'a>]) -> Vec<RankedTool<'a>> {
    let is_empty = query.trim().is_empty();
    let relevance = QueryRelevance::of(query, lists);
    let exact = ExactName::of(query);
    let mut ranked = Vec::new();
    for (list, matches) in lists.iter().zip(&relevance.matches) {
        let tools = list.tools;
        for tool in &list.index.tools {
            let score = if is_empty {
                Some(0.0)
            } else {
                let relevant = relevance.score(tool, matches);
                let level = exact.level(tools, tool);
                relevant.map_or(level, |score| Some(score + level.unwrap_or_default()))
            };
            ranked.extend(score.map(|score| RankedTool { tools, tool, score }));
        }
    }
    // The sort is stable.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// The words of a query, with the stems of the lists that match them.
struct QueryRelevance {
    words: Vec<QueryWord>,
    /// For each list, the matches of each of its stems.
    matches: Vec<Vec<Vec<WordMatch>>>,
    /// The largest possible sum, and the weight of all words.
    most: f32,
    weights: f32,
}

/// A query word that a stem matches.
#[derive(Clone)]
struct WordMatch {
    word: usize,
    /// How well the stem matches, from 0 to 1.
    weight: f32,
    /// The weight multiplied by the rarity of the meaning.
    relevance: f32,
}

/// A tool's best match of a query word, anywhere and in its name.
#[derive(Clone, Copy, Default)]
struct WordScore {
    relevance: f32,
    in_name: f32,
}

impl QueryRelevance {
    fn of(query: &str, lists: &[IndexedList<'_>]) -> Self {
        let mut relevance = Self {
            words: query_words(query, MAX_QUERY_WORDS),
            matches: lists
                .iter()
                .map(|list| vec![Vec::new(); list.index.tools_with_stem.len()])
                .collect(),
            // The query may have no words.
            most: f32::MIN_POSITIVE,
            weights: f32::MIN_POSITIVE,
        };
        let mut pool = SearchedPool {
            lists,
            tools: lists.iter().map(|list| list.index.tools.len()).sum(),
            letters_left: MAX_COMPARED_LETTERS,
        };
        for (place, word) in relevance.words.iter().enumerate() {
            let meanings = pool.meanings(word);
            let rarities = meanings.iter().map(|meaning| meaning.rarity);
            relevance.most += word.weight * rarities.fold(0.0, f32::max);
            relevance.weights += word.weight;
            for meaning in meanings {
                for found in meaning.stems {
                    relevance.matches[found.list][found.stem as usize].push(WordMatch {
                        word: place,
                        weight: found.weight,
                        relevance: meaning.rarity * found.weight,
                    });
                }
            }
        }
        relevance
    }

    /// The score of a tool with a match, between 0 and 1.
    fn score(&self, tool: &IndexedTool, matches: &[Vec<WordMatch>]) -> Option<f64> {
        let mut best = [WordScore::default(); MAX_QUERY_WORDS];
        let mut is_match = false;
        for stem in &tool.stems {
            for found in &matches[stem.stem as usize] {
                is_match = true;
                let best = &mut best[found.word];
                let fit = stem.weight / (TERM_SATURATION + stem.weight);
                best.relevance = best.relevance.max(found.relevance * fit);
                if stem.is_in_name {
                    best.in_name = best.in_name.max(found.weight);
                }
            }
        }
        if !is_match {
            return None;
        }
        let mut sum = 0.0;
        let mut matched = 0.0;
        let mut in_name = 0.0;
        for (word, best) in self.words.iter().zip(best) {
            if best.relevance > 0.0 {
                sum += word.weight * best.relevance;
                matched += word.weight;
                in_name += word.weight * best.in_name;
            }
        }
        let name = (in_name / f32::from(tool.name_words.max(1))).min(1.0);
        let bonus = (1.0 + NAME_COVERAGE_BONUS * name)
            * (1.0 + QUERY_COVERAGE_BONUS * matched / self.weights);
        let most = (1.0 + NAME_COVERAGE_BONUS) * (1.0 + QUERY_COVERAGE_BONUS) * self.most;
        let score = f64::from(sum * bonus / most);
        if tool.is_deprecated {
            Some(score * DEPRECATED_FACTOR)
        } else {
            Some(score)
        }
    }
}

/// The searched lists.
struct SearchedPool<'a> {
    lists: &'a [IndexedList<'a>],
    /// The number of tools.
    tools: usize,
    /// How many letters may still be compared.
    letters_left: usize,
}

/// One possible meaning of a query word.
struct WordMeaning {
    stems: Vec<FoundStem>,
    /// The rarity of the meaning among the tools.
    rarity: f32,
}

/// A stem of a list that may stand for a query word.
struct FoundStem {
    list: usize,
    stem: u32,
    weight: f32,
}

impl SearchedPool<'_> {
    /// The word itself and its synonyms. If the tools have none of these, longer words that start with it, or else the
    /// closest words.
    fn meanings(&mut self, word: &QueryWord) -> Vec<WordMeaning> {
        let own = self.with_stem(&word.stem, 1.0);
        // A frequent word is as vague in its synonyms.
        let most = own.as_ref().map_or(f32::INFINITY, |own| own.rarity);
        let mut meanings = Vec::from_iter(own);
        for synonym in synonyms(&word.stem) {
            if let Some(mut meaning) = self.with_stem(synonym, SYNONYM_WEIGHT) {
                meaning.rarity = meaning.rarity.min(most);
                meanings.push(meaning);
            }
        }
        if meanings.is_empty() {
            meanings.extend(self.meaning(self.with_prefix(&word.text)));
        }
        if meanings.is_empty() {
            let nearest = self.misspelled(&word.text);
            meanings.extend(self.meaning(nearest));
        }
        meanings
    }

    fn with_stem(&self, stem: &str, weight: f32) -> Option<WordMeaning> {
        let lists = self.lists.iter().enumerate();
        let stems = lists.filter_map(|(list, searched)| {
            let stem = searched.index.stem(stem)?;
            Some(FoundStem { list, stem, weight })
        });
        self.meaning(stems.collect())
    }

    fn meaning(&self, stems: Vec<FoundStem>) -> Option<WordMeaning> {
        if stems.is_empty() {
            return None;
        }
        let counts = stems.iter().map(|found| {
            self.lists[found.list].index.tools_with_stem[found.stem as usize] as usize
        });
        let with = counts.sum::<usize>().min(self.tools);
        let without = (self.tools - with) as f32;
        let rarity = (1.0 + (without + 0.5) / (with as f32 + 0.5)).ln();
        Some(WordMeaning { stems, rarity })
    }

    fn with_prefix(&self, prefix: &str) -> Vec<FoundStem> {
        let mut found = Vec::new();
        if prefix.len() < MIN_PREFIX_LETTERS {
            return found;
        }
        for (list, searched) in self.lists.iter().enumerate() {
            for word in searched.index.words_with_prefix(prefix) {
                let share = prefix.len() as f32 / word.text.len() as f32;
                found.push(FoundStem {
                    list,
                    stem: word.stem,
                    weight: PREFIX_WEIGHT * (0.5 + share / 2.0),
                });
            }
        }
        found
    }

    /// The stems of the words closest to a misspelled one.
    fn misspelled(&mut self, word: &str) -> Vec<FoundStem> {
        // Numbers are not corrected.
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return Vec::new();
        }
        let mut most = match word.chars().count() {
            0..MIN_LETTERS_FOR_ONE_TYPO => return Vec::new(),
            MIN_LETTERS_FOR_ONE_TYPO..MIN_LETTERS_FOR_TWO_TYPOS => 1,
            MIN_LETTERS_FOR_TWO_TYPOS..MAX_TYPO_LETTERS => 2,
            _ => return Vec::new(),
        };
        let mut nearest = Vec::new();
        let own = letters(word);
        for (list, searched) in self.lists.iter().enumerate() {
            for known in &searched.index.words {
                if !may_be_misspelled(word, own, known, most) {
                    continue;
                }
                let compared = word.len() * known.text.len();
                let Some(rest) = self.letters_left.checked_sub(compared) else {
                    return nearest;
                };
                self.letters_left = rest;
                let slips = strsim::damerau_levenshtein(word, &known.text);
                if slips > most {
                    continue;
                }
                if slips < most {
                    nearest.clear();
                    most = slips;
                }
                nearest.push(FoundStem {
                    list,
                    stem: known.stem,
                    weight: MISSPELLING_WEIGHT,
                });
            }
        }
        nearest
    }
}

/// True if two words may differ by at most `typos`, judged by their letters and lengths.
fn may_be_misspelled(word: &str, letters: u32, known: &IndexWord, typos: usize) -> bool {
    // Each typo changes the length by at most one letter (up to four bytes), and at most two letter bits.
    let differ = (known.letters ^ letters).count_ones() as usize;
    let bytes = if (known.letters | letters) & NON_ASCII_LETTER_BIT == 0 {
        1
    } else {
        4
    };
    differ <= 2 * typos && known.text.len().abs_diff(word.len()) <= typos * bytes
}

/// A query that may be the complete name or path of a tool.
struct ExactName<'a> {
    query: &'a str,
    folded: String,
}

impl<'a> ExactName<'a> {
    fn of(query: &'a str) -> Self {
        let query = query.trim();
        let query = query.strip_prefix("mux.").unwrap_or(query);
        let folded = fold(query);
        Self { query, folded }
    }

    /// How exactly the query names the tool: literally, or ignoring case and separators.
    fn level(&self, tools: &ToolSet, indexed: &IndexedTool) -> Option<f64> {
        let tool = &indexed.tool;
        let server = self.folded.strip_suffix(&*indexed.folded_name)?;
        let (level, is_literal) = if server.is_empty() {
            let is_literal = self.query == tool.name || self.query == tools.spelled(tool);
            (NAME_LEVEL, is_literal)
        } else if server == fold(&tool.server) {
            let is_literal = self.query == tool.path() || self.query == tools.path(tool);
            (PATH_LEVEL, is_literal)
        } else {
            return None;
        };
        Some(if is_literal {
            level + LITERAL_BONUS
        } else {
            level
        })
    }
}
