//! Recognizes a `command` that is a whole command line, as a shell would take it.

use mux_secrets::arguments;

/// How `command` and `args` should be written, if `command` has arguments in it. A path may have spaces, so its further
/// words count as arguments only if they look like some.
pub(super) fn corrected_keys(command: &str, args: &[String]) -> Option<String> {
    let words = shlex::split(command)?;
    let (program, rest) = words.split_first()?;
    let is_option = rest.first()?.starts_with('-');
    let is_path = |word: &String| word.contains(std::path::is_separator);
    if is_path(program) && !is_option && rest.iter().any(is_path) {
        return None;
    }
    let mut shown: Vec<String> = arguments::masked(&words)[1..]
        .iter()
        .map(|arg| format!("{arg:?}"))
        .collect();
    if !args.is_empty() {
        shown.push("…".into());
    }
    Some(format!(
        "command = {program:?}, args = [{}]",
        shown.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_split_and_a_path_with_spaces_is_not() {
        for (command, expected) in [
            ("npx", None),
            ("/usr/bin/npx", None),
            ("/Applications/My App/server", None),
            (
                "npx -y foo",
                Some("command = \"npx\", args = [\"-y\", \"foo\", …]"),
            ),
            (
                "/usr/bin/node --trace /srv/index.js",
                Some("command = \"/usr/bin/node\", args = [\"--trace\", \"/srv/index.js\", …]"),
            ),
            (
                "uvx server '/a b' --api-key s3cret-0123456789",
                Some("command = \"uvx\", args = [\"server\", \"/a b\", \"--api-key\", \"***\", …]"),
            ),
        ] {
            let found = corrected_keys(command, &["more".to_owned()]);
            assert_eq!(found.as_deref(), expected);
        }
        assert_eq!(
            corrected_keys("npx foo", &[]).as_deref(),
            Some("command = \"npx\", args = [\"foo\"]")
        );
    }
}
