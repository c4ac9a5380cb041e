//! Replaces known secrets and published token formats by [`MASK`].
//!
//! Invariant: masking is idempotent and takes linear time, and its output contains no known value.

use std::{borrow::Cow, collections::VecDeque, fmt, ops::Range, sync::Arc};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use parking_lot::Mutex;

use crate::{
    MASK,
    known::{KnownSecrets, MIN_KNOWN_LEN},
    scan::{self, Piece},
    secret::Secret,
};

/// Masks known secrets. Without any it still masks published formats.
#[derive(Clone)]
pub struct Masker {
    known: Option<AhoCorasick>,
    /// [`MASK`], or, if a known value contains `*`, a character that no known value contains.
    mask: Cow<'static, str>,
}

impl Default for Masker {
    fn default() -> Self {
        Self {
            known: None,
            mask: Cow::Borrowed(MASK),
        }
    }
}

impl Masker {
    pub fn new(known: &KnownSecrets) -> Self {
        if known.is_empty() {
            return Self::default();
        }
        let automaton = AhoCorasick::builder()
            // The smallest kind: each session has a masker.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(known.iter().map(Secret::expose));
        Self {
            known: Some(automaton.expect("secrets have less than 2 GiB together")),
            mask: mask_for(known),
        }
    }

    /// Masks known values and published formats in prose: errors, logs, status.
    pub fn text(&self, text: &str) -> String {
        let known = self.known_in(text);
        let mut spans = known.clone();
        let stars = self.mask.chars().next().unwrap_or('*');
        let masked = masks_in(text, stars);
        let mut taken = known;
        taken.extend(masked);
        let taken = merged(taken);
        let mut found = Vec::new();
        let mut at = 0;
        for next in taken
            .iter()
            .cloned()
            .chain(std::iter::once(text.len()..text.len()))
        {
            if at < next.start {
                let piece = Piece {
                    text: &text[at..next.start],
                    follows_mask: at > 0,
                    precedes_mask: next.start < text.len(),
                };
                scan::secrets(piece, &mut found);
                spans.extend(found.drain(..).map(|span| at + span.start..at + span.end));
            }
            at = next.end;
        }
        self.replaced(text, merged(spans))
    }

    /// Applies [`Masker::text`] to each string in a JSON document, which therefore stays valid JSON. Text between
    /// strings is treated as prose.
    pub fn json(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        while let Some(start) = rest.find('"') {
            let Some(length) = string_length(&rest[start..]) else {
                break;
            };
            let (before, after) = rest.split_at(start);
            let (literal, after) = after.split_at(length);
            out.push_str(before);
            match serde_json::from_str::<String>(literal) {
                Ok(text) => {
                    let masked = self.text(&text);
                    if masked == text {
                        out.push_str(literal);
                    } else {
                        out.push_str(&serde_json::Value::from(masked).to_string());
                    }
                }
                Err(_) => out.push_str(&self.text(literal)),
            }
            rest = after;
        }
        out.push_str(&self.text(rest));
        out
    }

    /// Masks only known values, for a text that is otherwise passed on unchanged.
    pub fn known_values(&self, text: &str) -> String {
        self.replaced(text, self.known_in(text))
    }

    fn known_in(&self, text: &str) -> Vec<Range<usize>> {
        let known = self.known.iter();
        let found = known.flat_map(|known| known.find_iter(text));
        merged(found.map(|found| found.range()).collect())
    }

    fn replaced(&self, text: &str, spans: Vec<Range<usize>>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for span in spans {
            out.push_str(&text[at..span.start]);
            out.push_str(&self.mask);
            at = span.end;
        }
        out.push_str(&text[at..]);
        out
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker").finish_non_exhaustive()
    }
}

/// The length of the JSON string literal at the start of `text`, with its quotes.
fn string_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some(end + 2)
}

/// A mask that cannot become part of a known value.
fn mask_for(known: &KnownSecrets) -> Cow<'static, str> {
    let is_free = |c: char| !known.iter().any(|secret| secret.expose().contains(c));
    if is_free('*') {
        return Cow::Borrowed(MASK);
    }
    // More candidates than a list of secrets can contain.
    let mut others = "…█▒#".chars().chain('\u{e000}'..='\u{f8ff}');
    Cow::Owned(others.find(|c| is_free(*c)).unwrap_or('…').to_string())
}

/// The spans of `text` that are masked already.
fn masks_in(text: &str, mask: char) -> Vec<Range<usize>> {
    let least = if mask == '*' {
        MASK.len()
    } else {
        mask.len_utf8()
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, part) in text.match_indices(mask) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + part.len(),
            _ => found.push(at..at + part.len()),
        }
    }
    found.retain(|run| run.len() >= least);
    found
}

/// Sorts spans, and merges those that touch or overlap.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut all: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans.into_iter().filter(|span| !span.is_empty()) {
        match all.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => all.push(span),
        }
    }
    all
}

/// The maximum number of tokens that are remembered: a server may mention the last one while the next is in use.
const MAX_TOKENS: usize = 4;

/// A [`Masker`] for fixed secrets and for the most recent tokens.
pub struct RecentTokens {
    fixed: KnownSecrets,
    state: Mutex<State>,
}

/// Guarded by `RecentTokens::state`.
struct State {
    /// Tokens, the newest first.
    tokens: VecDeque<Secret>,
    masker: Arc<Masker>,
}

impl RecentTokens {
    pub fn beside(fixed: KnownSecrets) -> Self {
        let masker = Arc::new(Masker::new(&fixed));
        let tokens = VecDeque::new();
        Self {
            fixed,
            state: Mutex::new(State { tokens, masker }),
        }
    }

    /// Masks `token` from now on, until `MAX_TOKENS` newer ones have been remembered.
    pub fn remember(&self, token: &str) {
        let mut state = self.state.lock();
        if token.len() < MIN_KNOWN_LEN || state.tokens.iter().any(|known| known.expose() == token) {
            return;
        }
        state.tokens.truncate(MAX_TOKENS - 1);
        state.tokens.push_front(Secret::new(token));
        let mut known = self.fixed.clone();
        known.add_all(state.tokens.iter().map(Secret::expose));
        state.masker = Arc::new(Masker::new(&known));
    }

    pub fn masker(&self) -> Arc<Masker> {
        Arc::clone(&self.state.lock().masker)
    }

    /// The fixed secrets, without the tokens.
    pub fn fixed(&self) -> &KnownSecrets {
        &self.fixed
    }
}

impl fmt::Debug for RecentTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentTokens").finish_non_exhaustive()
    }
}
