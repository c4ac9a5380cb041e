//! Detects `.` and `..` segments in a path.
//!
//! Invariant: a path without dot segments here has none for any server, however often the server decodes it.

use percent_encoding::percent_decode_str;

/// A path that still changes after this many decodings is treated as containing dot segments.
const MAX_DECODE_ROUNDS: usize = 4;

/// True if a segment is `.` or `..`, encoded or not, which would lead the path to another function. Some servers treat
/// `\` as a slash, and ignore the part of a segment after a `;`.
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
    fn dot_segments_are_found_in_every_encoding() {
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
