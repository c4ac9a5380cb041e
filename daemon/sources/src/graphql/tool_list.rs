//! The tools of a schema: one tool for each field of the root types, and a tool that takes any document.
//!
//! Invariant: the same schema gives the same tools, and the list is within the limits for tool lists.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    argument_schema,
    default_selection::DefaultSelection,
    description_text::with_warning,
    result_schema,
    schema_model::{GraphqlSchema, OperationKind, SchemaField},
};

/// The function that takes any document.
pub(super) const ANY_QUERY_TOOL: &str = "graphql";
/// The total size of all tools as JSON, within the size limit for tool lists.
const MAX_TOOL_LIST_BYTES: usize = 6 << 20;
/// The number of tools, within the limit for tool lists.
const MAX_LISTED_TOOLS: usize = 9_000;
/// The length of the selection that a description shows.
const MAX_SHOWN_SELECTION_BYTES: usize = 700;

/// The amount of schema that a tool carries. A schema that is too large for one budget gets the next smaller budget.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ToolBudget {
    /// Bytes for the types of arguments.
    pub(super) arguments: usize,
    /// Leaves in the default selection.
    pub(super) leaves: usize,
    /// Bytes for a description.
    pub(super) words: usize,
    /// Bytes for a description in the result.
    pub(super) result_words: usize,
}

const TOOL_BUDGETS: [ToolBudget; 4] = [
    ToolBudget {
        arguments: 24 << 10,
        leaves: 120,
        words: 800,
        result_words: 120,
    },
    ToolBudget {
        arguments: 12 << 10,
        leaves: 60,
        words: 300,
        result_words: 0,
    },
    ToolBudget {
        arguments: 3 << 10,
        leaves: 20,
        words: 120,
        result_words: 0,
    },
    ToolBudget {
        arguments: 0,
        leaves: 5,
        words: 60,
        result_words: 0,
    },
];

/// Operations whose fields are functions.
pub(super) const OFFERED_OPERATIONS: [OperationKind; 2] =
    [OperationKind::Query, OperationKind::Mutation];

/// The tools of a schema.
pub(super) struct GeneratedTools {
    pub(super) tools: Vec<Value>,
    /// The budget of each tool.
    pub(super) room: ToolBudget,
    /// Set if every field has a tool.
    pub(super) complete: bool,
}

pub(super) fn all(schema: &GraphqlSchema, depth: u32) -> GeneratedTools {
    let mut made = in_room(schema, depth, TOOL_BUDGETS[0]);
    for room in &TOOL_BUDGETS[1..] {
        if made.complete {
            break;
        }
        made = in_room(schema, depth, *room);
    }
    made
}

/// As many tools as fit into the list. The tool that takes any document comes first.
fn in_room(schema: &GraphqlSchema, depth: u32, room: ToolBudget) -> GeneratedTools {
    let mut made = GeneratedTools {
        tools: vec![any(schema)],
        room,
        complete: true,
    };
    let mut left = MAX_TOOL_LIST_BYTES;
    for operation in OFFERED_OPERATIONS {
        for field in operation.fields(schema) {
            let tool = tool(schema, operation, field, depth, &room);
            let length = tool.to_string().len();
            if length > left || made.tools.len() == MAX_LISTED_TOOLS {
                made.complete = false;
                return made;
            }
            left -= length;
            made.tools.push(tool);
        }
    }
    made
}

fn tool(
    schema: &GraphqlSchema,
    operation: OperationKind,
    field: &SchemaField,
    depth: u32,
    room: &ToolBudget,
) -> Value {
    let selection = default(schema, operation, field, depth, room);
    let deprecated = field.deprecated.as_deref();
    let mut said =
        with_warning(field.description.as_deref(), deprecated, room.words).unwrap_or_default();
    if let Some(selection) = &selection {
        if !said.is_empty() {
            said.push_str("\n\n");
        }
        let shown = cut(selection.text(), MAX_SHOWN_SELECTION_BYTES.min(room.words));
        _ = write!(said, "Selects `{shown}` unless `$select` says otherwise.");
    }
    let mut tool = json!({
        "name": format!("{}.{}", operation.word(), field.name),
        "inputSchema": argument_schema::schema(schema, field, selection.is_some(), room),
        "outputSchema": result_schema::schema(schema, field, selection.as_ref(), room),
        "annotations": operation.annotations(&field.name),
    });
    if !said.is_empty() {
        tool["description"] = said.into();
    }
    tool
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.truncate(text.rfind(' ').unwrap_or(most));
        text.push_str(" …");
    }
    text
}

/// The selection of a function without `$select`. `None` for a leaf.
///
/// A mutation without arguments may be a group of other mutations (`mutation { user { purge } }`), where selecting a
/// field executes it.
pub(super) fn default<'a>(
    schema: &'a GraphqlSchema,
    operation: OperationKind,
    field: &'a SchemaField,
    depth: u32,
    room: &ToolBudget,
) -> Option<DefaultSelection<'a>> {
    let ty = field.ty.name();
    let may_be_group = operation == OperationKind::Mutation && field.arguments.is_empty();
    schema.is_composite(ty).then(|| {
        if may_be_group {
            DefaultSelection::of_group(schema, ty, depth, room)
        } else {
            DefaultSelection::of(schema, ty, depth, room)
        }
    })
}

fn any(schema: &GraphqlSchema) -> Value {
    let reads_only = schema.mutation.is_none();
    json!({
        "name": ANY_QUERY_TOOL,
        "description": "Sends any query or mutation, with its variables. What the API refuses stands in `errors`, \
                        beside the `data` that there is, and is no failure of the call.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "A document of GraphQL." },
                "variables": { "type": "object", "additionalProperties": true },
                "operationName": {
                    "type": "string",
                    "description": "Which of its operations is meant, if it has several.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "data": {},
                "errors": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "message": { "type": "string" },
                        "path": { "type": "array", "items": { "type": ["string", "number"] } },
                        "locations": { "type": "array", "items": {
                            "type": "object",
                            "properties": { "line": { "type": "number" }, "column": { "type": "number" } },
                            "required": ["line", "column"],
                        } },
                        "extensions": { "type": "object", "additionalProperties": true },
                    },
                    "required": ["message"],
                } },
                "extensions": { "type": "object", "additionalProperties": true },
            },
            "required": ["data"],
        },
        "annotations": { "readOnlyHint": reads_only, "destructiveHint": !reads_only },
    })
}

impl OperationKind {
    pub(super) fn fields(self, schema: &GraphqlSchema) -> &[SchemaField] {
        let fields = schema.root(self).and_then(|root| schema.fields(root));
        fields.unwrap_or_default()
    }

    /// The MCP annotations of the function of this field.
    pub(super) fn annotations(self, field: &str) -> Value {
        match self {
            OperationKind::Query => json!({ "readOnlyHint": true }),
            OperationKind::Mutation => json!({
                "readOnlyHint": false,
                "destructiveHint": destroys(field),
                "idempotentHint": false,
            }),
            // Subscriptions are not functions.
            OperationKind::Subscription => Value::Null,
        }
    }
}

/// Verbs in names of fields that delete or disable something.
const DESTRUCTIVE_WORDS: &[&str] = &[
    "clear",
    "delete",
    "destroy",
    "drop",
    "erase",
    "purge",
    "remove",
    "revoke",
    "terminate",
    "truncate",
    "uninstall",
    "wipe",
];

/// True if a field has a destructive name.
pub(super) fn destroys(name: &str) -> bool {
    let mut words = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !before.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
        before = letter;
    }
    let mut words = words.split('_');
    words.any(|word| DESTRUCTIVE_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destructive_names_are_recognized() {
        for (name, expected) in [
            ("deleteUser", true),
            ("user_delete", true),
            ("DELETE_USER", true),
            ("bulkRemoveLabels", true),
            ("createUser", false),
            ("dropdownOpen", false),
            ("undelete", false),
        ] {
            assert_eq!(destroys(name), expected, "{name}");
        }
    }
}
