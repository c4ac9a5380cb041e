//! Finds secrets in prose: published formats, `Bearer` and `Basic` values, JSON web tokens, private keys, passwords and
//! tokens in URLs.
//!
//! Base64 in `data:` URIs is not searched, unless it encodes text or is too short for a file.
//!
//! Invariant: linear time, because each byte is examined a bounded number of times. No secret that was found is
//! followed by a character that could continue it, so a second pass finds no more secrets.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use base64::{
    Engine as _,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::{
    formats::{FORMATS, Format, is_word, reads_as_words},
    names::{Suspicion, suspicion},
    shape::{is_reference, may_be_secret},
};

/// Further patterns of the automaton, after [`FORMATS`].
const OTHERS: &[(&str, Kind)] = &[
    ("eyJ", Kind::JsonWebToken),
    ("-----BEGIN ", Kind::PrivateKey),
    ("://", Kind::Url),
    ("data:", Kind::DataUri),
    ("Bearer ", Kind::Bearer),
    ("bearer ", Kind::Bearer),
    ("BEARER ", Kind::Bearer),
    ("Basic ", Kind::Basic),
    ("basic ", Kind::Basic),
    ("BASIC ", Kind::Basic),
];

#[derive(Clone, Copy)]
enum Kind {
    JsonWebToken,
    PrivateKey,
    Url,
    DataUri,
    Bearer,
    Basic,
}

const MIN_JWT_PART: usize = 8;
const MAX_JWT_PARTS: usize = 5;
const MIN_BEARER_LEN: usize = 12;
const MIN_BASIC_LEN: usize = 8;
/// The maximum length of a PEM label such as `RSA PRIVATE KEY`.
const MAX_LABEL_LEN: usize = 64;
/// The minimum length of a private key whose end is missing.
const MIN_KEY_LEN: usize = 16;

/// The minimum length of Base64 in a `data:` URI that is not searched. Tokens are shorter.
const MIN_PAYLOAD_LEN: usize = 256;
/// The maximum length of the media type and its parameters in a `data:` URI.
const MAX_MEDIA_TYPE_LEN: usize = 128;
/// Parts of media types whose content is text.
const TEXT_TYPES: &[&str] = &["text/", "json", "javascript", "xml", "yaml", "form"];
/// The minimum length of the Base64 before a string that only looks like a token.
const BASE64_CONTEXT_LEN: usize = 40;

struct Scanner {
    automaton: AhoCorasick,
    /// For each format, the formats whose prefix is a prefix of its prefix, the longest first: `sk-` for `sk-proj-`.
    shorter: Vec<Vec<usize>>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let prefixes = FORMATS.iter().map(|format| format.prefix);
    let patterns = prefixes.chain(OTHERS.iter().map(|(pattern, _)| *pattern));
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(patterns);
    let shorter = FORMATS.iter().map(|long| {
        let begins = |at: &usize| {
            let short = FORMATS[*at].prefix;
            long.prefix != short && long.prefix.starts_with(short)
        };
        let mut shorter: Vec<usize> = (0..FORMATS.len()).filter(begins).collect();
        shorter.sort_by_key(|at| std::cmp::Reverse(FORMATS[*at].prefix.len()));
        shorter
    });
    Scanner {
        automaton: automaton.expect("a constant table of short prefixes"),
        shorter: shorter.collect(),
    }
});

/// A piece of a text, between spans that are masked already.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    /// True if a masked span is directly before (or after) the piece. A token does not begin (or end) there.
    pub(crate) follows_mask: bool,
    pub(crate) precedes_mask: bool,
}

impl<'a> Piece<'a> {
    fn whole(text: &'a str) -> Self {
        Self {
            text,
            follows_mask: false,
            precedes_mask: false,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns true if a word may begin at `at`.
    fn begins_word(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else {
            return !self.follows_mask;
        };
        // A JSON or URL escape.
        let escaped = match bytes[..at] {
            [.., b'\\', b'n' | b'r' | b't'] => true,
            [.., b'%', one, other] => one.is_ascii_hexdigit() && other.is_ascii_hexdigit(),
            _ => false,
        };
        !is_word(before) && !self.is_inside_base64(at) || escaped
    }

    /// Returns true if `at` is after a `+` or `/` of a longer run of Base64, which is not a path.
    fn is_inside_base64(&self, at: usize) -> bool {
        let before = &self.text.as_bytes()[..at];
        let Some(start) = at.checked_sub(BASE64_CONTEXT_LEN) else {
            return false;
        };
        let run = &before[start..];
        matches!(run.last(), Some(b'+' | b'/'))
            && run.iter().all(|byte| is_standard_base64(*byte))
            && !self.text.get(start..at).is_none_or(reads_as_words)
    }

    /// The end of the run of matching bytes that begins at `from`.
    fn run(&self, from: usize, fits: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let length = bytes[from..].iter().take_while(|byte| fits(**byte)).count();
        from + length
    }
}

/// Returns true if a text contains a secret.
pub(crate) fn finds(text: &str) -> bool {
    let mut found = Vec::new();
    scan(Piece::whole(text), &mut found, true);
    !found.is_empty()
}

/// Appends the spans of all secrets, unordered. Spans may overlap.
pub(crate) fn secrets(piece: Piece<'_>, found: &mut Vec<Range<usize>>) {
    scan(piece, found, false);
}

fn scan(piece: Piece<'_>, found: &mut Vec<Range<usize>>, one: bool) {
    let scanner = &*SCANNER;
    let mut at = 0;
    // The end of the last URL whose query was scanned.
    let mut read = 0;
    while at < piece.text.len() && (!one || found.is_empty()) {
        let Some(hit) = scanner
            .automaton
            .find(Input::new(piece.text).span(at..piece.text.len()))
        else {
            return;
        };
        let start = hit.start();
        let end = hit.end();
        at = start + 1;
        let number = hit.pattern().as_usize();
        let secret = match OTHERS.get(number.wrapping_sub(FORMATS.len())) {
            None => {
                let candidates = std::iter::once(&number).chain(&scanner.shorter[number]);
                let mut secrets = candidates.map(|at| of_format(piece, start, &FORMATS[*at]));
                secrets.find_map(|secret| secret)
            }
            Some((_, Kind::JsonWebToken)) => json_web_token(piece, start),
            Some((_, Kind::PrivateKey)) => private_key(piece, end),
            Some((_, Kind::DataUri)) => {
                at = at.max(end_of_payload(piece, end).unwrap_or(at));
                None
            }
            Some((_, Kind::Bearer)) => bearer(piece, start, end),
            Some((_, Kind::Basic)) => basic(piece, start, end),
            Some((_, Kind::Url)) => {
                if end >= read {
                    read = in_query(piece, end, found);
                }
                found.extend(password(piece, end));
                // The name before the password may be a token.
                None
            }
        };
        if let Some(secret) = secret {
            at = at.max(secret.end);
            found.push(secret);
        }
    }
}

fn of_format(piece: Piece<'_>, start: usize, format: &Format) -> Option<Range<usize>> {
    let begins = if format.prefix.starts_with(':') {
        start
            .checked_sub(1)
            .and_then(|before| piece.byte(before))?
            .is_ascii_digit()
    } else {
        (format.has_mark() && !format.is_ambiguous) || piece.begins_word(start)
    };
    let from = start + format.prefix.len();
    // Counts no further than needed to decide.
    let limit = format.max.unwrap_or(format.min) + 1;
    let bytes = &piece.text.as_bytes()[from..];
    let length = bytes
        .iter()
        .take(limit)
        .take_while(|byte| format.body.has(**byte))
        .count();
    if !begins || length < format.min {
        return None;
    }
    let mut end = piece.run(from, |byte| format.body.has(byte) || is_word(byte));
    // The end of a sentence.
    while piece.text[from..end].ends_with('.') {
        end -= 1;
    }
    if format.max.is_some_and(|max| end - from > max) || end - from < format.min {
        return None;
    }
    if !format.body.has_parts(&piece.text[from..end]) {
        return None;
    }
    if end == piece.text.len() && piece.precedes_mask && format.max.is_some() {
        return None;
    }
    if format.is_ambiguous && reads_as_words(&piece.text[from..end]) {
        return None;
    }
    let start = if format.keeps_prefix { from } else { start };
    Some(start..end)
}

/// The end of the Base64 of a `data:` URI whose scheme ends at `from`, or `None` if it must be searched.
fn end_of_payload(piece: Piece<'_>, from: usize) -> Option<usize> {
    let type_end = piece.run(from, |byte| {
        byte.is_ascii_alphanumeric() || b"/+.-;=_\"' ".contains(&byte)
    });
    let media_type = piece.text.get(from..type_end)?;
    let media_type = media_type.strip_suffix(";base64")?.to_ascii_lowercase();
    let is_text = TEXT_TYPES.iter().any(|part| media_type.contains(part));
    if piece.byte(type_end) != Some(b',')
        || media_type.len() > MAX_MEDIA_TYPE_LEN
        || !media_type.contains('/')
        || is_text
    {
        return None;
    }
    let start = type_end + 1;
    let end = piece.run(start, is_standard_base64);
    // Another alphabet begins here, and perhaps a token.
    let goes_on = piece
        .byte(end)
        .is_some_and(|byte| is_word(byte) || byte == b'.' || byte == b'%');
    (end - start >= MIN_PAYLOAD_LEN && !goes_on).then_some(end)
}

fn is_standard_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn json_web_token(piece: Piece<'_>, start: usize) -> Option<Range<usize>> {
    if !piece.begins_word(start) {
        return None;
    }
    let mut end = piece.run(start, is_word);
    if end - start < MIN_JWT_PART || piece.byte(end) != Some(b'.') {
        return None;
    }
    for part in 1..MAX_JWT_PARTS {
        if piece.byte(end) != Some(b'.') {
            break;
        }
        let next = piece.run(end + 1, is_word);
        if part == 1 && next - end <= MIN_JWT_PART {
            return None;
        }
        if next == end + 1 {
            break;
        }
        end = next;
    }
    Some(start..end)
}

/// The span between the first and the last line of a private key.
fn private_key(piece: Piece<'_>, label: usize) -> Option<Range<usize>> {
    let label_end = piece.run(label, |byte| byte.is_ascii_uppercase() || byte == b' ');
    let name = &piece.text[label..label_end];
    let rest = &piece.text[label_end..];
    if name.len() > MAX_LABEL_LEN || !name.contains("PRIVATE KEY") || !rest.starts_with("-----") {
        return None;
    }
    let from = label_end + "-----".len();
    let rest = &piece.text[from..];
    if let Some(next) = rest.find("-----")
        && let Some(end) = rest[next..].strip_prefix("-----END ")
        && end.starts_with(name)
    {
        return (next > 0).then(|| from..from + next);
    }
    let end = piece.run(from, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\')
    });
    (end - from >= MIN_KEY_LEN).then_some(from..end)
}

fn bearer(piece: Piece<'_>, start: usize, from: usize) -> Option<Range<usize>> {
    let fits = |byte| is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let end = piece.run(from, fits);
    let value = piece.text[from..end].trim_end_matches('.');
    (piece.begins_word(start) && value.len() >= MIN_BEARER_LEN && !reads_as_words(value))
        .then(|| from..from + value.len())
}

/// The Base64 of `user:password`.
fn basic(piece: Piece<'_>, start: usize, from: usize) -> Option<Range<usize>> {
    const EITHER: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let unpadded = piece.run(from, fits);
    let end = piece.run(unpadded, |byte| byte == b'=');
    if !piece.begins_word(start) || end - from < MIN_BASIC_LEN {
        return None;
    }
    let pair = String::from_utf8(EITHER.decode(&piece.text[from..end]).ok()?).ok()?;
    let is_login = pair.contains(':') && !pair.contains(char::is_control);
    // Without padding, a word character that follows belongs to the value.
    let is_whole = end > unpadded || !piece.byte(end).is_some_and(is_word);
    (is_login && is_whole).then_some(from..end)
}

/// Returns true if a byte ends a URL in prose or in JSON.
fn ends_url(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
}

/// The span of the password in `://user:password@host`.
fn password(piece: Piece<'_>, from: usize) -> Option<Range<usize>> {
    let end = piece.run(from, |byte| {
        !ends_url(byte) && !matches!(byte, b'/' | b'?' | b'#')
    });
    let (user, _) = piece.text[from..end].rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let start = from + name.len() + 1;
    (!password.is_empty() && !is_reference(password)).then(|| start..start + password.len())
}

/// Appends the spans of query values whose names announce a secret. Returns the end of the URL.
fn in_query(piece: Piece<'_>, from: usize, found: &mut Vec<Range<usize>>) -> usize {
    let end = piece.run(from, |byte| !ends_url(byte));
    let Some(query) = piece.text[from..end].find('?') else {
        return end;
    };
    let mut start = from + query + 1;
    for pair in piece.text[start..end].split(['&', ';', '#', '?']) {
        let next = start + pair.len() + 1;
        if let Some((name, value)) = pair.split_once('=') {
            // The end of a sentence.
            let value = value.trim_end_matches(['.', ',', ')', ']', '}', ':', '!']);
            let at = start + name.len() + 1;
            if suspicion(name) > Suspicion::None && may_be_secret(name, value) {
                found.push(at..at + value.len());
            }
        }
        start = next;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automaton_is_small() {
        assert!(
            SCANNER.automaton.memory_usage() < 128 << 10,
            "{}",
            SCANNER.automaton.memory_usage()
        );
    }
}
