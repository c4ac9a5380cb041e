//! The words of queries: which words count, how much, and the stem that they share with other forms.
//!
//! Invariant: words of tools and of queries have the same stems.

use std::{borrow::Cow, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};

use super::word_splitting;

/// Words that say nothing about a tool. Ignored unless the query has no others.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "being", "by", "can", "could", "did", "do", "does", "doing", "for", "from", "had", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "may", "me", "might",
    "mine", "must", "my", "need", "of", "on", "or", "our", "ours", "over", "please", "shall",
    "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "tool", "tools", "us", "want", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "yours",
];

/// Words that most requests contain, on any subject.
const WEAK_WORDS: &[&str] = &[
    "come",
    "find",
    "get",
    "give",
    "go",
    "make",
    "new",
    "one",
    "put",
    "see",
    "set",
    "show",
    "someone",
    "something",
    "start",
    "take",
    "tell",
    "thing",
    "use",
    "way",
];
const WEAK_WORD_WEIGHT: f32 = 0.8;

/// A distinct word of a query.
#[derive(Debug, PartialEq)]
pub(super) struct QueryWord {
    pub(super) text: String,
    pub(super) stem: String,
    /// The significance of the word, at most 1.
    pub(super) weight: f32,
}

/// The stem of a word in lowercase, by the English Snowball stemmer. Words that are not English keep their letters.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        STEMMER.stem(word)
    } else {
        Cow::Borrowed(word)
    }
}

/// The words of a query with distinct stems, at most `limit`, without stop words.
pub(super) fn query_words(text: &str, limit: usize) -> Vec<QueryWord> {
    let mut words: Vec<QueryWord> = Vec::new();
    let mut stop_words: Vec<QueryWord> = Vec::new();
    word_splitting::each(text, |word| {
        let (list, weight) = match () {
            () if contains(STOP_WORDS, word) => (&mut stop_words, 1.0),
            () if contains(WEAK_WORDS, word) => (&mut words, WEAK_WORD_WEIGHT),
            () => (&mut words, 1.0),
        };
        let stem = stem(word);
        if list.len() < limit && !list.iter().any(|known| known.stem == *stem) {
            list.push(QueryWord {
                text: word.to_owned(),
                stem: stem.into_owned(),
                weight,
            });
        }
    });
    if words.is_empty() { stop_words } else { words }
}

fn contains(words: &[&str], word: &str) -> bool {
    words.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["search", "searches", "searching", "searched"][..],
            &["query", "queries"],
            &["repository", "repositories"],
            &["box", "boxes"],
            &["branch", "branches"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        for word in ["s3", "größe", "日本語"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn stop_words_count_only_in_queries_without_others() {
        assert!(STOP_WORDS.is_sorted() && WEAK_WORDS.is_sorted());
        let words = |text| {
            let words = query_words(text, 9).into_iter();
            words
                .map(|word| (word.text, word.weight))
                .collect::<Vec<_>>()
        };
        let word = |text: &str, weight| (text.to_owned(), weight);
        assert_eq!(
            words("Show me all the files, FILE"),
            [word("show", WEAK_WORD_WEIGHT), word("files", 1.0)]
        );
        assert_eq!(words("what is")[0], word("what", 1.0));
        assert_eq!(query_words("one two three", 2).len(), 2);
    }
}
