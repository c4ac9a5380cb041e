//! Orders the tools of a server by how likely they are needed.
//!
//! Invariant: the order depends only on names, declared effects and usage levels, so the same pool gives the same list.

use std::{cmp::Reverse, collections::HashMap};

use crate::search::word_splitting;

/// The verbs of tools that read, with which most work begins. The most common come first. Words as
/// [`word_splitting::each`] gives them.
const READ_VERBS: &[&str] = &[
    "read", "list", "get", "search", "find", "query", "fetch", "show", "describe",
];
/// Other verbs, the most common first.
const WRITE_VERBS: &[&str] = &[
    "create", "write", "update", "add", "run", "send", "open", "delete",
];
/// The number of tools per reading verb that come before one tool per other verb.
const READS_PER_ROUND: usize = 2;
/// The verb may come after the server's name or the name of its subject.
const MAX_VERB_POSITION: usize = 2;

/// Indices of the tools: the most used first, then in rounds, two tools per common reading verb and one per other
/// common verb, shortest names first, then the rest. `level` is the usage level of the tool at an index, `is_read_only`
/// is true if its server says that it changes nothing.
pub fn by_need(
    names: &[String],
    level: impl Fn(usize) -> u32,
    is_read_only: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..names.len()).collect();
    indices.sort_by_key(|index| (names[*index].len(), &names[*index]));
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let mut ranked: Vec<_> = indices
        .into_iter()
        .map(|index| {
            let verb = verb(&names[index], is_read_only(index));
            let round = verb.map_or(usize::MAX, |verb| {
                let count = seen.entry(verb).or_default();
                *count += 1;
                let per_round = if verb <= READ_VERBS.len() {
                    READS_PER_ROUND
                } else {
                    1
                };
                count.div_ceil(per_round)
            });
            (Reverse(level(index)), round, verb, index)
        })
        .collect();
    // A stable sort: among equals the shortest name comes first.
    ranked.sort_by_key(|(level, round, verb, _)| (*level, *round, *verb));
    ranked.into_iter().map(|(.., index)| index).collect()
}

/// The index of the name's verb, with reading verbs first. A tool without a verb that changes nothing counts as one
/// more reading verb.
fn verb(name: &str, is_read_only: bool) -> Option<usize> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let mut found = None;
    let mut looked_at = 0;
    word_splitting::each(last, |word| {
        looked_at += 1;
        if found.is_none() && looked_at <= MAX_VERB_POSITION {
            let is_it = |verb: &&str| *verb == word;
            let writes = || Some(WRITE_VERBS.iter().position(is_it)? + READ_VERBS.len() + 1);
            found = READ_VERBS.iter().position(is_it).or_else(writes);
        }
    });
    found.or(is_read_only.then_some(READ_VERBS.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<'a>(names: &[&'a str], used: &[&str]) -> Vec<&'a str> {
        let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let level = |index: usize| u32::from(used.contains(&names[index]));
        let order = by_need(&owned, level, |index| names[index].starts_with("plain"));
        order.into_iter().map(|index| names[index]).collect()
    }

    #[test]
    fn used_tools_come_first_then_common_verbs_in_rounds() {
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
                "read_range_formatted",
                "write_range",
                "add_chart",
                "delete_rows",
                "add_conditional_format",
                "merge",
                "copy_sheet",
            ]
        );
        assert_eq!(
            order(&["status", "plain", "create", "read"], &[]),
            ["read", "plain", "create", "status"]
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
            assert!(verb(name, false).is_some(), "{name}");
        }
        for name in ["browser_tab_list", "thread", "calc", ""] {
            assert!(verb(name, false).is_none(), "{name}");
        }
    }
}
