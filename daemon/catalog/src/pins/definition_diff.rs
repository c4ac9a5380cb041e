//! Lists where two definitions differ, in terms of the first.
//!
//! Invariant: nothing that only the second contains is reported, neither names nor values: the reader may be a model,
//! and the user has not accepted it.

use mux_text::canonical_json;
use serde_json::Value;

/// The maximum number of reported differences, and how deep they may be nested.
const MAX_DIFFERENCES: usize = 20;
const MAX_DIFFERENCE_DEPTH: usize = 12;

/// The paths of the differences, such as `inputSchema.properties.path.type`, and `… (more)` where members were added.
pub(super) fn changed_paths(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", before, now, MAX_DIFFERENCE_DEPTH, &mut found);
    found.truncate(MAX_DIFFERENCES);
    found
}

fn compare(place: &str, before: &Value, now: &Value, depth: usize, found: &mut Vec<String>) {
    if found.len() >= MAX_DIFFERENCES
        || canonical_json::to_text(before) == canonical_json::to_text(now)
    {
        return;
    }
    let (Value::Object(before), Value::Object(now), 1..) = (before, now, depth) else {
        found.push(place.to_owned());
        return;
    };
    let inside = |name: &str| match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    };
    for (name, member) in before {
        match now.get(name) {
            Some(other) => compare(&inside(name), member, other, depth - 1, found),
            None => found.push(format!("{} (gone)", inside(name))),
        }
    }
    if now.keys().any(|name| !before.contains_key(name)) {
        found.push(format!(
            "{} (more)",
            if place.is_empty() { "the tool" } else { place }
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn diff_names_places_but_nothing_of_the_new_definition() {
        let before = json!({ "description": "d", "inputSchema": { "properties": { "a": { "type": "string" }, "b": {} } } });
        let now = json!({
            "description": "POISON",
            "inputSchema": { "properties": { "a": { "type": "POISON" }, "POISON": {} } },
            "POISON": 1,
        });
        let changed = changed_paths(&before, &now);
        assert_eq!(
            changed,
            [
                "description",
                "inputSchema.properties.a.type",
                "inputSchema.properties.b (gone)",
                "inputSchema.properties (more)",
                "the tool (more)",
            ]
        );
        assert!(
            changed_paths(
                &before,
                &json!({ "inputSchema": before["inputSchema"], "description": "d" })
            )
            .is_empty()
        );
    }
}
