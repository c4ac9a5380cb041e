//! The names of one server's tools: the server's own, the names for programs, and former program names.
//!
//! Invariant: a name resolves to one tool. An ambiguous name resolves to none, unless it is the exact name of a tool.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use mux_typegen::{
    names::{SpellingCollision, is_path, spell, spell_flat},
    server_members::{ServerMember, ServerMembers},
};
use serde_json::{Value, json};

/// Indices of tools by their names.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    by_name: HashMap<String, usize>,
    /// Spellings that several tools share.
    ambiguous: HashSet<String>,
}

impl ToolNames {
    /// `names` are distinct. Each comes with its visible form, if that differs.
    pub(super) fn new(
        names: &[(&str, Option<String>)],
        collisions: &[SpellingCollision<'_>],
    ) -> Self {
        let ambiguous: HashSet<String> =
            collisions.iter().map(|c| c.spelling.to_string()).collect();
        let exact = names.iter().enumerate();
        let mut by_name: HashMap<String, usize> = exact
            .map(|(index, (name, _))| ((*name).to_owned(), index))
            .collect();
        for (index, (name, _)) in names.iter().enumerate() {
            let spelling = spell(name);
            if spelling != *name && !ambiguous.contains(&*spelling) {
                by_name.entry(spelling.into_owned()).or_insert(index);
            }
        }
        for (index, (_, shown)) in names.iter().enumerate() {
            if let Some(shown) = shown {
                by_name.entry(shown.clone()).or_insert(index);
            }
        }
        let former = former_spellings(names.iter().map(|(name, _)| *name));
        for (spelling, index) in former {
            by_name.entry(spelling).or_insert(index);
        }
        Self { by_name, ambiguous }
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        if let Some(index) = self.by_name.get(name) {
            return Some(*index);
        }
        // Some segments may be program names, and others the server's own.
        let spelling = Some(name).filter(|name| is_path(name)).map(spell)?;
        let index = self.by_name.get(&*spelling)?;
        (!self.ambiguous.contains(&*spelling)).then_some(*index)
    }
}

/// Former program names such as `repos_get` for `repos.get`, if they are unambiguous.
fn former_spellings<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<(String, usize)> {
    if !names.clone().any(is_path) {
        return Vec::new();
    }
    let mut indices: HashMap<Cow<'a, str>, Option<usize>> = HashMap::new();
    for (index, name) in names.clone().enumerate() {
        let known = indices.entry(spell_flat(name)).or_insert(Some(index));
        if *known != Some(index) {
            *known = None;
        }
    }
    let of_paths = names.filter(|name| is_path(name)).map(spell_flat);
    of_paths
        .filter_map(|spelling| Some((spelling.to_string(), indices[&spelling]?)))
        .collect()
}

/// A program's list of the tools, as JSON: a tool is its name, a group `["name", […]]`, and a group that is also a tool
/// `["name", […], 1]`.
pub(super) fn outline<'a>(
    names: impl Iterator<Item = &'a str>,
    collisions: &[SpellingCollision<'_>],
) -> String {
    let members = ServerMembers::new(names, collisions);
    Value::Array(listed(&members, members.server())).to_string()
}

fn listed(members: &ServerMembers<'_>, group: &ServerMember<'_>) -> Vec<Value> {
    let each = members.members_of(group).map(|member| {
        if !member.is_group() {
            let written = member.written.first();
            return written.copied().unwrap_or(&member.key).into();
        }
        let inner = listed(members, member);
        match member.tool {
            Some(_) => json!([member.key, inner, 1]),
            None => json!([member.key, inner]),
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use mux_typegen::names::{find_collisions, tool_paths};

    use super::*;

    fn outlined(names: &[&str]) -> String {
        outline(
            names.iter().copied(),
            &find_collisions(names.iter().copied()),
        )
    }

    #[test]
    fn outline_has_groups_and_server_names() {
        assert_eq!(outlined(&["get-thing", "a"]), r#"["get-thing","a"]"#);
        assert_eq!(
            outlined(&["a-x.b-c", "d", "a-x.e", "d.f"]),
            r#"[["a_x",["b-c","e"]],["d",["f"],1]]"#
        );
        assert_eq!(outlined(&["a.b-c", "a.b_c"]), r#"["a.b-c",["a",["b_c"]]]"#);
    }

    #[test]
    fn every_spelling_of_a_path_is_listed_once() {
        assert_eq!(tool_paths("a", "b"), ["a.b"]);
        assert_eq!(
            tool_paths("my-s", "b-c.d"),
            [
                "my-s.b-c.d",
                "my-s.b_c.d",
                "my-s.b_c_d",
                "my_s.b-c.d",
                "my_s.b_c.d",
                "my_s.b_c_d"
            ]
        );
    }
}
