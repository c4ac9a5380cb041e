//! The properties of one server: its tools, in groups by the dots in their names.
//!
//! Invariant: every tool has one position, which depends only on the names. Their order decides only which is listed
//! first.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::names::{SpellingCollision, is_path, is_reachable, spell, spell_flat};

/// The maximum number of exact names that are listed for one segment.
const MAX_EXACT_NAMES: usize = 8;

/// All members of a server. The first is the server itself.
#[derive(Clone, Debug)]
pub struct ServerMembers<'a> {
    all: Vec<ServerMember<'a>>,
    /// The index in `all` of each tool, in the order of the names.
    tools: Vec<usize>,
}

/// A tool, a group of tools, or both.
#[derive(Clone, Debug, Default)]
pub struct ServerMember<'a> {
    /// The name of the property.
    pub key: Cow<'a, str>,
    /// Whether the key is an exact name, because several names share its spelling.
    pub is_exact: bool,
    /// The first few exact names of the segment that differ from the key.
    pub written: Vec<&'a str>,
    /// The index of the name, if this is a tool.
    pub tool: Option<usize>,
    /// The indices of the members of the group.
    members: Vec<usize>,
}

impl<'a> ServerMembers<'a> {
    /// The members for these names, which must be distinct. `colliding` is what [`super::names::find_collisions`] returns
    /// for them.
    pub fn new(names: impl Iterator<Item = &'a str>, colliding: &[SpellingCollision<'_>]) -> Self {
        let colliding: HashSet<&str> = colliding.iter().map(|c| &*c.spelling).collect();
        let mut building = MembersBuilder {
            all: vec![ServerMember::default()],
            places: HashMap::new(),
        };
        let mut tools = Vec::new();
        for (tool, name) in names.enumerate() {
            let spelling = spell(name);
            let collides = colliding.contains(&*spelling);
            let place = if collides && spelling != name {
                building.member(0, Cow::Borrowed(name), name)
            } else {
                building.place(name)
            };
            let member = &mut building.all[place];
            member.is_exact = collides;
            member.tool = Some(tool);
            tools.push(place);
        }
        let all = building.all;
        Self { all, tools }
    }

    /// The group of the server's own properties.
    pub fn server(&self) -> &ServerMember<'a> {
        &self.all[0]
    }

    /// The members of a group, in order of first appearance.
    pub fn members_of(&self, group: &ServerMember<'a>) -> impl Iterator<Item = &ServerMember<'a>> {
        group.members.iter().map(|place| &self.all[*place])
    }

    /// The member of the tool with this index.
    pub fn member_of_tool(&self, tool: usize) -> &ServerMember<'a> {
        &self.all[self.tools[tool]]
    }
}

impl ServerMember<'_> {
    pub fn is_group(&self) -> bool {
        !self.members.is_empty()
    }
}

struct MembersBuilder<'a> {
    all: Vec<ServerMember<'a>>,
    /// Indices in `all`, by group and key.
    places: HashMap<(usize, Cow<'a, str>), usize>,
}

impl<'a> MembersBuilder<'a> {
    fn place(&mut self, name: &'a str) -> usize {
        if !is_path(name) {
            return self.member(0, spell(name), name);
        }
        name.split('.').fold(0, |group, segment| {
            self.member(group, spell_flat(segment), segment)
        })
    }

    fn member(&mut self, group: usize, key: Cow<'a, str>, written: &'a str) -> usize {
        let place = if let Some(place) = self.places.get(&(group, key.clone())) {
            *place
        } else {
            let place = self.all.len();
            self.places.insert((group, key.clone()), place);
            self.all[group].members.push(place);
            self.all.push(ServerMember {
                key,
                ..ServerMember::default()
            });
            place
        };
        let member = &mut self.all[place];
        let is_news = written != member.key && !member.written.contains(&written);
        if is_news && is_reachable(written) && member.written.len() < MAX_EXACT_NAMES {
            member.written.push(written);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::find_collisions;

    /// Formats members: `key`, `key()` for a tool, followed by the members of a group.
    fn shown(members: &ServerMembers<'_>, of: &ServerMember<'_>) -> String {
        let each = members.members_of(of).map(|member| {
            let call = if member.tool.is_some() { "()" } else { "" };
            let inner = if member.is_group() {
                format!("{{{}}}", shown(members, member))
            } else {
                String::new()
            };
            let written = member.written.join("|");
            let written = if written.is_empty() {
                written
            } else {
                format!("<{written}>")
            };
            format!("{}{written}{call}{inner}", member.key)
        });
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dotted_names_become_groups_which_may_be_tools_too() {
        for (names, expected) in [
            (&["a", "b-c"][..], "a() b_c<b-c>()"),
            (&["a.b", "x", "a.c.d"], "a{b() c{d()}} x()"),
            (&["a.b", "a"], "a(){b()}"),
            (
                &["a-x.b-c", "a.x", "a_x.d"],
                "a_x<a-x>{b_c<b-c>() d()} a{x()}",
            ),
            (
                &["a..b", ".c", "d.", "."],
                "a_b<a..b>() _c<.c>() d_<d.>() _<.>()",
            ),
            (&["a.b-c", "a.b_c", "a.d"], "a.b-c() a{b_c() d()}"),
            (&["a-b", "a_b", "a_b.c"], "a-b() a_b(){c()}"),
            (
                &["then", "a.then", "a.toJSON.b"],
                "then_() a{then_() toJSON_{b()}}",
            ),
            (
                &["__proto__.constructor", "__proto__"],
                "__proto__(){constructor()}",
            ),
        ] {
            let found = find_collisions(names.iter().copied());
            let members = ServerMembers::new(names.iter().copied(), &found);
            assert_eq!(shown(&members, members.server()), expected, "{names:?}");
            for (at, name) in names.iter().enumerate() {
                assert_eq!(members.member_of_tool(at).tool, Some(at), "{name}");
            }
        }
    }

    #[test]
    fn name_with_too_many_segments_is_one_segment() {
        let deep = ["x"; 17].join(".");
        let members = ServerMembers::new(std::iter::once(deep.as_str()), &[]);
        assert_eq!(members.member_of_tool(0).key, ["x"; 17].join("_"));
        let deepest = ["x"; 16].join(".");
        let members = ServerMembers::new(std::iter::once(deepest.as_str()), &[]);
        assert_eq!(members.member_of_tool(0).key, "x");
    }
}
