//! The arguments of a field as JSON Schema.
//!
//! Invariant: a schema does not take much more than its budget, however large the closure of its input types. The types
//! furthest from the field are described by name only.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::{
    description_text::{brief, with_warning},
    scalar_types::{self, ValueDirection},
    schema_model::{GraphqlSchema, SchemaArgument, SchemaField, TypeRef, TypeShape, is_built_in},
    tool_list::ToolBudget,
};

/// The argument that selects the fields of the result.
pub(super) const SELECT_ARGUMENT: &str = "$select";
/// An enum with more values is described by name only.
const MAX_ARGUMENT_ENUM_VALUES: usize = 500;

/// The input schema of a function. With `selects` it has the argument [`SELECT_ARGUMENT`].
pub(super) fn schema(
    schema: &GraphqlSchema,
    field: &SchemaField,
    selects: bool,
    room: &ToolBudget,
) -> Value {
    let mut closure = ArgumentSchemaBuilder {
        schema,
        room,
        asked: HashSet::new(),
        open: VecDeque::new(),
    };
    let (mut properties, required) = closure.members(&field.arguments);
    if selects {
        properties.insert(SELECT_ARGUMENT.into(), json!({
            "type": ["string", "object"],
            "description": "What comes back: fields as GraphQL, \"{ id author { name } }\", or the same as an \
                            object, { id: true, author: { name: true } }.",
        }));
    }
    let mut whole = object(&properties, required);
    let definitions = closure.definitions();
    if !definitions.is_empty() {
        whole["$defs"] = definitions.into();
    }
    whole
}

/// Collects the types that arguments refer to, the nearest first.
struct ArgumentSchemaBuilder<'a> {
    schema: &'a GraphqlSchema,
    room: &'a ToolBudget,
    asked: HashSet<&'a str>,
    open: VecDeque<&'a str>,
}

impl<'a> ArgumentSchemaBuilder<'a> {
    fn members(&mut self, arguments: &'a [SchemaArgument]) -> (Map<String, Value>, Vec<Value>) {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for argument in arguments {
            properties.insert(argument.name.clone(), self.member(argument));
            if argument.is_required() {
                required.push(argument.name.clone().into());
            }
        }
        (properties, required)
    }

    fn member(&mut self, argument: &'a SchemaArgument) -> Value {
        let mut schema = of_type(&argument.ty, &mut |name| self.named(name));
        let Some(members) = schema.as_object_mut() else {
            return schema;
        };
        let deprecated = argument.deprecated.as_deref();
        let said = argument.description.as_deref();
        if let Some(said) = with_warning(said, deprecated, self.room.words) {
            members.insert("description".into(), said.into());
        }
        if deprecated.is_some() {
            members.insert("deprecated".into(), true.into());
        }
        if let Some(default) = &argument.default
            && default.to_string().len() <= self.room.words
        {
            members.insert("default".into(), default.clone());
        }
        schema
    }

    fn named(&mut self, name: &'a str) -> Value {
        if !is_defined(self.schema, name) {
            return scalar_types::schema(name, ValueDirection::In);
        }
        if self.asked.insert(name) {
            self.open.push_back(name);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn definitions(mut self) -> Map<String, Value> {
        let mut definitions = Map::new();
        let mut left = self.room.arguments;
        while let Some(name) = self.open.pop_front() {
            let waiting = self.open.len();
            let definition = self.definition(name);
            let length = definition.to_string().len();
            let definition = if length <= left {
                left -= length;
                definition
            } else {
                // Types that only this type needs are not described.
                for forgotten in self.open.drain(waiting..) {
                    self.asked.remove(forgotten);
                }
                unlisted(self.schema, name)
            };
            definitions.insert(name.to_owned(), definition);
        }
        definitions
    }

    fn definition(&mut self, name: &'a str) -> Value {
        let Some(ty) = self.schema.types.get(name) else {
            return json!({});
        };
        let mut definition = match &ty.shape {
            TypeShape::Enum(values) if values.len() <= MAX_ARGUMENT_ENUM_VALUES => {
                enumeration(values)
            }
            TypeShape::Input { fields, one_of } => {
                let (properties, required) = self.members(fields);
                let mut object = object(&properties, required);
                if *one_of {
                    object["minProperties"] = 1.into();
                    object["maxProperties"] = 1.into();
                }
                object
            }
            _ => unlisted(self.schema, name),
        };
        if let Some(said) = brief(ty.description.as_deref(), self.room.words) {
            definition["description"] = said.into();
        }
        definition
    }
}

fn is_defined(schema: &GraphqlSchema, name: &str) -> bool {
    !is_built_in(name)
        && matches!(
            schema.shape(name),
            Some(TypeShape::Enum(_) | TypeShape::Input { .. })
        )
}

pub(super) fn enumeration(values: &[super::schema_model::EnumValue]) -> Value {
    let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
    json!({ "type": "string", "enum": names })
}

/// A placeholder for a type that does not fit: its kind and its name.
fn unlisted(schema: &GraphqlSchema, name: &str) -> Value {
    let kind = match schema.shape(name) {
        Some(TypeShape::Enum(_)) => "string",
        _ => "object",
    };
    json!({ "type": kind, "description": format!("`{name}` of the schema; it is too large to be shown here") })
}

/// An object without other members.
fn object(properties: &Map<String, Value>, required: Vec<Value>) -> Value {
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = required.into();
    }
    object
}

/// The schema of a type: lists and null around the schema that `named` returns for the innermost type.
pub(super) fn of_type<'a>(ty: &'a TypeRef, named: &mut impl FnMut(&'a str) -> Value) -> Value {
    match ty {
        ty if ty.is_deep() => json!({}),
        TypeRef::Required(ty) => present(ty, named),
        ty => or_null(present(ty, named)),
    }
}

/// The schema of a type, without null.
fn present<'a>(ty: &'a TypeRef, named: &mut impl FnMut(&'a str) -> Value) -> Value {
    match ty {
        TypeRef::Required(ty) => present(ty, named),
        TypeRef::List(item) => json!({ "type": "array", "items": of_type(item, named) }),
        TypeRef::Named(name) => named(name),
    }
}

/// Adds null to a schema.
fn or_null(mut schema: Value) -> Value {
    let null = || Value::from("null");
    let nullable = match schema.get("type") {
        Some(Value::String(only)) if schema.get("enum").is_none() => Some(json!([only, "null"])),
        Some(Value::Array(several)) => {
            let mut several = several.clone();
            several.push(null());
            Some(several.into())
        }
        _ => None,
    };
    if let Some(nullable) = nullable {
        schema["type"] = nullable;
        return schema;
    }
    // A schema without constraints already allows null.
    let says_nothing = |schema: &Map<String, Value>| schema.keys().all(|key| key == "title");
    if schema.as_object().is_some_and(says_nothing) {
        schema
    } else {
        json!({ "anyOf": [schema, { "type": "null" }] })
    }
}
