//! Converts values between JSON and GraphQL literals, and checks the members of input objects.
//!
//! Invariant: the output is a single value, whatever its strings contain.

use apollo_compiler::{ast, parser::Parser};
use serde_json::{Map, Number, Value};

use super::schema_model::{GraphqlSchema, SchemaArgument, TypeRef, TypeShape, is_name};
use mux_text::did_you_mean::nearest_few;

/// The nesting of values and selections in a text.
pub(super) const MAX_LITERAL_NESTING: usize = 64;
/// The number of names that an error lists.
const MAX_SUGGESTED_NAMES: usize = 12;

/// A default value as JSON. Default values have no variables.
pub(super) fn json(value: &ast::Value) -> Value {
    match value {
        ast::Value::Null | ast::Value::Variable(_) => Value::Null,
        ast::Value::Enum(name) => name.as_str().into(),
        ast::Value::String(text) => text.as_str().into(),
        ast::Value::Boolean(value) => (*value).into(),
        ast::Value::Int(number) => number_of(number.as_str()),
        ast::Value::Float(number) => number_of(number.as_str()),
        ast::Value::List(items) => items.iter().map(|item| json(item)).collect(),
        ast::Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), json(value)))
            .collect(),
    }
}

/// The variables in a value, once for each use.
pub(super) fn variables_in(value: &ast::Value) -> Vec<&str> {
    match value {
        ast::Value::Variable(name) => vec![name.as_str()],
        ast::Value::List(items) => items.iter().flat_map(|item| variables_in(item)).collect(),
        ast::Value::Object(members) => {
            let values = members.iter().map(|(_, value)| value);
            values.flat_map(|value| variables_in(value)).collect()
        }
        _ => Vec::new(),
    }
}

fn number_of(text: &str) -> Value {
    let number = serde_json::from_str::<Number>(text);
    number.map_or(Value::Null, Value::Number)
}

/// A default value in an introspection result, where it is a string.
pub(super) fn of_text(text: &str) -> Option<Value> {
    let query = format!("{{ field(argument: {text}) }}");
    let parsed = Parser::new()
        .recursion_limit(MAX_LITERAL_NESTING)
        .parse_ast(query, "default")
        .ok()?;
    let [ast::Definition::OperationDefinition(operation)] = parsed.definitions.as_slice() else {
        return None;
    };
    let [ast::Selection::Field(field)] = operation.selection_set.as_slice() else {
        return None;
    };
    field
        .arguments
        .first()
        .map(|argument| json(&argument.value))
}

/// Writes JSON as a value of this type, with enum values unquoted. `None` if the value cannot be written.
pub(super) fn spelled(schema: &GraphqlSchema, ty: &TypeRef, value: &Value) -> Option<String> {
    let ty = match ty {
        TypeRef::Required(inner) => inner,
        ty => ty,
    };
    match (ty, value) {
        (TypeRef::List(item), Value::Array(items)) => {
            let items = items.iter().map(|value| spelled(schema, item, value));
            Some(format!(
                "[{}]",
                items.collect::<Option<Vec<_>>>()?.join(", ")
            ))
        }
        (TypeRef::List(item), value) => spelled(schema, item, value),
        (TypeRef::Named(name), value) => match (schema.shape(name), value) {
            (Some(TypeShape::Enum(_)), Value::String(value)) => {
                is_name(value).then(|| value.clone())
            }
            (Some(TypeShape::Input { fields, .. }), Value::Object(members)) => {
                object(members, |name, value| {
                    let field = fields.iter().find(|field| field.name == name)?;
                    spelled(schema, &field.ty, value)
                })
            }
            _ => untyped(value),
        },
        (TypeRef::Required(_), _) => None,
    }
}

/// The reason a value does not fit its type: null, or a missing or unknown member of an input object. `path` names the
/// value in the reason. The API checks scalars.
pub(super) fn misfit(
    schema: &GraphqlSchema,
    path: &str,
    ty: &TypeRef,
    value: &Value,
) -> Option<String> {
    let name = match (ty, value) {
        (TypeRef::Required(_), Value::Null) => {
            return Some(format!("`{path}` of type {ty} must not be null"));
        }
        (TypeRef::Required(inner), _) => return misfit(schema, path, inner, value),
        (_, Value::Null) => return None,
        (TypeRef::List(item), Value::Array(items)) => {
            let mut items = items.iter();
            return items.find_map(|value| misfit(schema, path, item, value));
        }
        (TypeRef::List(item), _) => return misfit(schema, path, item, value),
        (TypeRef::Named(name), _) => name,
    };
    let Some(TypeShape::Input { fields, one_of }) = schema.shape(name) else {
        return None;
    };
    let Value::Object(members) = value else {
        return Some(format!("`{path}` must be an object of {name}"));
    };
    let is_known = |member: &str| fields.iter().any(|field| field.name == member);
    if let Some(unknown) = members.keys().find(|member| !is_known(member)) {
        let known = fields.iter().map(|field| field.name.as_str());
        return Some(format!(
            "{name} has no member `{unknown}`{}",
            instead(unknown, known)
        ));
    }
    if *one_of && (members.len() != 1 || members.values().any(Value::is_null)) {
        return Some(format!("`{path}` takes exactly one member of {name}"));
    }
    fields.iter().find_map(|field| {
        let SchemaArgument {
            name: wanted, ty, ..
        } = field;
        match members.get(wanted) {
            Some(value) => misfit(schema, &format!("{path}.{wanted}"), ty, value),
            None => field
                .is_required()
                .then(|| format!("`{path}` needs the member `{wanted}` of type {ty}")),
        }
    })
}

/// Suggests the most similar names, or else the first few.
pub(super) fn instead<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let quoted = |names: Vec<&str>| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let near = nearest_few(name, known.clone(), 3);
    if !near.is_empty() {
        return format!("; did you mean {}?", quoted(near));
    }
    let all = known.clone().count();
    match (all, all.saturating_sub(MAX_SUGGESTED_NAMES)) {
        (0, _) => String::new(),
        (_, 0) => format!("; it has {}", quoted(known.collect())),
        (_, more) => format!(
            "; it has {} and {more} more",
            quoted(known.take(MAX_SUGGESTED_NAMES).collect())
        ),
    }
}

/// Writes a value of an unknown type.
fn untyped(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(untyped).collect::<Option<Vec<_>>>()?;
            Some(format!("[{}]", items.join(", ")))
        }
        Value::Object(members) => object(members, |_, value| untyped(value)),
        // JSON's escapes are valid in GraphQL.
        plain => Some(plain.to_string()),
    }
}

fn object(
    members: &Map<String, Value>,
    spell: impl Fn(&str, &Value) -> Option<String>,
) -> Option<String> {
    let members = members.iter().map(|(name, value)| {
        let spelled = is_name(name).then(|| spell(name, value))??;
        Some(format!("{name}: {spelled}"))
    });
    Some(format!(
        "{{{}}}",
        members.collect::<Option<Vec<_>>>()?.join(", ")
    ))
}
