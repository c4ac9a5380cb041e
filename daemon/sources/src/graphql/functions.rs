//! What there is to call: a function for each field of the root types, and one for any query.
//!
//! Invariant: the same schema makes the same functions, and their list has room where lists of tools are read.

use serde_json::{Value, json};

use super::{
    arguments,
    model::{Field, Operation, Schema},
    results,
    selection::Selection,
    words::with_warning,
};

/// Takes any query.
pub(super) const ANY: &str = "graphql";
/// As text, of all functions together; more than that is not read of a list.
const LONGEST_LIST: usize = 6 << 20;
/// The same for their number.
const MOST: usize = 9_000;
/// Of a selection that is told, in bytes.
const TOLD_SELECTION: usize = 700;

/// How much there is of a function. Schemas that are too large for the first get the next.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Room {
    /// For the types of arguments, in bytes.
    pub(super) arguments: usize,
    /// In a selection.
    pub(super) leaves: usize,
    /// For a description, in bytes.
    pub(super) words: usize,
    /// For one in a result.
    pub(super) result_words: usize,
}

const ROOMS: [Room; 4] = [
    Room {
        arguments: 24 << 10,
        leaves: 120,
        words: 800,
        result_words: 120,
    },
    Room {
        arguments: 12 << 10,
        leaves: 60,
        words: 300,
        result_words: 0,
    },
    Room {
        arguments: 3 << 10,
        leaves: 20,
        words: 120,
        result_words: 0,
    },
    Room {
        arguments: 0,
        leaves: 5,
        words: 60,
        result_words: 0,
    },
];

/// Operations whose fields are functions.
pub(super) const OFFERED: [Operation; 2] = [Operation::Query, Operation::Mutation];

/// The tools of a schema.
pub(super) struct Made {
    pub(super) tools: Vec<Value>,
    /// That each was given.
    pub(super) room: Room,
    /// Whether that are all.
    pub(super) complete: bool,
}

pub(super) fn all(schema: &Schema, depth: u32) -> Made {
    let mut made = in_room(schema, depth, ROOMS[0]);
    for room in &ROOMS[1..] {
        if made.complete {
            break;
        }
        made = in_room(schema, depth, *room);
    }
    made
}

/// As many as fit into a list. The function that takes any query comes first.
fn in_room(schema: &Schema, depth: u32, room: Room) -> Made {
    let mut made = Made {
        tools: vec![any(schema)],
        room,
        complete: true,
    };
    let mut left = LONGEST_LIST;
    for operation in OFFERED {
        for field in operation.fields(schema) {
            let tool = tool(schema, operation, field, depth, &room);
            let length = tool.to_string().len();
            if length > left || made.tools.len() == MOST {
                made.complete = false;
                return made;
            }
            left -= length;
            made.tools.push(tool);
        }
    }
    made
}

fn tool(schema: &Schema, operation: Operation, field: &Field, depth: u32, room: &Room) -> Value {
    let selection = default(schema, operation, field, depth, room);
    let deprecated = field.deprecated.as_deref();
    let mut said =
        with_warning(field.description.as_deref(), deprecated, room.words).unwrap_or_default();
    if let Some(selection) = &selection {
        if !said.is_empty() {
            said.push_str("\n\n");
        }
        let told = cut(selection.text(), TOLD_SELECTION.min(room.words));
        said.push_str(&format!(
            "Selects `{told}` unless `$select` says otherwise."
        ));
    }
    let mut tool = json!({
        "name": format!("{}.{}", operation.word(), field.name),
        "inputSchema": arguments::schema(schema, field, selection.is_some(), room),
        "outputSchema": results::schema(schema, field, selection.as_ref(), room),
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

/// What is selected of a field where nobody says it; nothing of a leaf.
///
/// A mutation without arguments may be a group of others (`mutation { user { purge } }`), so that to select a field is
/// to carry it out.
pub(super) fn default<'a>(
    schema: &'a Schema,
    operation: Operation,
    field: &'a Field,
    depth: u32,
    room: &Room,
) -> Option<Selection<'a>> {
    let ty = field.ty.name();
    let may_be_group = operation == Operation::Mutation && field.arguments.is_empty();
    schema.is_composite(ty).then(|| match may_be_group {
        true => Selection::of_group(schema, ty, depth, room),
        false => Selection::of(schema, ty, depth, room),
    })
}

fn any(schema: &Schema) -> Value {
    let reads_only = schema.mutation.is_none();
    json!({
        "name": ANY,
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

impl Operation {
    pub(super) fn fields(self, schema: &Schema) -> &[Field] {
        let fields = schema.root(self).and_then(|root| schema.fields(root));
        fields.unwrap_or_default()
    }

    /// What a function says of itself.
    pub(super) fn annotations(self, field: &str) -> Value {
        match self {
            Operation::Query => json!({ "readOnlyHint": true }),
            Operation::Mutation => json!({
                "readOnlyHint": false,
                "destructiveHint": destroys(field),
                "idempotentHint": false,
            }),
            // It is no function.
            Operation::Subscription => Value::Null,
        }
    }
}

/// Words that begin what cannot be undone.
const DESTROYING: &[&str] = &[
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

/// Whether a field's name says that it destroys something.
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
    words.any(|word| DESTROYING.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_destroys_says_so_in_its_name() {
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
