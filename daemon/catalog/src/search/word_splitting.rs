//! Splits texts and names into words, by case and separators, in the singular.
//!
//! Invariant: the same text gives the same words, in a tool and in a query.

/// Words that say nothing about a tool, ignored unless the query has no others.
const STOP_WORDS: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "for", "from",
    "how", "i", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "please", "some",
    "that", "the", "this", "to", "tool", "want", "what", "which", "with",
];

/// Calls `each` with every word of the text, in order.
pub(crate) fn each(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut last = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            flush(&mut word, &mut each);
            last = letter;
            continue;
        }
        // Splits `readFile` and `HTTPServer`; a word may contain and end with digits.
        let next_is_small = letters.peek().is_some_and(|next| next.is_lowercase());
        let begins = letter.is_uppercase()
            && (last.is_lowercase() || last.is_numeric() || (last.is_uppercase() && next_is_small));
        if begins {
            flush(&mut word, &mut each);
        }
        match letter.is_ascii() {
            true => word.push(letter.to_ascii_lowercase()),
            false => word.extend(letter.to_lowercase()),
        }
        last = letter;
    }
    flush(&mut word, &mut each);
}

fn flush(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        stem(word);
        each(word);
        word.clear();
    }
}

/// The distinct words of a query, without stop words.
pub(super) fn of_query(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    each(text, |word| {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    });
    if words.iter().any(|word| !is_empty(word)) {
        words.retain(|word| !is_empty(word));
    }
    words
}

fn is_empty(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// A name in lowercase without separators.
pub(super) fn fold(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Reduces plurals only, the most frequent variation, so that different words rarely collide.
fn stem(word: &mut String) {
    let ends = |word: &str, endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if !word.is_ascii() || word.len() < 4 {
        return;
    }
    if ends(word, &["sses", "shes", "ches", "xes", "zes", "tuses"]) {
        word.truncate(word.len() - 2);
    } else if ends(word, &["s"]) && !ends(word, &["ss", "us", "is", "as"]) {
        word.pop();
    }
    // `queries` and `query`, `movies` and `movie`.
    if ends(word, &["ie"]) && word.len() > 3 {
        word.truncate(word.len() - 2);
        word.push('y');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn names_are_split_by_case_and_separators() {
        for (text, expected) in [
            ("read_text_file", "read text file"),
            ("getHTTPResponse", "get http response"),
            ("list-issues.v2", "list issue v2"),
            ("S3Bucket tool4Me", "s3 bucket tool4 me"),
            ("Straßen; ÄRGER größe", "straßen ärger größe"),
            ("boxes classes statuses branches", "box class status branch"),
            ("queries query movies movie", "query query movy movy"),
            ("status analysis this gas", "status analysis this gas"),
            ("  ", ""),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn stop_words_count_only_in_queries_without_others() {
        assert!(STOP_WORDS.is_sorted());
        assert_eq!(of_query("Show me all the files, FILE"), ["show", "file"]);
        assert_eq!(of_query("what is this"), ["what", "is", "this"]);
    }
}
