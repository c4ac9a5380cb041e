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
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _, c) in marks(printed).filter(|(_, depth, c)| *depth == 0 && *c == '|') {
        parts.push(printed[start..at].trim());
        start = at + c.len_utf8();
    }
    parts.push(printed[start..].trim());
    parts.retain(|part| !matches!(*part, "undefined" | "null" | ""));
    parts
}

/// The members of an object type printed on one line.
pub(super) fn members(printed: &str) -> Vec<PrintedMember<'_>> {
    let inner = printed
        .strip_prefix("Closed<")
        .map_or(printed, |rest| rest.strip_suffix('>').unwrap_or(rest));
    if !inner.starts_with('{') {
        return Vec::new();
    }
    let mut members = Vec::new();
    let mut start = 1;
    let mut in_type = false;
    for (at, _, c) in marks(inner).filter(|(_, depth, _)| *depth == 1) {
        match c {
            ':' if !in_type => {
                let name = inner[start..at].trim();
                let plain = name.trim_end_matches('?');
                // A method or an index signature has no name here.
                if !plain.is_empty() && !plain.ends_with([')', ']']) {
                    members.push(PrintedMember {
                        name: plain.trim_matches('"'),
                        is_optional: plain != name,
                    });
                }
                in_type = true;
            }
            ';' => {
                start = at + 1;
                in_type = false;
            }
            _ => {}
        }
    }
    members
}

/// The characters of a printed type outside of quotes, each with its offset and the number of brackets around it.
fn marks(printed: &str) -> impl Iterator<Item = (usize, i32, char)> {
    let mut depth = 0;
    let mut before = ' ';
    let mut quote = None;
    printed.char_indices().filter_map(move |(at, c)| {
        let last = std::mem::replace(&mut before, c);
        if let Some(open) = quote {
            if last == '\\' {
                before = ' ';
            } else if c == open {
                quote = None;
            }
            return None;
        }
        match c {
            '"' | '`' => quote = Some(c),
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if last == '=' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => return Some((at, depth, c)),
        }
        None
    })
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
        let printed =
            "Closed<{ \"xml:lang\"?: string; k: \"a; b: {\" | \"]\"; z: Map<string, 1>; }>";
        let found: Vec<_> = members(printed).iter().map(|member| member.name).collect();
        assert_eq!(found, ["xml:lang", "k", "z"]);
    }

    #[test]
    fn alternatives_are_split() {
        let parts = alternatives("Closed<{ a: \"x\" | \"y\"; }> | { f: () => 1 | 2; } | undefined");
        assert_eq!(
            parts,
            ["Closed<{ a: \"x\" | \"y\"; }>", "{ f: () => 1 | 2; }"]
        );
        assert_eq!(
            alternatives("\"a | b\" | \"[\" | \"\\\"|\""),
            ["\"a | b\"", "\"[\"", "\"\\\"|\""]
        );
    }
}
