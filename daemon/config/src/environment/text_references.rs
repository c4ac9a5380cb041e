//! Parses a value of the configuration into plain text and references. Pure.

/// A part of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TextPart<'a> {
    Plain(&'a str),
    /// `${NAME}` or `${NAME:-default}`.
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// `${cmd:…}`: the shell command.
    Command(&'a str),
    /// `${keyring:NAME}`
    Secret(&'a str),
}

/// The maximum length of the name of a secret.
const MAX_SECRET_NAME_BYTES: usize = 128;

/// Returns true if this is a valid name of a secret.
pub fn is_secret_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && name.len() <= MAX_SECRET_NAME_BYTES
}

/// Parses a value. `$$` is a dollar sign, and so is a `$` that starts no reference.
pub(super) fn parts(text: &str) -> Result<Vec<TextPart<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        if let Some(inside) = after.strip_prefix('{') {
            if at > 0 {
                parts.push(TextPart::Plain(&rest[..at]));
            }
            let (part, behind) = reference(inside)?;
            parts.push(part);
            rest = behind;
        } else {
            parts.push(TextPart::Plain(&rest[..=at]));
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    if !rest.is_empty() {
        parts.push(TextPart::Plain(rest));
    }
    Ok(parts)
}

/// Parses the reference at the start of `inside`, and returns it with the rest after its closing brace.
fn reference(inside: &str) -> Result<(TextPart<'_>, &str), String> {
    if let Some(command) = inside.strip_prefix("cmd:") {
        let end = balanced(command)
            .ok_or("`${cmd:` without its `}`; braces inside the command must be in pairs")?;
        let text = command[..end].trim();
        if text.is_empty() {
            return Err("`${cmd:}` names no command".into());
        }
        return Ok((TextPart::Command(text), &command[end + 1..]));
    }
    let end = inside
        .find('}')
        .ok_or("`${` without `}`; write `$$` for a dollar sign")?;
    if let Some(name) = inside[..end].strip_prefix("keyring:") {
        if !is_secret_name(name) {
            return Err(
                "`${keyring:NAME}` requires a name of letters, digits, `_`, `-` and `.`".into(),
            );
        }
        return Ok((TextPart::Secret(name), &inside[end + 1..]));
    }
    let (name, default) = match inside[..end].split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (&inside[..end], None),
    };
    Ok((TextPart::Variable { name, default }, &inside[end + 1..]))
}

/// The position of the brace that closes the brace before `text`.
fn balanced(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_ends_at_its_own_brace() {
        for (text, command, behind) in [
            ("${cmd:pass show a}", "pass show a", None),
            (
                "${cmd:awk '{print $1}' f}!",
                "awk '{print $1}' f",
                Some("!"),
            ),
            ("${cmd:echo ${HOME}/x}", "echo ${HOME}/x", None),
            ("${cmd: echo \"$$\" }", "echo \"$$\"", None),
        ] {
            let found = parts(text).unwrap();
            assert_eq!(found[0], TextPart::Command(command), "{text}");
            assert_eq!(found.get(1).copied(), behind.map(TextPart::Plain), "{text}");
        }
        for text in ["${cmd:", "${cmd:a{b}", "${cmd:}", "${cmd: }"] {
            assert!(parts(text).unwrap_err().contains("${cmd:"), "{text}");
        }
    }

    #[test]
    fn secret_reference_takes_only_a_name() {
        let found = parts("Bearer ${keyring:github.token-2}!").unwrap();
        assert_eq!(found[1], TextPart::Secret("github.token-2"));
        for text in [
            "${keyring:}",
            "${keyring:a b}",
            "${keyring:A:-x}",
            "${keyring:2}",
        ] {
            assert!(parts(text).unwrap_err().contains("NAME"), "{text}");
        }
    }

    #[test]
    fn variables_may_have_a_default() {
        let variable = |name, default| TextPart::Variable { name, default };
        assert_eq!(
            parts("a${B}${C:-d:-e}${F:-}").unwrap(),
            [
                TextPart::Plain("a"),
                variable("B", None),
                variable("C", Some("d:-e")),
                variable("F", Some(""))
            ]
        );
    }
}
