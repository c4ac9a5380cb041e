//! The properties of one server: its tools, and the groups into which the dots of their names put them.
//!
//! Invariant: every tool stands in one place, and what stands there depends on the names alone, whatever order
//! they come in; their order decides only what is listed first.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::names::{Collision, is_path, is_reachable, spell, spell_flat};

/// Of one segment, other ways to write it that are told.
const MOST_WRITINGS: usize = 8;

/// All properties of a server, of which it is the first one itself.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    all: Vec<Member<'a>>,
    /// The place of each tool, in the order in which they were given.
    tools: Vec<usize>,
}

/// A tool, a group of tools, or both at once.
#[derive(Clone, Debug, Default)]
pub struct Member<'a> {
    /// The property.
    pub key: Cow<'a, str>,
    /// Others share the spelling, so that the key is an exact name.
    pub is_exact: bool,
    /// How servers write the segment, where that is not the key, and the first of these ways.
    pub written: Vec<&'a str>,
    /// Which of the names it is, if it is a tool.
    pub tool: Option<usize>,
    /// Places of what is in the group.
    members: Vec<usize>,
}

impl<'a> Members<'a> {
    /// Of these names, all different, and of what [`super::names::collisions`] finds among them.
    pub fn new(names: impl Iterator<Item = &'a str>, colliding: &[Collision<'_>]) -> Self {
        let colliding: HashSet<&str> = colliding.iter().map(|c| &*c.spelling).collect();
        let mut building = Building {
            all: vec![Member::default()],
            places: HashMap::new(),
        };
        let mut tools = Vec::new();
        for (tool, name) in names.enumerate() {
            let spelling = spell(name);
            let collides = colliding.contains(&*spelling);
            let place = match collides && spelling != name {
                // Where it would stand stands another one.
                true => building.member(0, Cow::Borrowed(name), name),
                false => building.place(name),
            };
            let member = &mut building.all[place];
            member.is_exact = collides;
            member.tool = Some(tool);
            tools.push(place);
        }
        let all = building.all;
        Self { all, tools }
    }

    /// The server, whose members its properties are.
    pub fn server(&self) -> &Member<'a> {
        &self.all[0]
    }

    /// What is in a group, in order of first appearance.
    pub fn of(&self, group: &Member<'a>) -> impl Iterator<Item = &Member<'a>> {
        group.members.iter().map(|place| &self.all[*place])
    }

    pub fn of_tool(&self, tool: usize) -> &Member<'a> {
        &self.all[self.tools[tool]]
    }
}

impl Member<'_> {
    pub fn is_group(&self) -> bool {
        !self.members.is_empty()
    }
}

struct Building<'a> {
    all: Vec<Member<'a>>,
    /// By group and key.
    places: HashMap<(usize, Cow<'a, str>), usize>,
}

impl<'a> Building<'a> {
    fn place(&mut self, name: &'a str) -> usize {
        if !is_path(name) {
            return self.member(0, spell(name), name);
        }
        name.split('.').fold(0, |group, segment| {
            self.member(group, spell_flat(segment), segment)
        })
    }

    fn member(&mut self, group: usize, key: Cow<'a, str>, written: &'a str) -> usize {
        let place = match self.places.get(&(group, key.clone())) {
            Some(place) => *place,
            None => {
                let place = self.all.len();
                self.places.insert((group, key.clone()), place);
                self.all[group].members.push(place);
                self.all.push(Member {
                    key,
                    ..Member::default()
                });
                place
            }
        };
        let member = &mut self.all[place];
        let is_news = written != member.key && !member.written.contains(&written);
        if is_news && is_reachable(written) && member.written.len() < MOST_WRITINGS {
            member.written.push(written);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::collisions;

    /// `key`, `key()` for a tool, with what is in it behind.
    fn shown(members: &Members<'_>, of: &Member<'_>) -> String {
        let each = members.of(of).map(|member| {
            let call = if member.tool.is_some() { "()" } else { "" };
            let inner = match member.is_group() {
                true => format!("{{{}}}", shown(members, member)),
                false => String::new(),
            };
            let written = member.written.join("|");
            let written = match written.is_empty() {
                true => written,
                false => format!("<{written}>"),
            };
            format!("{}{written}{call}{inner}", member.key)
        });
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dots_make_groups_and_tools_may_be_groups_too() {
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
            let found = collisions(names.iter().copied());
            let members = Members::new(names.iter().copied(), &found);
            assert_eq!(shown(&members, members.server()), expected, "{names:?}");
            for (at, name) in names.iter().enumerate() {
                assert_eq!(members.of_tool(at).tool, Some(at), "{name}");
            }
        }
    }

    #[test]
    fn names_of_many_segments_are_one() {
        let deep = ["x"; 17].join(".");
        let members = Members::new(std::iter::once(deep.as_str()), &[]);
        assert_eq!(members.of_tool(0).key, ["x"; 17].join("_"));
        let deepest = ["x"; 16].join(".");
        let members = Members::new(std::iter::once(deepest.as_str()), &[]);
        assert_eq!(members.of_tool(0).key, "x");
    }
}
