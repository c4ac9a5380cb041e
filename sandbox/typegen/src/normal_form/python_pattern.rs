//! Patterns as Python writes them, in the syntax of JSON Schema.

use std::fmt::Write as _;

/// Translates named groups and the anchors of the whole string.
pub(super) fn translate(pattern: &str) -> String {
    if !pattern.contains(['\\', '?']) {
        return pattern.to_owned();
    }
    let mut translated = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut is_in_class = false;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix('\\') {
            let escaped = after.chars().next();
            match escaped {
                Some('A') if !is_in_class => translated.push('^'),
                Some('Z' | 'z') if !is_in_class => translated.push('$'),
                Some(other) => translated.extend(['\\', other]),
                None => translated.push('\\'),
            }
            rest = &after[escaped.map_or(0, char::len_utf8)..];
            continue;
        }
        if !is_in_class && let Some(after) = rest.strip_prefix("(?P<") {
            translated.push_str("(?<");
            rest = after;
            continue;
        }
        if !is_in_class
            && let Some(after) = rest.strip_prefix("(?P=")
            && let Some((name, after)) = after.split_once(')')
        {
            _ = write!(translated, "\\k<{name}>");
            rest = after;
            continue;
        }
        match letter {
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            _ => {}
        }
        translated.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn python_groups_and_anchors_are_translated() {
        for (python, expected) in [
            (r"\A[a-z]+\Z", "^[a-z]+$"),
            (r"(?P<y>\d{4})-(?P=y)", r"(?<y>\d{4})-\k<y>"),
            (r"[\Z(?P<]\\Z", r"[\Z(?P<]\\Z"),
            (r"^\w+\", r"^\w+\"),
            ("é", "é"),
        ] {
            assert_eq!(translate(python), expected, "{python}");
        }
    }
}
