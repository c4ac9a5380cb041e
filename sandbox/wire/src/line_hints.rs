//! Hints for a line of a program with a habit of other tools, for the type checker and for errors of a run.

/// The hint for properties that MCP results have and the returned values do not.
pub const MCP_RESULT_HINT: &str = "a tool returns its value itself, not MCP's result: use it without `.content`, `.structuredContent` and \
     `.isError` (a failure throws); `mux.call.raw(path, args)` gives MCP's result";

pub const NO_INPUT_HINT: &str =
    "this run has no input: pass it with `mux run --input`, or as `input` of the tool `run`";

pub const CRYPTO_HINT: &str =
    "`crypto` has `randomUUID()` and `getRandomValues()`; hash and sign with a tool of a server";

/// The hint for a call of a tool whose name contains a dash: `mux.file-system.read()` is a subtraction.
pub fn subtraction_hint(line: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-');
    line.match_indices("mux.").find_map(|(at, _)| {
        let is_inside = line[..at].ends_with(|c: char| is_part(c));
        let length = line[at..].find(|c| !is_part(c))?;
        let (path, after) = line[at..].split_at(length);
        let is_call = after.starts_with('(') && !path.starts_with("mux.input.");
        let names_dashes = path.contains('-') && !path.contains("--") && !path.ends_with('-');
        (is_call && names_dashes && !is_inside).then(|| {
            let spelled = path.replace('-', "_");
            format!("`{path}` is a subtraction: write `{spelled}`")
        })
    })
}

/// The hint for a line that fails because it reads MCP's result in the value of a tool.
pub fn mcp_result_hint(line: &str) -> Option<&'static str> {
    [".content[", ".content?.", ".content.", ".structuredContent"]
        .iter()
        .any(|read| line.contains(read))
        .then_some(MCP_RESULT_HINT)
}

/// The hint for a line of a program that threw an error with this message.
pub fn thrown_hint(line: &str, message: &str, has_input: bool) -> Option<String> {
    if message.contains("is not defined") {
        return subtraction_hint(line);
    }
    if !has_input && message.contains("null") && line.contains("input") {
        return Some(NO_INPUT_HINT.into());
    }
    if !message.contains("undefined") {
        return None;
    }
    if line.contains("crypto.subtle") {
        return Some(CRYPTO_HINT.into());
    }
    mcp_result_hint(line).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_dashes_are_spelled() {
        for (line, spelled) in [
            (
                "await mux.file-system.read_file({})",
                Some("mux.file_system.read_file"),
            ),
            (
                "x = mux.github.create-or-update(a)",
                Some("mux.github.create_or_update"),
            ),
            ("mux.a.b() - mux.c.d-1", None),
            ("mux.input.a-mux.input.b", None),
            ("mux.input.a-f(1)", None),
            ("f(mux.a.b-1)", None),
            ("my-mux.a-b()", None),
        ] {
            let expected = spelled.map(|spelled| format!("write `{spelled}`"));
            let hint = subtraction_hint(line);
            assert_eq!(hint.is_some(), expected.is_some(), "{line}");
            assert!(
                hint.unwrap_or_default()
                    .ends_with(&expected.unwrap_or_default())
            );
        }
    }

    #[test]
    fn thrown_errors_have_the_hint_of_their_line() {
        let undefined = "TypeError: Cannot read properties of undefined (reading '0')";
        let null = "TypeError: Cannot read properties of null (reading 'x')";
        for (line, message, has_input, part) in [
            ("r.content[0].text", undefined, true, "without `.content`"),
            ("r.content.map(f)", undefined, true, "mux.call.raw"),
            ("r.items[0]", undefined, true, ""),
            ("return mux.input.x", null, false, "no input"),
            ("return mux.input.x", null, true, ""),
            ("crypto.subtle.digest(a)", undefined, true, "randomUUID"),
            (
                "mux.a-b.c()",
                "ReferenceError: b is not defined",
                true,
                "mux.a_b.c",
            ),
        ] {
            let hint = thrown_hint(line, message, has_input).unwrap_or_default();
            assert!(
                hint.contains(part) && hint.is_empty() == part.is_empty(),
                "{line}: {hint}"
            );
        }
    }
}
