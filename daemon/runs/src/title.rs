//! The title of a run: the name that its client gave it, or a line of its program.

use mux_caller::one_line;
use mux_text::sanitize::clean;

/// The name that a client gives its program, shortened to one line. `None` if nothing of it is visible.
pub(super) fn program_name(name: &str) -> Option<String> {
    let name = one_line(clean(name).trim());
    (!name.is_empty()).then_some(name)
}

/// The first line that is not blank, a comment or a Markdown fence. Empty if there is none.
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
                // Code may follow a one-line comment.
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
    fn name_is_one_short_visible_line() {
        let long = "n".repeat(100);
        let cut = format!("{}…", "n".repeat(79));
        for (name, expected) in [
            ("report.ts", Some("report.ts")),
            (" \n\u{200b}", None),
            ("a\u{1b}[2J\u{202e}\nb.ts", Some("a[2J b.ts")),
            (&*long, Some(cut.as_str())),
        ] {
            assert_eq!(program_name(name).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn title_is_first_line_of_code() {
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
