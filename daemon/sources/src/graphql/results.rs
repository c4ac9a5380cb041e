//! What a selection gives, as JSON Schema.
//!
//! Invariant: nothing is promised that the schema does not: what may be null says so, and what was not selected is
//! not there.

use serde_json::{Map, Value, json};

use super::{
    arguments::{SELECT, enumeration, or_null},
    functions::Room,
    model::{Field, Schema, Shape, TypeRef},
    scalars::{self, Way},
    selection::{Selection, What},
    words::brief,
};

/// An enumeration with more values is text.
const MOST_VALUES: usize = 60;
/// Beside `anyOf`: the argument without which the first alternative holds. Types are made of it.
const UNLESS: &str = mux_typegen::UNLESS;

/// Of a field's own value. Enumerations stand in `$defs`. Where a selection may be given another thing may come back:
/// then only the first alternative says what does without one.
pub(super) fn schema(
    schema: &Schema,
    field: &Field,
    selection: Option<&Selection<'_>>,
    room: &Room,
) -> Value {
    let mut results = Results {
        schema,
        room,
        definitions: Map::new(),
    };
    let whole = results.wrapped(&field.ty, &mut |results| match selection {
        Some(selection) => results.object(selection, 0),
        None => results.leaf(field.ty.name()),
    });
    let mut whole = match selection {
        Some(_) => json!({ "anyOf": [whole, {}], UNLESS: SELECT }),
        None => whole,
    };
    if !results.definitions.is_empty() {
        whole["$defs"] = results.definitions.into();
    }
    whole
}

struct Results<'a> {
    schema: &'a Schema,
    room: &'a Room,
    definitions: Map<String, Value>,
}

impl<'a> Results<'a> {
    /// Lists and null around what `inner` gives.
    fn wrapped(&mut self, ty: &TypeRef, inner: &mut impl FnMut(&mut Self) -> Value) -> Value {
        match ty {
            ty if ty.is_deep() => json!({}),
            TypeRef::Required(ty) => self.present(ty, inner),
            ty => {
                let present = self.present(ty, inner);
                or_null(present)
            }
        }
    }

    fn present(&mut self, ty: &TypeRef, inner: &mut impl FnMut(&mut Self) -> Value) -> Value {
        match ty {
            TypeRef::Required(ty) => self.present(ty, inner),
            TypeRef::List(item) => json!({ "type": "array", "items": self.wrapped(item, inner) }),
            TypeRef::Named(_) => inner(self),
        }
    }

    fn leaf(&mut self, name: &str) -> Value {
        match self.schema.shape(name) {
            Some(Shape::Enum(values)) if values.len() <= MOST_VALUES && !values.is_empty() => {
                if !self.definitions.contains_key(name) {
                    self.definitions
                        .insert(name.to_owned(), enumeration(values));
                }
                json!({ "$ref": format!("#/$defs/{name}") })
            }
            Some(Shape::Enum(_)) => json!({ "type": "string", "title": name }),
            _ => scalars::schema(name, Way::Out),
        }
    }

    /// What is selected of an object, an interface or a union.
    fn object(&mut self, selection: &Selection<'_>, node: usize) -> Value {
        let ty = selection.ty(node).unwrap_or_default();
        let Some(Shape::Union(members)) = self.schema.shape(ty) else {
            return self.members(selection, node, json!({ "type": "string" }));
        };
        let mut alternatives = Vec::new();
        let mut others: Vec<&str> = members.iter().map(String::as_str).collect();
        for &child in selection.children(node) {
            if let What::On(member) = selection.what(child) {
                others.retain(|other| other != member);
                let name = json!({ "const": member });
                alternatives.push(self.members(selection, child, name));
            }
        }
        if alternatives.is_empty() || !others.is_empty() {
            let name = match others.len() <= MOST_VALUES && !others.is_empty() {
                true => json!({ "type": "string", "enum": others }),
                false => json!({ "type": "string" }),
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

    fn members(&mut self, selection: &Selection<'_>, node: usize, type_name: Value) -> Value {
        let mut properties = Map::new();
        if matches!(selection.what(node), What::On(_)) {
            properties.insert("__typename".into(), type_name.clone());
        }
        for &child in selection.children(node) {
            match selection.what(child) {
                What::Field(field, alias) => {
                    let name = alias.as_ref().unwrap_or(&field.name);
                    let value = self.field(field, selection, child);
                    properties.insert(name.clone(), value);
                }
                What::TypeName => {
                    properties.insert("__typename".into(), type_name.clone());
                }
                What::Whole | What::On(_) => {}
            }
        }
        let required: Vec<&String> = properties.keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    }

    fn field(&mut self, field: &Field, selection: &Selection<'_>, node: usize) -> Value {
        let mut value = self.wrapped(&field.ty, &mut |results| match selection.ty(node) {
            Some(_) => results.object(selection, node),
            None => results.leaf(field.ty.name()),
        });
        if let Some(said) = brief(field.description.as_deref(), self.room.result_words) {
            value["description"] = said.into();
        }
        value
    }
}
