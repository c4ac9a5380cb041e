//! The argument names of a tool, from its one-line signature: `files.read(args: { path: string; head?: number })`.

/// An argument of a tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SignatureArgument {
    pub(super) name: String,
    /// The argument's type in TypeScript, with `?` before it if the argument is optional.
    pub(super) kind: String,
}

/// The arguments that a signature names. Long signatures leave out optional ones.
pub(super) fn signature_arguments(signature: &str) -> Vec<SignatureArgument> {
    let Some((_, rest)) = signature.split_once("(args") else {
        return Vec::new();
    };
    let rest = rest.trim_start_matches('?').trim_start_matches(':');
    members(rest.trim_start())
        .into_iter()
        .filter_map(member)
        .collect()
}

/// The members of the object type at the start of the string.
fn members(text: &str) -> Vec<&str> {
    let Some(body) = text.strip_prefix('{') else {
        return Vec::new();
    };
    let mut members = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    let mut quote = None;
    let mut comment_end = 0;
    let mut letters = body.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            _ if at < comment_end => {}
            (Some(_), '\\') => drop(letters.next()),
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '/') if body[at..].starts_with("/*") => {
                let comment = body[at..].find("*/");
                comment_end = comment.map_or(body.len(), |length| at + length);
            }
            (None, '{' | '[' | '(' | '<') => depth += 1,
            (None, '}') if depth == 0 => {
                members.push(&body[start..at]);
                return members;
            }
            (None, '}' | ']' | ')') => depth = depth.saturating_sub(1),
            // The arrow of a function type is not a closing bracket.
            (None, '>') if !body[..at].ends_with('=') => depth = depth.saturating_sub(1),
            (None, ';') if depth == 0 => {
                members.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    members
}

/// `name?: type`, or `None` for an index signature or an ellipsis.
fn member(text: &str) -> Option<SignatureArgument> {
    let text = text.trim();
    let (name, rest) = if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = values.next()?.ok()?;
        (name, &text[values.byte_offset()..])
    } else {
        let end = text.find(|c: char| !(c.is_alphanumeric() || "_$".contains(c)))?;
        (text[..end].to_owned(), &text[end..])
    };
    let (optional, kind) = match rest.strip_prefix('?') {
        Some(rest) => ("?", rest),
        None => ("", rest),
    };
    let kind = kind.strip_prefix(':')?.trim();
    (!name.is_empty()).then(|| SignatureArgument {
        name,
        kind: format!("{optional}{kind}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_the_outer_members() {
        for (signature, expected) in [
            ("a.b", &[][..]),
            ("a.b(args?: {}): Promise<string>", &[]),
            ("a.b(args: { [key: string]: unknown })", &[]),
            (
                "files.read(args: { path: string; head?: number }): Promise<{ text: string }>",
                &[("path", "string"), ("head", "?number")],
            ),
            (
                r#"a.b(args: { "odd-key": { x: 1; y: "}" }[]; kind?: "a;" | "b"; f: Map<string, number>; … })"#,
                &[
                    ("odd-key", r#"{ x: 1; y: "}" }[]"#),
                    ("kind", r#"?"a;" | "b""#),
                    ("f", "Map<string, number>"),
                ],
            ),
            (
                "a.b(args: { day: string /* ^[{;'] */; n?: number })",
                &[("day", "string /* ^[{;'] */"), ("n", "?number")],
            ),
            ("a.b(): Promise<string>", &[]),
            ("a.b(args: { path: string", &[]),
        ] {
            let found = signature_arguments(signature);
            let found: Vec<_> = found
                .iter()
                .map(|argument| (argument.name.as_str(), argument.kind.as_str()))
                .collect();
            assert_eq!(found, expected, "{signature}");
        }
    }
}
