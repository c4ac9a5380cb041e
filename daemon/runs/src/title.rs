//! What a program is called in a list: its first line that says something.

use mux_caller::one_line;

/// The first line that is no comment and no fence; empty for a program without one.
pub(super) fn program_title(source: &str) -> String {
    let mut in_comment = false;
    source
        .lines()
        .map(str::trim)
        .find(|line| {
            if in_comment {
                in_comment = !line.contains("*/");
                return false;
            }
            if line.starts_with("/*") {
                in_comment = !line.contains("*/");
                // A comment of one line may have code behind it.
                return line
                    .split_once("*/")
                    .is_some_and(|(_, code)| !code.trim().is_empty());
            }
            !(line.is_empty() || line.starts_with("//") || line.starts_with("```"))
        })
        .map(one_line)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_says_something_is_the_title() {
        let long = "x".repeat(100);
        let cut = format!("{}…", "x".repeat(79));
        for (source, expected) in [
            ("return 1", "return 1"),
            (
                "\n```ts\n// counts\n\n  const n = 1;\nreturn n\n```",
                "const n = 1;",
            ),
            ("/* one\n * two\n */\nreturn 2", "return 2"),
            ("/* one */ return 3", "/* one */ return 3"),
            ("/* one */\nreturn 4", "return 4"),
            ("// nothing\n", ""),
            ("", ""),
            ("a\u{1b}[31m\tb", "a [31m b"),
            (&long, &cut),
        ] {
            assert_eq!(program_title(source), expected, "{source:?}");
        }
    }
}
