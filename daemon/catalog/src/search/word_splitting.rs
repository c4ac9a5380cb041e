//! Splits texts and names into words, by case and separators.
//!
//! Invariant: the same text gives the same words, in a tool and in a query.

/// Calls `each` with every word of the text in lowercase, in order.
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
        // Splits `readFile` and `HTTPServer`. A word may contain and end with digits.
        let next_is_small = letters.peek().is_some_and(|next| next.is_lowercase());
        let begins = letter.is_uppercase()
            && (last.is_lowercase() || last.is_numeric() || (last.is_uppercase() && next_is_small));
        if begins {
            flush(&mut word, &mut each);
        }
        if letter.is_ascii() {
            word.push(letter.to_ascii_lowercase());
        } else {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    flush(&mut word, &mut each);
}

fn flush(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        each(word);
        word.clear();
    }
}

/// A name in lowercase without separators.
pub(super) fn fold(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
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
            ("list-issues.v2", "list issues v2"),
            ("S3Bucket tool4Me", "s3 bucket tool4 me"),
            ("Straßen; ÄRGER größe", "straßen ärger größe"),
            ("  ", ""),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }
}
