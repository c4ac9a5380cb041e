//! Tool paths: `server.tool`, and how other clients spell it.

use std::borrow::Cow;

/// Splits a path into server and tool.
pub(super) fn split_tool_path(path: &str) -> Option<(&str, &str)> {
    let (server, tool) = path.split_once('.')?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

/// The path that a foreign spelling means: `mux.github.ping`, `github/ping`, `mcp__github__ping`, `github.ping()`. It
/// applies only where no server has the name that `path` begins with.
pub fn plain_spelling(path: &str) -> Cow<'_, str> {
    let path = path.trim();
    let path = path.strip_suffix("()").unwrap_or(path);
    let path = path.strip_prefix("await ").unwrap_or(path);
    if let Some(named) = path.strip_prefix("mcp__")
        && let Some((server, tool)) = named.split_once("__")
    {
        return Cow::Owned(format!("{server}.{tool}"));
    }
    if let Some(member) = path.strip_prefix("mux.") {
        return Cow::Borrowed(member);
    }
    match path.split_once('/') {
        Some((server, tool)) if !server.contains('.') => Cow::Owned(format!("{server}.{tool}")),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_other_clients_mean_a_path() {
        for (spelled, path) in [
            ("github.ping", "github.ping"),
            ("mux.github.ping", "github.ping"),
            ("mux.github.issues.list", "github.issues.list"),
            ("await mux.github.ping()", "github.ping"),
            ("github/ping", "github.ping"),
            ("mcp__github__create_issue", "github.create_issue"),
            ("github.a/b", "github.a/b"),
            ("ping", "ping"),
        ] {
            assert_eq!(plain_spelling(spelled), path);
        }
        for path in ["", "ping", ".ping", "github."] {
            assert_eq!(split_tool_path(path), None, "{path}");
        }
    }
}
