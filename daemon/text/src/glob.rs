//! Globs, parsed once.

use wildmatch::WildMatch;

/// A glob: `*` matches any characters, `?` exactly one. All other characters are literal.
#[derive(Clone, Debug)]
pub struct Glob {
    pattern: WildMatch,
    text: String,
    /// The end of the literal prefix, and the start of the literal suffix. Most non-matching strings differ there,
    /// and with a single `*` no other part is compared.
    head: usize,
    tail: usize,
}

impl Glob {
    pub fn new(text: &str) -> Self {
        Self {
            pattern: WildMatch::new(text),
            head: text.find(['*', '?']).unwrap_or(text.len()),
            // Both are one byte long.
            tail: text.rfind(['*', '?']).map_or(0, |last| last + 1),
            text: text.to_owned(),
        }
    }

    pub fn matches(&self, text: &str) -> bool {
        if self.is_literal() {
            return text == self.text;
        }
        let head = self.head();
        let tail = &self.text[self.tail..];
        let ends =
            text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail);
        let only = &self.text[self.head..self.tail];
        ends && (only == "*" || self.pattern.matches(text))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_literal(&self) -> bool {
        self.head == self.text.len()
    }

    /// The literal prefix before the first wildcard.
    pub fn head(&self) -> &str {
        &self.text[..self.head]
    }
}

/// Returns true if a pattern may match a string that begins with `head`, or if in doubt.
pub fn may_match_below(pattern: &str, head: &str) -> bool {
    match pattern.find(['*', '?']) {
        Some(end) => head.starts_with(&pattern[..end]) || pattern[..end].starts_with(head),
        None => pattern.starts_with(head),
    }
}

/// Returns true if a pattern matches, for a single use.
pub fn glob(pattern: &str, text: &str) -> bool {
    WildMatch::new(pattern).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_may_match_texts_with_common_prefix() {
        for (pattern, expected) in [
            ("blog.query.a", true),
            ("blog.q*", true),
            ("*", true),
            ("?log.graphql", true),
            ("blog.query.us?r", true),
            ("blog.graphql", false),
            ("blog.g*", false),
            ("other.*", false),
            ("", false),
        ] {
            assert_eq!(
                may_match_below(pattern, "blog.query"),
                expected,
                "{pattern}"
            );
        }
    }

    #[test]
    fn globs_match_whole_texts() {
        for (pattern, text, expected) in [
            ("github.delete_*", "github.delete_repo", true),
            ("github.delete_*", "github.list", false),
            ("*", "a.b", true),
            ("*.read?", "a.read1", true),
            ("a.*.c*d", "a.x.y.c.d", true),
            ("a.b", "a.bc", false),
            ("a.b", "a.b", true),
            ("", "", true),
            ("", "a", false),
            ("ä*", "äb", true),
            ("*ä", "bä", true),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("a*?", "a", false),
            ("a*?", "ab", true),
            ("?", "ä", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
            assert_eq!(
                Glob::new(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }
}
