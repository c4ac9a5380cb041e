//! How servers and tools are spelled as properties of `mux`, and properties of those.
//!
//! Invariant: a spelling depends on the one name alone, never on its neighbours, so that a program
//! keeps its meaning when servers and tools come and go.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Members of `mux` that are no servers.
pub const BUILTINS: &[&str] = &[
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

/// Whether no server or source may have this name.
pub fn is_reserved(name: &str) -> bool {
    BUILTINS.contains(&name) || OBJECT_PROPERTIES.contains(&name)
}

/// Several names with one spelling: each of them is reachable under its exact name only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision<'a> {
    /// The spelling that the names share; a path, if they are.
    pub spelling: Cow<'a, str>,
    /// Two or more distinct names, in the order in which they were given.
    pub names: Vec<&'a str>,
}

/// Properties that a program cannot reach under their own name: JavaScript looks them up on any value, so that `mux`
/// has to do without them.
const UNREACHABLE: &[&str] = &["then", "toJSON"];

/// A name with more segments than this is no path.
const MOST_SEGMENTS: usize = 16;

/// How a server or tool is written after `mux.` or `mux.<server>.`
///
/// The dots of a name separate segments, and each segment is spelled by itself: `repos.list-all` is
/// `repos.list_all`, a member of the group `repos`. Only where a segment would be empty, or where there are
/// more than sixteen, a dot is a character like any other (`a..b` is `a_b`).
///
/// A segment that is an ASCII identifier (`[A-Za-z_$][A-Za-z0-9_$]*`) is its own spelling. In any other
/// segment every run of characters that such an identifier cannot hold becomes one `_`, and a leading digit
/// gets `_` in front; the empty name is spelled `_`. So `get-thing` is `get_thing`, `2fa` is `_2fa`. Reserved
/// words need no care, because a property may be called `delete`; `then` and `toJSON` are `then_` and
/// `toJSON_`, because no property of `mux` can be called that. Letters outside ASCII count as unfit, so that
/// this rule is one short regular expression in every language that has to repeat it.
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

/// A name as one segment, whatever dots it holds: `repos.get` is `repos_get`. So dotted names were spelled before
/// they were paths, and a tool is still found by it.
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
    if spelling.is_empty() || UNREACHABLE.contains(&name) {
        spelling.push('_');
    }
    Cow::Owned(spelling)
}

/// Every way to write a tool: as its server does, as programs do, and as they did.
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

/// Whether the dots of a name separate segments.
pub fn is_path(name: &str) -> bool {
    name.contains('.')
        && name.split('.').all(|segment| !segment.is_empty())
        && name.split('.').count() <= MOST_SEGMENTS
}

/// Whether a program finds a property of this name where it is offered.
pub(super) fn is_reachable(name: &str) -> bool {
    !UNREACHABLE.contains(&name)
}

/// The names among `names` that share a spelling with another one, grouped by that spelling, in
/// order of first appearance. The same name twice is one name, not a collision.
pub fn collisions<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Collision<'a>> {
    let mut groups: Vec<Collision<'a>> = Vec::new();
    let mut by_spelling: HashMap<Cow<'a, str>, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for name in names.filter(|name| seen.insert(*name)) {
        let spelling = spell(name);
        let group = *by_spelling.entry(spelling.clone()).or_insert_with(|| {
            groups.push(Collision {
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

/// Whether servers and sources may be called this: `[A-Za-z][A-Za-z0-9_-]*`. There is no dot in
/// it, because the first dot of a path splits the server from the tool. A name may pass here and
/// still be reserved: see [`is_reserved`].
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
