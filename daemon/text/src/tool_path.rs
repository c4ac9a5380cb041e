//! Tool paths: `server.tool`, and the notations of other clients.

use std::borrow::Cow;

/// Splits a path into server and tool.
pub fn split_tool_path(path: &str) -> Option<(&str, &str)> {
    let (server, tool) = path.split_once('.')?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

/// The path of a tool, or of a server. A path that begins with the name of a server is one already, unless it is a call.
pub fn read_tool_path(path: &str, is_server: impl FnOnce(&str) -> bool) -> Cow<'_, str> {
    let server = path.split('.').next().unwrap_or_default();
    if !path.ends_with(')') && is_server(server) {
        return Cow::Borrowed(path);
    }
    plain_spelling(path)
}

/// The path that a foreign notation means: `mux.github.ping`, `github/ping`, `mcp__github__ping`, `github__ping`,
/// `github:ping`, `mux["github"].ping`, `github.ping({})`.
pub fn plain_spelling(path: &str) -> Cow<'_, str> {
    let path = path.trim();
    let path = path.strip_prefix("await ").unwrap_or(path);
    let path = path.split('(').next().unwrap_or_default();
    let named = path.strip_prefix("mcp__").unwrap_or(path);
    if !named.contains('.')
        && let Some((server, tool)) = named.split_once("__")
    {
        return Cow::Owned(format!("{server}.{tool}"));
    }
    let path = without_brackets(path);
    let member = ["mux.", "tools."]
        .iter()
        .find_map(|object| path.strip_prefix(object));
    if let Some(member) = member {
        return Cow::Owned(member.to_owned());
    }
    match path.split_once(['/', ':']) {
        Some((server, tool)) if !server.contains('.') => Cow::Owned(format!("{server}.{tool}")),
        _ => path,
    }
}

/// The path with `["name"]` as `.name`.
fn without_brackets(path: &str) -> Cow<'_, str> {
    if !path.contains(['[']) {
        return Cow::Borrowed(path);
    }
    let dotted = path
        .replace("[\"", ".")
        .replace("['", ".")
        .replace("\"]", "")
        .replace("']", "");
    Cow::Owned(dotted)
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
            ("github__create_issue", "github.create_issue"),
            ("github:ping", "github.ping"),
            ("mux.github.ping({ a: 1 })", "github.ping"),
            ("mux[\"my-server\"]['get-thing']()", "my-server.get-thing"),
            ("mux.github[\"ping\"]", "github.ping"),
            ("tools.github.ping", "github.ping"),
            ("mcp__github__create_issue", "github.create_issue"),
            ("github.a/b", "github.a/b"),
            ("ping", "ping"),
        ] {
            assert_eq!(plain_spelling(spelled), path);
        }
        let is_server = |server: &str| server == "mux" || server == "a__b";
        for (path, read) in [
            ("mux.ping", "mux.ping"),
            ("a__b", "a__b"),
            ("mux.ping()", "ping"),
            ("b.c()", "b.c"),
        ] {
            assert_eq!(read_tool_path(path, is_server), read);
        }
        for path in ["", "ping", ".ping", "github."] {
            assert_eq!(split_tool_path(path), None, "{path}");
        }
    }
}
