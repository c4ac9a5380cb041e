//! The index of all servers' tools, and the ranking of a query.
//!
//! The ranking is BM25F: a word counts by how rare it is among the tools, by the field that contains it, and less in a
//! long text. Synonyms of a word count less than the word itself, prefixes and misspelled words only if a tool has
//! neither. A tool ranks higher if its name consists of the words of the query, and if it contains many of them.
//!
//! Invariant: the order is total, by exactness of the name, then relevance, then path, so pages never overlap.

use std::{cmp::Ordering, sync::Arc};

use super::{
    IndexSegment, SearchHit,
    index_segment::{IndexTerm, IndexWord, NON_ASCII_LETTER_BIT, letters},
    synonyms::synonyms,
    vocabulary::{QueryWord, query_words},
    word_splitting::fold,
};
use crate::KnownServer;
use mux_text::digest::{Digest, DigestKey};

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
/// Further words of a query are ignored.
const MAX_QUERY_WORDS: usize = 64;
/// The limit of compared letters (the product of two words' lengths), over all misspelled words of a query.
const MAX_COMPARED_LETTERS: usize = 2_000_000;
/// The limit of visited postings, over all words of a query.
const MAX_POSTINGS: usize = 5_000_000;

#[derive(Debug)]
pub struct SearchIndex {
    segments: Vec<Arc<IndexSegment>>,
    /// The digest of all servers and tools.
    key: DigestKey,
}

/// A tool in the index, with its score.
#[derive(Clone, Copy, Debug)]
pub struct IndexHit {
    segment: usize,
    doc: usize,
    score: f64,
}

pub(super) struct RankedHits {
    pub(super) hits: Vec<IndexHit>,
    pub(super) total: usize,
}

impl SearchIndex {
    /// Builds an index, reusing unchanged segments of `old`.
    pub(super) fn build(servers: &[KnownServer], old: Option<&Self>) -> Self {
        let mut digest = Digest::new();
        let mut segments = Vec::with_capacity(servers.len());
        for server in servers {
            let Some(tools) = &server.tools else { continue };
            digest = digest.text(&server.name).bytes(&tools.key);
            let same = |segment: &&Arc<IndexSegment>| {
                Arc::ptr_eq(&segment.tools, tools) && *segment.server == *server.name
            };
            let known = old.and_then(|old| old.segments.iter().find(same));
            segments.push(match known {
                Some(known) => Arc::clone(known),
                None => Arc::new(IndexSegment::build(&server.name, tools)),
            });
        }
        segments.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        Self {
            segments,
            key: digest.key(),
        }
    }

    /// True if the index was built from exactly these servers.
    pub(super) fn is_of(&self, servers: &[KnownServer]) -> bool {
        let listed = servers.iter().filter(|server| server.tools.is_some());
        listed.clone().count() == self.segments.len()
            && listed.into_iter().all(|server| {
                let mut segments = self.segments.iter();
                segments.any(|segment| {
                    let tools = server.tools.as_ref();
                    *segment.server == *server.name
                        && tools.is_some_and(|tools| Arc::ptr_eq(tools, &segment.tools))
                })
            })
    }

    /// The number of segments that two indexes share.
    #[cfg(test)]
    pub(super) fn shares_with(&self, other: &Self) -> usize {
        let mut shared = 0;
        for segment in &self.segments {
            let is_there = other
                .segments
                .iter()
                .any(|other| Arc::ptr_eq(other, segment));
            shared += usize::from(is_there);
        }
        shared
    }

    /// The number of tools.
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.docs.len()).sum()
    }

    pub(super) fn key(&self) -> &DigestKey {
        &self.key
    }

    pub(super) fn found(&self, hit: &IndexHit) -> SearchHit {
        let segment = &self.segments[hit.segment];
        SearchHit {
            tools: Arc::clone(&segment.tools),
            tool: Arc::clone(&segment.docs[hit.doc]),
            score: hit.score,
        }
    }

    /// At most `limit` hits starting at `from`, and the total number.
    pub(super) fn rank(
        &self,
        query: &str,
        server: Option<&str>,
        from: usize,
        limit: usize,
    ) -> RankedHits {
        let segments: Vec<(usize, &IndexSegment)> = self
            .segments
            .iter()
            .enumerate()
            .filter(|(_, segment)| server.is_none_or(|server| *segment.server == *server))
            .map(|(place, segment)| (place, &**segment))
            .collect();
        let mut bases = Vec::with_capacity(segments.len());
        let mut docs = 0;
        for (_, segment) in &segments {
            bases.push(docs);
            docs += segment.docs.len();
        }
        let hit = |doc: usize, score: f64| {
            let place = bases.partition_point(|base| *base <= doc) - 1;
            IndexHit {
                segment: segments[place].0,
                doc: doc - bases[place],
                // Rounded, because people read it.
                score: (score * 1e4).round() / 1e4,
            }
        };
        if query.trim().is_empty() {
            let hits = (from.min(docs)..docs).take(limit);
            return RankedHits {
                hits: hits.map(|doc| hit(doc, 0.0)).collect(),
                total: docs,
            };
        }
        let mut scored = scored(query, &segments, &bases, docs);
        let total = scored.len();
        let order = |a: &(f64, usize), b: &(f64, usize)| match b.0.total_cmp(&a.0) {
            Ordering::Equal => a.1.cmp(&b.1),
            unequal => unequal,
        };
        let end = from.saturating_add(limit).min(total);
        if end < total {
            scored.select_nth_unstable_by(end, order);
            scored.truncate(end);
        }
        scored.sort_unstable_by(order);
        let page = scored.drain(from.min(end)..);
        RankedHits {
            hits: page.map(|(score, doc)| hit(doc, score)).collect(),
            total,
        }
    }
}

/// Every matching tool, with its score.
fn scored(
    query: &str,
    segments: &[(usize, &IndexSegment)],
    bases: &[usize],
    docs: usize,
) -> Vec<(f64, usize)> {
    let words = query_words(query, MAX_QUERY_WORDS);
    let pool = SearchedPool {
        segments,
        bases,
        docs,
    };
    let mut relevance = RelevanceScores::new(docs);
    let mut budget = SearchBudget {
        postings: MAX_POSTINGS,
        letters: MAX_COMPARED_LETTERS,
    };
    for word in &words {
        relevance.add_word(word.weight, &pool.meanings(word, &mut budget), &mut budget);
    }
    let find = |doc: usize| {
        let place = bases.partition_point(|base| *base <= doc) - 1;
        (segments[place].1, doc - bases[place])
    };
    let name_words = |doc: usize| {
        let (segment, tool) = find(doc);
        segment.name_words[tool]
    };
    let mut scored = relevance.scores(name_words);
    for (score, doc) in &mut scored {
        let (segment, tool) = find(*doc);
        if segment.deprecated[tool] {
            *score *= DEPRECATED_FACTOR;
        }
    }
    for (doc, level) in exact(query, segments, bases) {
        match scored.binary_search_by_key(&doc, |(_, doc)| *doc) {
            Ok(place) => scored[place].0 += level,
            Err(place) => scored.insert(place, (level, doc)),
        }
    }
    scored
}

/// The remaining budget of one search.
struct SearchBudget {
    postings: usize,
    letters: usize,
}

/// The searched segments, with the index of each one's first tool.
struct SearchedPool<'a> {
    segments: &'a [(usize, &'a IndexSegment)],
    bases: &'a [usize],
    docs: usize,
}

/// One possible meaning of a query word: terms of the segments, each with its weight.
struct WordMeaning<'a> {
    terms: Vec<(usize, &'a IndexTerm, f32)>,
    /// The rarity of the meaning among the tools.
    rarity: f32,
}

impl<'a> SearchedPool<'a> {
    /// The word itself and its synonyms. If the tools have none of these, longer words that start with it, or else the
    /// closest words.
    fn meanings(&self, word: &QueryWord, budget: &mut SearchBudget) -> Vec<WordMeaning<'a>> {
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
            meanings.extend(self.meaning(self.misspelled(&word.text, budget)));
        }
        meanings
    }

    fn with_stem(&self, stem: &str, weight: f32) -> Option<WordMeaning<'a>> {
        let segments = self.segments.iter().zip(self.bases);
        let terms = segments.filter_map(|((_, segment), base)| {
            let term = segment.term(stem)?;
            Some((*base, term, weight))
        });
        self.meaning(terms.collect())
    }

    fn meaning(&self, terms: Vec<(usize, &'a IndexTerm, f32)>) -> Option<WordMeaning<'a>> {
        let postings = terms.iter().map(|(_, term, _)| term.postings.len());
        let with = postings.sum::<usize>().min(self.docs);
        let (with, without) = (with as f32, (self.docs - with) as f32);
        let rarity = (1.0 + (without + 0.5) / (with + 0.5)).ln();
        (!terms.is_empty()).then_some(WordMeaning { terms, rarity })
    }

    fn with_prefix(&self, prefix: &str) -> Vec<(usize, &'a IndexTerm, f32)> {
        let mut found: Vec<(usize, &IndexTerm, f32)> = Vec::new();
        if prefix.len() < MIN_PREFIX_LETTERS {
            return found;
        }
        for ((_, segment), base) in self.segments.iter().zip(self.bases) {
            let segment: &'a IndexSegment = segment;
            for word in segment.words_with_prefix(prefix) {
                let share = prefix.len() as f32 / word.text.len() as f32;
                let weight = PREFIX_WEIGHT * (0.5 + share / 2.0);
                found.push((*base, segment.term_of(word), weight));
            }
        }
        found
    }

    /// The index terms of the words closest to a misspelled one.
    fn misspelled(
        &self,
        word: &str,
        budget: &mut SearchBudget,
    ) -> Vec<(usize, &'a IndexTerm, f32)> {
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
        for ((_, segment), base) in self.segments.iter().zip(self.bases) {
            let segment: &'a IndexSegment = segment;
            for known in &segment.words {
                if !may_be_misspelled(word, own, known, most) {
                    continue;
                }
                let Some(rest) = budget.letters.checked_sub(word.len() * known.text.len()) else {
                    return nearest;
                };
                budget.letters = rest;
                let slips = strsim::damerau_levenshtein(word, &known.text);
                if slips > most {
                    continue;
                }
                if slips < most {
                    nearest.clear();
                    most = slips;
                }
                nearest.push((*base, segment.term_of(known), MISSPELLING_WEIGHT));
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

/// The sums of all tools over the words of a query.
struct RelevanceScores {
    sums: Vec<f32>,
    /// The weight of the query words in each tool, and in its name.
    matched: Vec<f32>,
    in_name: Vec<f32>,
    /// The largest possible sum, and the weight of all words.
    most: f32,
    weights: f32,
    /// For the current word: each tool's best match, anywhere and in its name, and the tools with a match.
    best: Vec<f32>,
    best_in_name: Vec<f32>,
    touched: Vec<usize>,
}

impl RelevanceScores {
    fn new(docs: usize) -> Self {
        let zeros = || vec![0.0; docs];
        Self {
            sums: zeros(),
            matched: zeros(),
            in_name: zeros(),
            // The query may have no words.
            most: f32::MIN_POSITIVE,
            weights: f32::MIN_POSITIVE,
            best: zeros(),
            best_in_name: zeros(),
            touched: Vec::new(),
        }
    }

    fn add_word(&mut self, weight: f32, meanings: &[WordMeaning<'_>], budget: &mut SearchBudget) {
        let rarities = meanings.iter().map(|meaning| meaning.rarity);
        self.most += weight * rarities.fold(0.0, f32::max);
        self.weights += weight;
        for meaning in meanings {
            for (base, term, factor) in &meaning.terms {
                let few = term.postings.len().min(budget.postings);
                budget.postings -= few;
                for posting in &term.postings[..few] {
                    let fit = posting.weight / (TERM_SATURATION + posting.weight);
                    let doc = base + posting.doc as usize;
                    if self.best[doc] == 0.0 {
                        self.touched.push(doc);
                    }
                    self.best[doc] = self.best[doc].max(meaning.rarity * factor * fit);
                    if posting.is_in_name {
                        self.best_in_name[doc] = self.best_in_name[doc].max(*factor);
                    }
                }
            }
        }
        for doc in self.touched.drain(..) {
            self.sums[doc] += weight * std::mem::take(&mut self.best[doc]);
            self.matched[doc] += weight;
            self.in_name[doc] += weight * std::mem::take(&mut self.best_in_name[doc]);
        }
    }

    /// The tools with a match, each with a score between 0 and 1.
    fn scores(&self, name_words: impl Fn(usize) -> u16) -> Vec<(f64, usize)> {
        let matched = self.matched.iter().enumerate();
        let matched = matched.filter(|(_, matched)| **matched > 0.0);
        matched
            .map(|(doc, matched)| {
                let name = (self.in_name[doc] / f32::from(name_words(doc).max(1))).min(1.0);
                let bonus = (1.0 + NAME_COVERAGE_BONUS * name)
                    * (1.0 + QUERY_COVERAGE_BONUS * matched / self.weights);
                let most = (1.0 + NAME_COVERAGE_BONUS) * (1.0 + QUERY_COVERAGE_BONUS) * self.most;
                (f64::from(self.sums[doc] * bonus / most), doc)
            })
            .collect()
    }
}

/// Tools whose complete name or path is the query: literally, or ignoring case and separators.
fn exact(query: &str, segments: &[(usize, &IndexSegment)], bases: &[usize]) -> Vec<(usize, f64)> {
    let query = query.trim();
    let query = query.strip_prefix("mux.").unwrap_or(query);
    let folded = fold(query);
    let mut found = Vec::new();
    for ((_, segment), base) in segments.iter().zip(bases) {
        let mut add = |name: &str, is_path: bool| {
            for doc in segment.named(name) {
                let tool = &segment.docs[*doc as usize];
                let spelled = segment.tools.spelled(tool);
                let literal = if is_path {
                    query == tool.path() || query.strip_prefix(&segment.prefix) == Some(&spelled)
                } else {
                    query == tool.name || query == spelled
                };
                let level = if is_path { 2.0 } else { 1.0 };
                found.push((
                    base + *doc as usize,
                    level + if literal { 2.0 } else { 0.0 },
                ));
            }
        };
        add(&folded, false);
        if let Some(name) = folded.strip_prefix(&fold(&segment.server)) {
            add(name, true);
        }
    }
    found
}
