//! Steps from one folder to another within a path.
//!
//! Invariant: whoever reads the path, and however often he decodes it, finds no step in what is said to have none.

use percent_encoding::percent_decode_str;

/// What is decoded more often than this is not what it looks like.
const MAX_DECODE_ROUNDS: usize = 4;

/// Whether `.` or `..` is a whole segment of it, encoded or not: it would make another function of the path. Some
/// take `\` for a slash, and what follows a `;` for no part of the segment.
pub(crate) fn has_steps(path: &str) -> bool {
    let is_step = |segment: &str| {
        let name = segment.split(';').next().unwrap_or(segment);
        matches!(name, "." | "..")
    };
    let mut path = path.to_owned();
    for _ in 0..MAX_DECODE_ROUNDS {
        if path.split(['/', '\\']).any(is_step) {
            return true;
        }
        let decoded = percent_decode_str(&path).decode_utf8_lossy().into_owned();
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_in_every_spelling_and_dots_elsewhere_are_none() {
        for (path, expected) in [
            ("..", true),
            ("a/../b", true),
            ("/a/./b", true),
            ("/f/..%2Fadmin%2F1", true),
            ("%2e%2E%2fadmin", true),
            (".%2e", true),
            ("a%5C..%5Cb", true),
            ("..%252fadmin", true),
            ("..%25252525252fadmin", true),
            ("..;x/admin", true),
            ("/src%2Fmain.rs", false),
            ("..foo", false),
            ("foo../bar", false),
            ("a..b", false),
            ("...", false),
            ("100%25", false),
            ("%25%", false),
            ("", false),
        ] {
            assert_eq!(has_steps(path), expected, "{path}");
        }
    }
}
