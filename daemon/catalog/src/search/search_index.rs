//! The index of all servers' tools, and the ranking of a query.
//!
//! Invariant: the order is total, so that pages never overlap: by exactness of the name, by the number of matching
//! words, by BM25, by path.

use std::{cmp::Ordering, sync::Arc};

use super::{
    IndexSegment, SearchHit,
    index_segment::{IndexTerm, NON_ASCII_LETTER_BIT, letters},
    word_splitting::{self, fold},
};
use crate::KnownServer;
use mux_text::digest::{Digest, DigestKey};

/// How soon further occurrences of the same word stop counting.
const TERM_SATURATION: f32 = 4.0;
/// The weight of a matching prefix and of a misspelled word, relative to a whole word.
const PREFIX_WEIGHT: f32 = 0.5;
const MISSPELLING_WEIGHT: f32 = 0.5;
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

    /// Whether the index was built from exactly these servers.
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
    let mut words = word_splitting::of_query(query);
    words.truncate(MAX_QUERY_WORDS);
    let (mut places, mut compared) = (MAX_POSTINGS, MAX_COMPARED_LETTERS);
    let mut sums = vec![0.0_f32; docs];
    let mut matched = vec![0_u16; docs];
    // The query may have no words.
    let mut most = f32::MIN_POSITIVE;
    let mut best = vec![0.0_f32; docs];
    let mut touched = Vec::new();
    for word in &words {
        for (base, term, factor) in meant(word, segments, bases, &mut compared) {
            let few = term.places.len().min(places);
            places -= few;
            for place in &term.places[..few] {
                let fit = factor * place.weight / (TERM_SATURATION + place.weight);
                let doc = base + place.doc as usize;
                if best[doc] == 0.0 {
                    touched.push(doc);
                }
                best[doc] = best[doc].max(fit);
            }
        }
        let (with, without) = (touched.len() as f32, (docs - touched.len()) as f32);
        let rarity = (1.0 + (without + 0.5) / (with + 0.5)).ln();
        most += rarity;
        for doc in touched.drain(..) {
            sums[doc] += rarity * std::mem::take(&mut best[doc]);
            matched[doc] = matched[doc].saturating_add(1);
        }
    }
    let meant = exact(query, segments, bases);
    for (doc, _) in &meant {
        matched[*doc] = matched[*doc].max(1);
    }
    let all = sums.iter().zip(&matched).enumerate();
    let mut scored: Vec<(f64, usize)> = all
        .filter(|(_, (_, matched))| **matched > 0)
        .map(|(doc, (sum, matched))| (f64::from(*matched) + f64::from(sum / most), doc))
        .collect();
    for (doc, level) in meant {
        if let Ok(place) = scored.binary_search_by_key(&doc, |(_, doc)| *doc) {
            scored[place].0 += level * (words.len() as f64 + 1.0);
        }
    }
    scored
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
                let literal = match is_path {
                    true => {
                        query == tool.path()
                            || query.strip_prefix(&segment.prefix) == Some(&spelled)
                    }
                    false => query == tool.name || query == spelled,
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

/// The index terms that a word of the query may mean, with their weights.
fn meant<'a>(
    word: &'a str,
    segments: &[(usize, &'a IndexSegment)],
    bases: &[usize],
    left: &mut usize,
) -> Vec<(usize, &'a IndexTerm, f32)> {
    let mut meant = Vec::new();
    let is_beginning = word.len() >= MIN_PREFIX_LETTERS;
    for ((_, segment), base) in segments.iter().zip(bases) {
        meant.extend(segment.term(word).map(|term| (*base, term, 1.0)));
        for term in segment.longer(word).take_while(|_| is_beginning) {
            let share = word.len() as f32 / term.text.len() as f32;
            meant.push((*base, term, PREFIX_WEIGHT * (0.5 + share / 2.0)));
        }
    }
    if meant.is_empty() {
        meant = misspelled(word, segments, bases, left);
    }
    meant
}

/// The index terms closest to a misspelled word.
fn misspelled<'a>(
    word: &str,
    segments: &[(usize, &'a IndexSegment)],
    bases: &[usize],
    left: &mut usize,
) -> Vec<(usize, &'a IndexTerm, f32)> {
    // Numbers are not corrected.
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let length = word.chars().count();
    let mut most = match length {
        0..MIN_LETTERS_FOR_ONE_TYPO => return Vec::new(),
        MIN_LETTERS_FOR_ONE_TYPO..MIN_LETTERS_FOR_TWO_TYPOS => 1,
        MIN_LETTERS_FOR_TWO_TYPOS..MAX_TYPO_LETTERS => 2,
        _ => return Vec::new(),
    };
    let mut nearest = Vec::new();
    let own = letters(word);
    for ((_, segment), base) in segments.iter().zip(bases) {
        for term in &segment.terms {
            // Each typo changes the length by at most one letter (up to four bytes), and at most two letter bits.
            let differ = (term.letters ^ own).count_ones() as usize;
            let bytes = if (term.letters | own) & NON_ASCII_LETTER_BIT == 0 {
                1
            } else {
                4
            };
            if differ > 2 * most || term.text.len().abs_diff(word.len()) > most * bytes {
                continue;
            }
            let Some(rest) = left.checked_sub(word.len() * term.text.len()) else {
                return nearest;
            };
            *left = rest;
            let slips = strsim::damerau_levenshtein(word, &term.text);
            if slips > most {
                continue;
            }
            if slips < most {
                nearest.clear();
                most = slips;
            }
            nearest.push((*base, term, MISSPELLING_WEIGHT));
        }
    }
    nearest
}
