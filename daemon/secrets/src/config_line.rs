//! Masks secrets in a line of a configuration file (JSON, TOML) for display in a diff.

use crate::{
    MASK,
    names::{Suspicion, suspicion},
    shape::{is_reference, is_secret_value, is_switch},
};

/// The line with every quoted string masked that is, or may be, a secret.
pub fn mask_config_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    // True if the preceding text announces a secret.
    let mut named = false;
    while let Some((before, quote, inner, after)) = quoted(rest) {
        // TOML keys are not quoted.
        if before.contains(['=', ':']) {
            named |= announces(before);
        }
        shown.push_str(before);
        let is_name = after.trim_start().starts_with([':', '=']);
        let pair = inner.split_once(['=', ':']);
        let gives = pair.is_some_and(|(name, value)| {
            !value.is_empty() && !value.starts_with("//") && announces(name)
        });
        let hidden = (named || gives || is_secret_value(inner))
            && !is_name
            && !is_whole_reference(inner)
            && !is_switch(inner);
        shown.push(quote);
        shown.push_str(if hidden && !inner.is_empty() {
            MASK
        } else {
            inner
        });
        shown.push(quote);
        // A key, or an option before its value.
        named = (is_name || inner.starts_with('-')) && announces(inner);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn announces(name: &str) -> bool {
    // The text before a TOML value: `env = { A = "b", TOKEN = `.
    let name = name.trim_end_matches([' ', '\t', '=', ':']);
    let name = name.rsplit([' ', '\t', ',', '{']).next().unwrap_or(name);
    suspicion(name) > Suspicion::None
}

/// Returns true if a string is only a reference to a secret, such as `${TOKEN}`.
fn is_whole_reference(text: &str) -> bool {
    let rest = text.trim_start_matches("Bearer ").trim();
    is_reference(rest) && rest.ends_with('}') && rest.starts_with(['$', '{'])
}

/// Splits a line at its first quoted string: the text before, the quote, the string, and the text after.
fn quoted(line: &str) -> Option<(&str, char, &str, &str)> {
    let start = line.find(['"', '\''])?;
    let quote = line[start..].chars().next()?;
    let inside = &line[start + 1..];
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && quote == '"' && !escaped;
        ends
    })?;
    Some((&line[..start], quote, &inside[..end], &inside[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_secrets_in_a_line_are_masked() {
        for (line, shown) in [
            ("  \"API_KEY\": \"abc\",", "  \"API_KEY\": \"***\","),
            ("TOKEN = 'abc' # x", "TOKEN = '***' # x"),
            (
                "env = { A = \"b\", MY_TOKEN = \"c\", D = \"e\" }",
                "env = { A = \"b\", MY_TOKEN = \"***\", D = \"e\" }",
            ),
            (
                "\"args\": [\"--token\", \"abc\", \"-v\"]",
                "\"args\": [\"--token\", \"***\", \"-v\"]",
            ),
            ("\"args\": [\"--token=abc\"]", "\"args\": [\"***\"]"),
            (
                "\"Authorization\": \"Bearer ${TOKEN}\"",
                "\"Authorization\": \"Bearer ${TOKEN}\"",
            ),
            ("\"url\": \"https://u:p4ss@h/mcp\"", "\"url\": \"***\""),
            (
                "\"command\": \"mux\", \"args\": [\"mcp\"]",
                "\"command\": \"mux\", \"args\": [\"mcp\"]",
            ),
            ("\"MAX_TOKENS\": \"4096\"", "\"MAX_TOKENS\": \"4096\""),
            ("secrets = \"mask\"", "secrets = \"mask\""),
            ("keyring = \"never\"", "keyring = \"never\""),
            ("auth = { key = \"abc\" }", "auth = { key = \"***\" }"),
            ("\"a\": \"say \\\"x\\\"\"", "\"a\": \"say \\\"x\\\"\""),
        ] {
            assert_eq!(mask_config_line(line), shown);
        }
        let token = format!("\"{}_0123456789abc\"", "ghp");
        assert_eq!(mask_config_line(&token), "\"***\"");
    }
}
