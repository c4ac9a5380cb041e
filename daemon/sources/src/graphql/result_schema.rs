//! The result of a selection as JSON Schema.
//!
//! Invariant: the result promises no more than the GraphQL schema does. Nullable fields are marked, and unselected
//! fields are missing.

use serde_json::{Map, Value, json};

use super::{
    argument_schema::{SELECT_ARGUMENT, enumeration, of_type},
    default_selection::{DefaultSelection, SelectionItem},
    description_text::brief,
    scalar_types::{self, ValueDirection},
    schema_model::{GraphqlSchema, SchemaField, TypeShape},
    tool_list::ToolBudget,
};

/// An enum with more values is a plain string.
const MAX_RESULT_ENUM_VALUES: usize = 60;
/// The keyword next to `anyOf` that names an argument: without this argument, the first alternative applies.
/// `mux-typegen` reads it.
const UNLESS_KEYWORD: &str = mux_typegen::UNLESS_KEYWORD;

/// The output schema of a function, with enums in `$defs`. If the function takes a selection, the result may be
/// anything, and only the first alternative describes the result without a selection.
pub(super) fn schema(
    schema: &GraphqlSchema,
    field: &SchemaField,
    selection: Option<&DefaultSelection<'_>>,
    room: &ToolBudget,
) -> Value {
    let mut results = ResultSchemaBuilder {
        schema,
        room,
        definitions: Map::new(),
    };
    let whole = of_type(&field.ty, &mut |name| match selection {
        Some(selection) => results.object(selection, 0),
        None => results.leaf(name),
    });
    let mut whole = match selection {
        Some(_) => json!({ "anyOf": [whole, {}], UNLESS_KEYWORD: SELECT_ARGUMENT }),
        None => whole,
    };
    if !results.definitions.is_empty() {
        whole["$defs"] = results.definitions.into();
    }
    whole
}

struct ResultSchemaBuilder<'a> {
    schema: &'a GraphqlSchema,
    room: &'a ToolBudget,
    definitions: Map<String, Value>,
}

impl ResultSchemaBuilder<'_> {
    fn leaf(&mut self, name: &str) -> Value {
        match self.schema.shape(name) {
            Some(TypeShape::Enum(values))
                if values.len() <= MAX_RESULT_ENUM_VALUES && !values.is_empty() =>
            {
                if !self.definitions.contains_key(name) {
                    self.definitions
                        .insert(name.to_owned(), enumeration(values));
                }
                json!({ "$ref": format!("#/$defs/{name}") })
            }
            Some(TypeShape::Enum(_)) => json!({ "type": "string", "title": name }),
            _ => scalar_types::schema(name, ValueDirection::Out),
        }
    }

    /// The selected fields of an object, an interface or a union.
    fn object(&mut self, selection: &DefaultSelection<'_>, node: usize) -> Value {
        let ty = selection.ty(node).unwrap_or_default();
        let Some(TypeShape::Union(members)) = self.schema.shape(ty) else {
            return self.members(selection, node, &json!({ "type": "string" }));
        };
        let mut alternatives = Vec::new();
        let mut others: Vec<&str> = members.iter().map(String::as_str).collect();
        for &child in selection.children(node) {
            if let SelectionItem::On(member) = selection.what(child) {
                others.retain(|other| other != member);
                let name = json!({ "const": member });
                alternatives.push(self.members(selection, child, &name));
            }
        }
        if alternatives.is_empty() || !others.is_empty() {
            let name = if others.len() <= MAX_RESULT_ENUM_VALUES && !others.is_empty() {
                json!({ "type": "string", "enum": others })
            } else {
                json!({ "type": "string" })
            };
            alternatives.push(json!({
                "type": "object",
                "properties": { "__typename": name },
                "required": ["__typename"],
            }));
        }
        match alternatives.len() {
            1 => alternatives.swap_remove(0),
            _ => json!({ "anyOf": alternatives }),
        }
    }

    fn members(
        &mut self,
        selection: &DefaultSelection<'_>,
        node: usize,
        type_name: &Value,
    ) -> Value {
        let mut properties = Map::new();
        if matches!(selection.what(node), SelectionItem::On(_)) {
            properties.insert("__typename".into(), type_name.clone());
        }
        for &child in selection.children(node) {
            match selection.what(child) {
                SelectionItem::Field(field, alias) => {
                    let name = alias.as_ref().unwrap_or(&field.name);
                    let value = self.field(field, selection, child);
                    properties.insert(name.clone(), value);
                }
                SelectionItem::TypeName => {
                    properties.insert("__typename".into(), type_name.clone());
                }
                SelectionItem::Whole | SelectionItem::On(_) => {}
            }
        }
        let required: Vec<&String> = properties.keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    }

    fn field(
        &mut self,
        field: &SchemaField,
        selection: &DefaultSelection<'_>,
        node: usize,
    ) -> Value {
        let mut value = of_type(&field.ty, &mut |name| match selection.ty(node) {
            Some(_) => self.object(selection, node),
            None => self.leaf(name),
        });
        if let Some(said) = brief(field.description.as_deref(), self.room.result_words) {
            value["description"] = said.into();
        }
        value
    }
}
