//! A result that an argument changes: what the schema promises holds for calls without it.
//!
//! JSON Schema cannot say so. Such a schema is `anyOf` with [`UNLESS`] beside it, which names the argument: the first
//! alternative is what comes back without it, and any of them with it.
//! Invariant: a call that gives the argument is never told that its result lacks something.

use std::borrow::Cow;

use serde_json::Value;

use super::ir::Type;
use super::refs::Definition;

/// The keyword.
pub const UNLESS: &str = "x-mux-unless";
/// What is declared before the arguments.
pub(super) const PARAMETER: &str = "<S extends Selection = never>";

/// The result where nobody can leave the argument out.
pub(super) const ANYTHING: &str = "unknown";

/// The schema of a result, as it is without the argument.
pub(super) struct Usual<'a> {
    pub(super) schema: Cow<'a, Value>,
    /// The argument, if there is one.
    pub(super) unless: Option<&'a str>,
}

pub(super) fn usual(schema: &Value) -> Usual<'_> {
    let first = || schema.get("anyOf")?.get(0);
    let unless = schema.get(UNLESS).and_then(Value::as_str);
    let Some((argument, Value::Object(first))) = unless.zip(first()) else {
        return Usual {
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
    Usual {
        schema: Cow::Owned(first.into()),
        unless: Some(argument),
    }
}

/// Lets the type of this argument be whatever is given. Gives whether there is such an argument.
pub(super) fn open(definitions: &mut [Definition], argument: &str) -> bool {
    replace(definitions, argument, "S")
}

/// The same for the eye.
pub(super) fn name(definitions: &mut [Definition], argument: &str) -> bool {
    replace(definitions, argument, "Selection")
}

fn replace(definitions: &mut [Definition], argument: &str, ty: &'static str) -> bool {
    let Some(Type::Object(arguments)) = definitions.first_mut().map(|root| &mut root.body) else {
        return false;
    };
    let mut members = arguments.members.iter_mut();
    let member = members.find(|member| member.name == argument && member.optional);
    member.map(|member| member.ty = Type::Global(ty)).is_some()
}

/// The type of a result that the argument changes.
pub(super) fn result(usual: &str) -> String {
    let blank = if usual.starts_with('\n') { "" } else { " " };
    format!("Selected<S,{blank}{usual}>")
}
