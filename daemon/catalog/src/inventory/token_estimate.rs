//! Estimates how many tokens a text takes in a model, without a tokenizer.
//!
//! Tokenizers differ, and even one takes megabytes. The estimate was fitted to the two public ones (`o200k`, `cl100k`),
//! on the names and signatures of real servers, with a margin; `tests/it/discovery` compares it with them.
//!
//! Invariant: the parts of a text never count less than the whole, so a budget can be spent part by part.

/// The cost of a word. All costs are in hundredths of a token.
const WORD_COST: usize = 100;
/// Longer words are assumed to consist of several tokens.
const MAX_PIECE_LETTERS: usize = 7;
const EXTRA_LETTER_COST: usize = 15;
/// A run of consonants this long is not part of an ordinary word.
const MAX_CONSONANT_CLUSTER: usize = 4;
const DIGITS_PER_TOKEN: usize = 3;
const FIRST_SIGN_COST: usize = 70;
const NEXT_SIGN_COST: usize = 50;
/// An underscore forms one token with the following word, but not with a number.
const UNDERSCORE_COST: usize = 35;
const NEWLINE_COST: usize = 50;
const BLANK_COST: usize = 10;

/// An upper bound of the tokens of names, signatures and prose, as far as they consist of words.
pub fn tokens(text: &str) -> usize {
    hundredths(text).div_ceil(100)
}

fn hundredths(text: &str) -> usize {
    let mut sum = 0;
    let mut rest = text.as_bytes();
    while let Some(first) = rest.first() {
        let kind = ByteClass::of(*first);
        let same = rest.iter().take_while(|byte| ByteClass::of(**byte) == kind);
        let mut length = same.count();
        // `PathName`: a capital starts a word and belongs to the lowercase letters after it.
        if kind == ByteClass::Upper
            && let Some(next) = rest.get(length)
            && ByteClass::of(*next) == ByteClass::Lower
        {
            if length > 1 {
                sum += WORD_COST + (length - 2) * 40;
            }
            rest = &rest[length - 1..];
            length = 1 + rest[1..]
                .iter()
                .take_while(|byte| ByteClass::of(**byte) == ByteClass::Lower)
                .count();
        }
        sum += match kind {
            ByteClass::Lower | ByteClass::Upper => word(&rest[..length]),
            ByteClass::Digit => WORD_COST * length.div_ceil(DIGITS_PER_TOKEN),
            ByteClass::Underscore => match rest.get(length).map(|next| ByteClass::of(*next)) {
                Some(ByteClass::Lower | ByteClass::Upper) => UNDERSCORE_COST * length,
                _ => WORD_COST * length,
            },
            ByteClass::Comma => WORD_COST * length,
            ByteClass::Sign => FIRST_SIGN_COST + (length - 1) * NEXT_SIGN_COST,
            ByteClass::Blank => BLANK_COST * length,
            ByteClass::Line => NEWLINE_COST * length,
            ByteClass::Other => strange(&rest[..length]),
        };
        rest = &rest[length..];
    }
    sum
}

/// The cost of other bytes: at most one token each. Typographic dashes, quotes and ellipses are rarely more than one
/// token in total.
fn strange(bytes: &[u8]) -> usize {
    let signs = bytes
        .windows(2)
        .filter(|pair| *pair == [0xe2, 0x80])
        .count();
    WORD_COST * bytes.len() - signs * WORD_COST * 3 / 2
}

fn word(letters: &[u8]) -> usize {
    let long = letters.len().saturating_sub(MAX_PIECE_LETTERS) * EXTRA_LETTER_COST;
    let mut run = 0;
    let mut clusters = 0;
    for letter in letters {
        let is_vowel = b"aeiouyAEIOUY".contains(letter);
        run = if is_vowel { 0 } else { run + 1 };
        clusters += usize::from(run >= MAX_CONSONANT_CLUSTER);
    }
    WORD_COST + long + clusters * 50
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ByteClass {
    Lower,
    Upper,
    Digit,
    Underscore,
    Comma,
    Sign,
    Blank,
    Line,
    Other,
}

impl ByteClass {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Lower,
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            b'_' => Self::Underscore,
            b',' => Self::Comma,
            b' ' => Self::Blank,
            b'\n' => Self::Line,
            0x21..=0x7e => Self::Sign,
            _ => Self::Other,
        }
    }
}
