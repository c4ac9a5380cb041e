//! Lists the differences of two definitions, in terms of the first definition, the most important first.
//!
//! Invariant: nothing that only the second definition contains is reported, neither names nor values, except MCP's own
//! names: the reader may be a model, and the user has not accepted that definition.

use mux_text::canonical_json;
use serde_json::{Map, Value};

/// The maximum number of reported differences, and how deep they may be nested.
const MAX_DIFFERENCES: usize = 20;
const MAX_DIFFERENCE_DEPTH: usize = 12;
/// MCP's own names for the members that a definition may lack.
const MCP_NAMES: &[&str] = &[
    "outputSchema",
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// The differences of two definitions.
#[derive(Debug)]
pub(super) struct DefinitionDiff {
    /// Paths such as `inputSchema.properties.path.type`, or `… (more)` for added members.
    pub(super) paths: Vec<String>,
    /// Set if policy reads the new hints as stricter, or an output schema was added, and the rest is the same.
    pub(super) is_stricter: bool,
}

/// The consequence of a difference, the worst first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum DiffEffect {
    /// Models read the text, or arguments depend on it.
    Text,
    /// Policy permits more.
    LaxerHint,
    /// Policy permits less, or results are described.
    Stricter,
}

pub(super) fn diff(before: &Value, now: &Value) -> DefinitionDiff {
    let mut paths = Vec::new();
    compare(
        "",
        &with_annotations(before),
        &with_annotations(now),
        MAX_DIFFERENCE_DEPTH,
        &mut paths,
    );
    let effect = |path: &String| effect(path, before, now);
    paths.sort_by_key(effect);
    let is_stricter = paths
        .iter()
        .all(|path| effect(path) == DiffEffect::Stricter);
    paths.truncate(MAX_DIFFERENCES);
    DefinitionDiff { paths, is_stricter }
}

/// Absent annotations are annotations without a hint.
fn with_annotations(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if let Value::Object(members) = &mut definition {
        members
            .entry("annotations")
            .or_insert_with(|| Map::new().into());
    }
    definition
}

fn effect(path: &str, before: &Value, now: &Value) -> DiffEffect {
    let name = path.split(' ').next().unwrap_or_default();
    if path == "outputSchema (added)" {
        return DiffEffect::Stricter;
    }
    let Some(hint) = name
        .strip_prefix("annotations.")
        .filter(|hint| MCP_NAMES.contains(hint))
    else {
        return DiffEffect::Text;
    };
    let strictness = |definition: &Value| strictness(hint, definition["annotations"].get(hint));
    match (strictness(before), strictness(now)) {
        (Some(before), Some(now)) if now >= before => DiffEffect::Stricter,
        _ => DiffEffect::LaxerHint,
    }
}

/// How strictly policy reads a hint. `None` if the hint is not a boolean.
fn strictness(hint: &str, value: Option<&Value>) -> Option<u8> {
    let value = value
        .map(|value| value.as_bool().ok_or(()))
        .transpose()
        .ok()?;
    Some(match (hint, value) {
        ("readOnlyHint" | "idempotentHint", Some(true)) => 0,
        ("readOnlyHint" | "idempotentHint", _) => 1,
        (_, Some(false)) => 0,
        (_, None) => 1,
        (_, Some(true)) => 2,
    })
}

fn compare(path: &str, before: &Value, now: &Value, depth: usize, found: &mut Vec<String>) {
    if canonical_json::to_text(before) == canonical_json::to_text(now) {
        return;
    }
    let (Value::Object(before), Value::Object(now), 1..) = (before, now, depth) else {
        found.push(path.to_owned());
        return;
    };
    let inside = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    for (name, member) in before {
        // The remaining differences are many of one kind.
        if found.len() >= MAX_DIFFERENCES && !path.is_empty() {
            return;
        }
        match now.get(name) {
            Some(other) => compare(&inside(name), member, other, depth - 1, found),
            None => found.push(format!("{} (gone)", inside(name))),
        }
    }
    let has_mcp_names = matches!(path, "" | "annotations");
    let mut added = now.keys().filter(|name| !before.contains_key(*name));
    let is_known = |name: &&String| has_mcp_names && MCP_NAMES.contains(&name.as_str());
    let known = added.clone().filter(is_known);
    found.extend(known.map(|name| format!("{} (added)", inside(name))));
    if added.any(|name| !is_known(&name)) {
        found.push(format!(
            "{} (more)",
            if path.is_empty() { "the tool" } else { path }
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
            "annotations": { "POISON": true },
            "POISON": 1,
        });
        let changed = diff(&before, &now);
        assert_eq!(
            changed.paths,
            [
                "description",
                "inputSchema.properties.a.type",
                "inputSchema.properties.b (gone)",
                "inputSchema.properties (more)",
                "annotations (more)",
                "the tool (more)",
            ]
        );
        assert!(!changed.is_stricter);
        let same =
            json!({ "inputSchema": before["inputSchema"], "description": "d", "annotations": {} });
        assert!(diff(&before, &same).paths.is_empty());
    }

    #[test]
    fn text_comes_before_laxer_hints_and_these_before_stricter_ones() {
        let before = json!({ "annotations": { "openWorldHint": false, "readOnlyHint": false }, "description": "d" });
        let now = json!({
            "annotations": { "openWorldHint": true, "readOnlyHint": true },
            "description": "e",
            "outputSchema": { "POISON": 1 },
        });
        let changed = diff(&before, &now);
        assert_eq!(
            changed.paths,
            [
                "description",
                "annotations.readOnlyHint",
                "annotations.openWorldHint",
                "outputSchema (added)"
            ]
        );
        assert!(!changed.is_stricter);
    }

    #[test]
    fn only_hints_that_permit_less_and_new_output_schemas_are_stricter() {
        let tool = |annotations: Value| json!({ "name": "t", "annotations": annotations });
        for (before, now, is_stricter) in [
            (json!({}), json!({ "openWorldHint": true }), true),
            (json!({}), json!({ "openWorldHint": false }), false),
            (json!({}), json!({ "destructiveHint": true }), true),
            (json!({}), json!({ "destructiveHint": false }), false),
            (json!({ "destructiveHint": true }), json!({}), false),
            (json!({ "destructiveHint": false }), json!({}), true),
            (json!({}), json!({ "readOnlyHint": true }), false),
            (json!({ "readOnlyHint": true }), json!({}), true),
            (
                json!({ "idempotentHint": true }),
                json!({ "idempotentHint": false }),
                true,
            ),
            (json!({}), json!({ "idempotentHint": true }), false),
            (json!({}), json!({ "readOnlyHint": "POISON" }), false),
            (json!({}), json!({ "title": "POISON" }), false),
            (json!({ "title": "t" }), json!({ "title": "POISON" }), false),
            (
                json!({}),
                json!({ "openWorldHint": true, "POISON": 1 }),
                false,
            ),
        ] {
            let changed = diff(&tool(before.clone()), &tool(now.clone()));
            assert_eq!(
                changed.is_stricter, is_stricter,
                "{before} / {now}: {changed:?}"
            );
        }
        let described = |schema: Value| json!({ "name": "t", "outputSchema": schema });
        assert!(diff(&json!({ "name": "t" }), &described(json!({}))).is_stricter);
        assert!(!diff(&described(json!({})), &json!({ "name": "t" })).is_stricter);
        assert!(!diff(&described(json!({})), &described(json!({ "a": 1 }))).is_stricter);
    }
}
