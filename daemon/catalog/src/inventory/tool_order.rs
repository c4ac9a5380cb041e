//! Orders the tools of a server by how likely they are needed.
//!
//! Invariant: the order depends on names and levels of use alone, so that the same pool gives the same list.

use std::{cmp::Reverse, collections::HashMap};

use crate::search::word_splitting;

/// The verbs that most work begins and ends with, the most common first. Words as [`word_splitting::each`] gives them.
const COMMON_VERBS: &[&str] = &[
    "read", "list", "get", "search", "find", "query", "create", "write", "update", "add", "run",
    "send", "open", "fetch", "show", "describe", "delete",
];
/// The verb may come after the server's name or the name of its subject.
const MAX_VERB_POSITION: usize = 2;

/// Indices of the tools: the most used first, then one tool of each common verb in turn, the shortest names first, then
/// the rest. `level` is the usage level of the tool at an index.
pub fn by_need(names: &[String], level: impl Fn(usize) -> u32) -> Vec<usize> {
    let mut places: Vec<usize> = (0..names.len()).collect();
    places.sort_by_key(|place| (names[*place].len(), &names[*place]));
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let mut ranked: Vec<_> = places
        .into_iter()
        .map(|place| {
            let (turn, verb) = match verb(&names[place]) {
                Some(verb) => {
                    let turn = seen.entry(verb).or_default();
                    *turn += 1;
                    (*turn, verb)
                }
                None => (usize::MAX, COMMON_VERBS.len()),
            };
            (Reverse(level(place)), turn, verb, place)
        })
        .collect();
    // A stable sort: among equals the shortest name comes first.
    ranked.sort_by_key(|(level, turn, verb, _)| (*level, *turn, *verb));
    ranked.into_iter().map(|(.., place)| place).collect()
}

fn verb(name: &str) -> Option<usize> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let (mut found, mut looked_at) = (None, 0);
    word_splitting::each(last, |word| {
        looked_at += 1;
        if found.is_none() && looked_at <= MAX_VERB_POSITION {
            found = COMMON_VERBS.iter().position(|verb| *verb == word);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<'a>(names: &[&'a str], used: &[&str]) -> Vec<&'a str> {
        let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let level = |place: usize| u32::from(used.contains(&names[place]));
        let order = by_need(&owned, level);
        order.into_iter().map(|place| names[place]).collect()
    }

    #[test]
    fn used_tools_come_first_then_common_verbs_in_turn() {
        let names = [
            "add_chart",
            "add_conditional_format",
            "copy_sheet",
            "delete_rows",
            "merge",
            "read_range",
            "read_range_formatted",
            "write_range",
        ];
        assert_eq!(
            order(&names, &[]),
            [
                "read_range",
                "write_range",
                "add_chart",
                "delete_rows",
                "read_range_formatted",
                "add_conditional_format",
                "merge",
                "copy_sheet",
            ]
        );
        assert_eq!(
            order(&names, &["copy_sheet"])[..2],
            ["copy_sheet", "read_range"]
        );
    }

    #[test]
    fn verb_is_found_after_a_prefix_and_in_any_spelling() {
        for name in [
            "notion_search",
            "pet.getOne",
            "API-get-user",
            "getThing",
            "read",
        ] {
            assert!(verb(name).is_some(), "{name}");
        }
        for name in ["browser_tab_list", "thread", "calc", ""] {
            assert!(verb(name).is_none(), "{name}");
        }
    }
}
