//! Results whose type depends on an argument, such as a field selection. The schema describes calls without that
//! argument.
//!
//! JSON Schema cannot express this. Such a schema has `anyOf` and [`UNLESS_KEYWORD`], which names the argument: the first
//! alternative is the result of a call without it, and any alternative that of a call with it.
//!
//! Invariant: the checker never reports a missing member in the result of a call with the argument.

use std::borrow::Cow;

use serde_json::Value;

use super::ir::Type;
use super::references::SchemaDefinition;

/// The schema keyword that names the argument.
pub const UNLESS_KEYWORD: &str = "x-mux-unless";
/// The type parameter of a call with such an argument.
pub(super) const SELECTION_PARAMETER: &str = "<S extends Selection = never>";

/// The type of the result if the argument is required.
pub(super) const UNKNOWN_RESULT: &str = "unknown";

/// The schema of the result of a call without the argument.
pub(super) struct UnselectedSchema<'a> {
    pub(super) schema: Cow<'a, Value>,
    /// The argument, if there is one.
    pub(super) unless: Option<&'a str>,
}

pub(super) fn unselected_schema(schema: &Value) -> UnselectedSchema<'_> {
    let first = || schema.get("anyOf")?.get(0);
    let unless = schema.get(UNLESS_KEYWORD).and_then(Value::as_str);
    let Some((argument, Value::Object(first))) = unless.zip(first()) else {
        return UnselectedSchema {
            schema: Cow::Borrowed(schema),
            unless: None,
        };
    };
    let mut first = first.clone();
    // References are to the whole document.
    for keyword in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(keyword) {
            first.insert(keyword.to_owned(), definitions.clone());
        }
    }
    UnselectedSchema {
        schema: Cow::Owned(first.into()),
        unless: Some(argument),
    }
}

/// Sets the type of this argument to the type parameter `S`. Returns whether there is such an optional argument.
pub(super) fn make_argument_generic(definitions: &mut [SchemaDefinition], argument: &str) -> bool {
    replace_argument_type(definitions, argument, "S")
}

/// Sets the type of this argument to `Selection`, for signatures. Returns whether there is such an optional argument.
pub(super) fn name_argument_type(definitions: &mut [SchemaDefinition], argument: &str) -> bool {
    replace_argument_type(definitions, argument, "Selection")
}

fn replace_argument_type(
    definitions: &mut [SchemaDefinition],
    argument: &str,
    ty: &'static str,
) -> bool {
    let Some(Type::Object(arguments)) = definitions.first_mut().map(|root| &mut root.body) else {
        return false;
    };
    let mut members = arguments.members.iter_mut();
    let member = members.find(|member| member.name == argument && member.optional);
    member.map(|member| member.ty = Type::Global(ty)).is_some()
}

/// The type of a result that depends on the argument.
pub(super) fn selected_result_type(usual: &str) -> String {
    let blank = if usual.starts_with('\n') { "" } else { " " };
    format!("Selected<S,{blank}{usual}>")
}
