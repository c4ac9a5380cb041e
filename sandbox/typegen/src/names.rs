//! Server and tool names as properties of `mux` and of its servers.
//!
//! Invariant: a spelling depends only on the name itself, never on other names, which means that a program keeps its
//! meaning when servers and tools are added or removed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Members of `mux` that are not servers. Those with `$` are missing: no server can have such a name.
pub const MUX_MEMBERS: &[&str] = &[
    "call",
    "catalog",
    "describe",
    "discover",
    "emit",
    "input",
    "prompts",
    "read",
    "resources",
    "search",
];
/// Properties that JavaScript itself looks up on any object: `await mux` asks for `then`.
const OBJECT_PROPERTIES: &[&str] = &["then", "constructor", "__proto__"];

/// Returns true if this name is reserved: no server or source may have it.
pub fn is_reserved(name: &str) -> bool {
    MUX_MEMBERS.contains(&name) || OBJECT_PROPERTIES.contains(&name)
}

/// Several names with one spelling: each is reachable only under its exact name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpellingCollision<'a> {
    /// The spelling that the names share, or a path if the names are paths.
    pub spelling: Cow<'a, str>,
    /// Two or more distinct names, in their original order.
    pub names: Vec<&'a str>,
}

/// Properties that no member of `mux` can have, because JavaScript looks them up on any value.
const UNREACHABLE_PROPERTIES: &[&str] = &["then", "toJSON"];

/// A name with more segments than this is not a path.
const MAX_PATH_SEGMENTS: usize = 16;

/// How a server or tool is written after `mux.` or `mux.<server>.`
///
/// The dots of a name separate segments, and each segment is converted separately: `repos.list-all` is
/// `repos.list_all`, a member of the group `repos`. If a segment would be empty, or if there are more than sixteen,
/// dots are characters like any other (`a..b` is `a_b`).
///
/// Converts a segment of a name to an identifier. A segment that is an ASCII identifier (`[A-Za-z_$][A-Za-z0-9_$]*`)
/// is kept. In any other segment, every run of characters that are not allowed in such an identifier becomes one `_`,
/// and a leading digit is preceded by `_`. The empty name becomes `_`. So `get-thing` is `get_thing`, `2fa` is `_2fa`.
/// Reserved words are not changed, because a property may be called `delete`; `then` and `toJSON` become `then_` and
/// `toJSON_`, because no member of `mux` can have these names. Letters outside ASCII are not allowed either. This
/// keeps the rule one short regular expression in every language that has to repeat it.
pub fn spell(name: &str) -> Cow<'_, str> {
    if !is_path(name) {
        return spell_flat(name);
    }
    if name.split('.').all(is_its_own_spelling) {
        return Cow::Borrowed(name);
    }
    let segments: Vec<_> = name.split('.').map(spell_flat).collect();
    Cow::Owned(segments.join("."))
}

/// Converts a whole name to one segment, including its dots: `repos.get` becomes `repos_get`. Older versions converted
/// dotted names like this, and tools are still found under this spelling.
pub fn spell_flat(name: &str) -> Cow<'_, str> {
    if is_its_own_spelling(name) {
        return Cow::Borrowed(name);
    }
    let mut spelling = String::with_capacity(name.len() + 1);
    let mut in_run = false;
    for c in name.chars() {
        if !is_identifier_part(c) {
            if !in_run {
                spelling.push('_');
            }
            in_run = true;
            continue;
        }
        if spelling.is_empty() && c.is_ascii_digit() {
            spelling.push('_');
        }
        spelling.push(c);
        in_run = false;
    }
    if spelling.is_empty() || UNREACHABLE_PROPERTIES.contains(&name) {
        spelling.push('_');
    }
    Cow::Owned(spelling)
}

/// Every spelling of a tool: its exact name, the name in programs, and the name in programs written for older
/// versions.
pub fn tool_spellings(name: &str) -> Vec<Cow<'_, str>> {
    let mut spellings = vec![Cow::Borrowed(name), spell(name)];
    if is_path(name) {
        spellings.push(spell_flat(name));
    }
    spellings.dedup();
    spellings
}

/// Every way to write the path `server.tool` of a tool.
pub fn tool_paths(server: &str, name: &str) -> Vec<String> {
    let mut servers = vec![Cow::Borrowed(server), spell(server)];
    servers.dedup();
    let names = tool_spellings(name);
    let of = |server: Cow<'_, str>| {
        let paths = names.iter().map(|name| format!("{server}.{name}"));
        paths.collect::<Vec<_>>()
    };
    servers.into_iter().flat_map(of).collect()
}

/// The MCP methods that policy and the audit log use as names for requests other than tool calls:
/// `server.resources/read`.
const METHOD_GROUPS: &[&str] = &[
    "completion/",
    "elicitation/",
    "prompts/",
    "resources/",
    "roots/",
    "sampling/",
];

/// The path `server.tool` as programs write it after `mux.`, for readers. A path of another MCP method is unchanged.
///
/// Only a daemon knows whether two tools of the server share that spelling. In that case, neither is reachable under
/// it.
pub fn display_path(path: &str) -> Cow<'_, str> {
    let Some((server, tool)) = path.split_once('.') else {
        return Cow::Borrowed(path);
    };
    let is_method = METHOD_GROUPS.iter().any(|group| tool.starts_with(group));
    if tool.is_empty() || is_method {
        return Cow::Borrowed(path);
    }
    match (spell(server), spell(tool)) {
        (Cow::Borrowed(_), Cow::Borrowed(_)) => Cow::Borrowed(path),
        (server, tool) => Cow::Owned(format!("{server}.{tool}")),
    }
}

/// Returns true if the dots of a name separate segments.
pub fn is_path(name: &str) -> bool {
    name.contains('.')
        && name.split('.').all(|segment| !segment.is_empty())
        && name.split('.').count() <= MAX_PATH_SEGMENTS
}

/// Returns true if a program can reach a property of this name.
pub(super) fn is_reachable(name: &str) -> bool {
    !UNREACHABLE_PROPERTIES.contains(&name)
}

/// The names that share a spelling with another name, grouped by that spelling, in order of first appearance. The same
/// name twice is not a collision.
pub fn find_collisions<'a>(names: impl Iterator<Item = &'a str>) -> Vec<SpellingCollision<'a>> {
    let mut groups: Vec<SpellingCollision<'a>> = Vec::new();
    let mut by_spelling: HashMap<Cow<'a, str>, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for name in names.filter(|name| seen.insert(*name)) {
        let spelling = spell(name);
        let group = *by_spelling.entry(spelling.clone()).or_insert_with(|| {
            groups.push(SpellingCollision {
                spelling,
                names: Vec::new(),
            });
            groups.len() - 1
        });
        groups[group].names.push(name);
    }
    groups.retain(|group| group.names.len() > 1);
    groups
}

/// Returns true if a name is valid for servers and sources: `[A-Za-z][A-Za-z0-9_-]*`. Dots are not allowed, because
/// the first dot of a path separates the server from the tool. A valid name may still be reserved: see
/// [`is_reserved`].
pub fn is_server_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn is_its_own_spelling(name: &str) -> bool {
    is_identifier(name) && is_reachable(name)
}

pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| is_identifier_part(c) && !c.is_ascii_digit())
        && name.chars().all(is_identifier_part)
}

fn is_identifier_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_spelled_as_programs_write_it() {
        for (path, spelled) in [
            ("files.read_text_file", "files.read_text_file"),
            (
                "all.trigger-long-running-operation",
                "all.trigger_long_running_operation",
            ),
            ("my-server.repos.list-all", "my_server.repos.list_all"),
            ("a.2fa then", "a._2fa_then"),
            ("a.then", "a.then_"),
            ("a..b", "a._b"),
            ("a.größe", "a.gr_e"),
            ("my-server.resources/read", "my-server.resources/read"),
            ("my-server", "my-server"),
            ("a.", "a."),
        ] {
            assert_eq!(display_path(path), spelled, "{path}");
        }
    }
}
