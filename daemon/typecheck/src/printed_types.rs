//! Reads the types that the compiler prints in its messages.
//!
//! Invariant: a part that is not understood is left out.

/// A member of a printed object type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PrintedMember<'a> {
    pub(super) name: &'a str,
    pub(super) is_optional: bool,
}

/// The alternatives of a printed type.
pub(super) fn alternatives(printed: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in printed.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '=' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(printed[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts.push(printed[start..].trim());
    parts.retain(|part| !matches!(*part, "undefined" | "null" | ""));
    parts
}

/// The members of an object type printed on one line.
pub(super) fn members(printed: &str) -> Vec<PrintedMember<'_>> {
    let mut depth = 0;
    let mut members = Vec::new();
    let mut rest = printed.strip_prefix("Closed<").unwrap_or(printed);
    if !rest.starts_with('{') {
        return members;
    }
    while let Some(at) = rest.find(['{', '}', '(', ')', '[', ']', ';', ':']) {
        let name = rest[..at].trim();
        let mark = &rest[at..=at];
        rest = &rest[at + 1..];
        match mark {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            ":" if depth == 1 => {
                let plain = name.trim_end_matches('?');
                if !plain.is_empty() {
                    members.push(PrintedMember {
                        name: plain.trim_matches('"'),
                        is_optional: plain != name,
                    });
                }
                // Skips the member's type.
                rest = &rest[end_of_member(rest)..];
            }
            _ => {}
        }
    }
    members
}

fn end_of_member(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth == 0 => return at,
            '}' | ')' | ']' => depth -= 1,
            ';' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_parsed() {
        let printed =
            "{ a: { b: string; }[]; c?: (x: number) => void; \"d-e\": [f: 1]; ... 2 more ...; }";
        let found: Vec<_> = members(printed)
            .iter()
            .map(|member| (member.name, member.is_optional))
            .collect();
        assert_eq!(found, [("a", false), ("c", true), ("d-e", false)]);
        assert!(members("string[]").is_empty());
    }

    #[test]
    fn alternatives_are_split() {
        let parts = alternatives("Closed<{ a: \"x\" | \"y\"; }> | { f: () => 1 | 2; } | undefined");
        assert_eq!(
            parts,
            ["Closed<{ a: \"x\" | \"y\"; }>", "{ f: () => 1 | 2; }"]
        );
    }
}
