//! Follows the pages of one list to its end.
//!
//! Invariant: no cursor is followed twice, and no item is kept twice, regardless of a server's cursors.

use std::collections::HashSet;

use serde_json::Value;

/// The pages of one list so far.
pub(crate) struct ListPages {
    /// The member that identifies an item.
    key: &'static str,
    cursors: HashSet<String>,
    items: HashSet<String>,
}

impl ListPages {
    pub(crate) fn new(key: &'static str) -> Self {
        Self {
            key,
            cursors: HashSet::new(),
            items: HashSet::new(),
        }
    }

    /// Drops the items of a page that an earlier page had, and returns the cursor of the next page. `None` ends the
    /// list: the cursor is missing, empty or was used before, or the page repeats earlier pages.
    pub(crate) fn add_page(
        &mut self,
        items: &mut Vec<Value>,
        next: Option<String>,
    ) -> Option<String> {
        let is_first = self.cursors.is_empty();
        let listed = items.len();
        // Within one page the receiver handles equal names.
        let mut names = Vec::new();
        items.retain(|item| {
            let Some(name) = item[self.key].as_str() else {
                return true;
            };
            let is_new = !self.items.contains(name);
            if is_new {
                names.push(name.to_owned());
            }
            is_new
        });
        self.items.extend(names);
        let repeats = !is_first && listed > 0 && items.is_empty();
        let next = next.filter(|cursor| !cursor.is_empty() && !repeats)?;
        self.cursors.insert(next.clone()).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The items that are kept from a server that answers each cursor with `page`.
    fn kept(page: impl Fn(&str) -> (Vec<&'static str>, Option<&'static str>)) -> Vec<String> {
        let mut pages = ListPages::new("name");
        let mut kept = Vec::new();
        let mut cursor = Some(String::new());
        while let Some(at) = cursor {
            let (items, next) = page(&at);
            let mut items: Vec<Value> = items.into_iter().map(|n| json!({ "name": n })).collect();
            cursor = pages.add_page(&mut items, next.map(str::to_owned));
            kept.extend(
                items
                    .iter()
                    .map(|item| item["name"].as_str().unwrap().to_owned()),
            );
        }
        kept
    }

    #[test]
    fn list_ends_whatever_a_server_does_with_cursors() {
        assert_eq!(kept(|_| (vec!["a", "b"], Some(""))), ["a", "b"]);
        assert_eq!(kept(|_| (vec!["a"], Some("same"))), ["a"]);
        let cycle = |at: &str| match at {
            "" => (vec!["a"], Some("1")),
            "1" => (vec!["b"], Some("2")),
            _ => (vec!["c"], Some("1")),
        };
        assert_eq!(kept(cycle), ["a", "b", "c"]);
        // The server ignores the cursor and makes a new cursor each time.
        let ignored = |at: &str| (vec!["a", "b"], Some(if at.is_empty() { "x" } else { "y" }));
        assert_eq!(kept(ignored), ["a", "b"]);
        // A page may be empty, and an overlap does not end the list.
        let filtered = |at: &str| match at {
            "" => (vec![], Some("1")),
            "1" => (vec!["a", "b"], Some("2")),
            "2" => (vec!["b", "c"], Some("3")),
            _ => (vec!["d"], None),
        };
        assert_eq!(kept(filtered), ["a", "b", "c", "d"]);
        assert_eq!(kept(|_| (vec!["a", "a"], None)), ["a", "a"]);
    }
}
