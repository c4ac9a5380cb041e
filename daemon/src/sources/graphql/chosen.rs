//! A selection that the caller writes: as GraphQL, `{ id author { name } }`, or the same as an object.
//!
//! Both are held against the schema, so that a slip is told with the names that there are.
//! Invariant: what goes into a query is one selection of one field, spelled here from what was understood; the
//! caller's own text never does.

use apollo_compiler::{ast, parser::Parser};
use serde_json::{Map, Value};

use super::{
    arguments::SELECT,
    functions::Room,
    literal::{self, NESTING},
    model::{Field, Schema, is_name},
    selection::Selection,
};
use crate::nearest::nearest_few;

/// The longest text, in bytes.
const LONGEST: usize = 64 << 10;
/// In an object: the arguments of a field.
const ARGUMENTS: &str = "$args";
const FRAGMENT: &str = "... on ";
const TYPE_NAME: &str = "__typename";
/// How many names are told.
const TOLD: usize = 12;
/// Leaves of a selection that shows how one is written.
const EXAMPLE: usize = 5;

/// The selection of a field of this type as a query spells it.
pub(super) fn spelled(
    schema: &Schema,
    ty: &str,
    choice: &Value,
    room: &Room,
) -> Result<String, String> {
    let written = match choice {
        Value::Object(members) => Chosen { schema, room }.object(ty, members, 0),
        Value::String(text) => match serde_json::from_str(text) {
            // As it is typed into a shell.
            Ok(Value::Object(members)) => Chosen { schema, room }.object(ty, &members, 0),
            _ => Chosen { schema, room }.text(ty, text),
        },
        _ => Err("it must be a text or an object".to_owned()),
    };
    written.map_err(|why| format!("`{SELECT}`: {why}"))
}

struct Chosen<'a> {
    schema: &'a Schema,
    room: &'a Room,
}

impl Chosen<'_> {
    fn text(&self, ty: &str, text: &str) -> Result<String, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let text = text.trim();
        let braced = match text.starts_with('{') {
            true => text.to_owned(),
            false => format!("{{ {text} }}"),
        };
        let parser = Parser::new().recursion_limit(NESTING);
        let parsed = { parser }.parse_ast(braced, SELECT).map_err(|found| {
            let first = found.errors.iter().next();
            let place = first.as_ref().and_then(|first| first.line_column_range());
            let why = first.map_or_else(String::new, |first| first.error.to_string());
            match place {
                Some(range) => format!("{}:{}: {why}", range.start.line, range.start.column),
                None => why,
            }
        })?;
        let [ast::Definition::OperationDefinition(operation)] = parsed.definitions.as_slice()
        else {
            return Err("it is one selection in braces, such as \"{ id name }\"".into());
        };
        self.selections(ty, &operation.selection_set)
    }

    fn selections(&self, ty: &str, selections: &[ast::Selection]) -> Result<String, String> {
        let selections = selections.iter().map(|selection| match selection {
            ast::Selection::Field(field) => self.field(ty, field),
            ast::Selection::InlineFragment(fragment) => {
                let on = fragment.type_condition.as_ref().map(|name| name.as_str());
                self.has_no_variables(&fragment.directives)?;
                let inner = self.selections(self.condition(ty, on)?, &fragment.selection_set)?;
                let on = on.map(|name| format!(" on {name}")).unwrap_or_default();
                Ok(format!("...{on}{} {inner}", fragment.directives))
            }
            ast::Selection::FragmentSpread(spread) => Err(format!(
                "a fragment cannot be named here: write the fields of ...{} where they are wanted",
                spread.fragment_name
            )),
        });
        let selections = selections.collect::<Result<Vec<_>, _>>()?;
        match selections.is_empty() {
            true => Err(self.empty(ty)),
            false => Ok(format!("{{ {} }}", selections.join(" "))),
        }
    }

    fn field(&self, ty: &str, field: &ast::Field) -> Result<String, String> {
        let name = field.name.as_str();
        let alias = field.alias.as_ref();
        let alias = alias.map(|alias| format!("{alias}: ")).unwrap_or_default();
        if name == TYPE_NAME {
            return Ok(format!("{alias}{name}"));
        }
        let known = self.known(ty, name)?;
        let arguments = field.arguments.iter().map(|argument| {
            self.argument(known, argument.name.as_str())?;
            match has_variable(&argument.value) {
                true => Err(no_variables()),
                false => Ok(format!(
                    "{}: {}",
                    argument.name,
                    argument.value.serialize().no_indent()
                )),
            }
        });
        let arguments = in_parentheses(arguments.collect::<Result<_, _>>()?);
        self.has_no_variables(&field.directives)?;
        let directives = field.directives.serialize().no_indent().to_string();
        let inner = match (self.is_composite(known), field.selection_set.is_empty()) {
            (true, false) => format!(
                " {}",
                self.selections(known.ty.name(), &field.selection_set)?
            ),
            (true, true) => return Err(self.wants_fields(known)),
            (false, true) => String::new(),
            (false, false) => return Err(has_no_fields(known)),
        };
        Ok(format!("{alias}{name}{arguments}{directives}{inner}"))
    }

    fn object(
        &self,
        ty: &str,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Result<String, String> {
        if depth > NESTING {
            return Err(format!("it is nested deeper than {NESTING}"));
        }
        let chosen = members.iter().filter(|(name, value)| {
            name.as_str() != ARGUMENTS && !matches!(value, Value::Bool(false) | Value::Null)
        });
        let selections = chosen.map(|(name, value)| {
            if let Some(on) = name.strip_prefix(FRAGMENT) {
                let Value::Object(inner) = value else {
                    return Err(format!("{name:?} is an object of fields"));
                };
                let inner = self.object(self.condition(ty, Some(on))?, inner, depth + 1)?;
                return Ok(format!("{FRAGMENT}{on} {inner}"));
            }
            if name == TYPE_NAME {
                return Ok(name.clone());
            }
            self.member(self.known(ty, name)?, value, depth)
        });
        let selections = selections.collect::<Result<Vec<_>, _>>()?;
        match selections.is_empty() {
            true => Err(self.empty(ty)),
            false => Ok(format!("{{ {} }}", selections.join(" "))),
        }
    }

    /// `true` of an object stands for its leaves.
    fn member(&self, field: &Field, value: &Value, depth: usize) -> Result<String, String> {
        let (name, ty) = (&field.name, field.ty.name());
        let members = match value {
            Value::Bool(_) if self.is_composite(field) => {
                let leaves = Selection::of(self.schema, ty, 1, self.room);
                return Ok(format!("{name} {}", leaves.text()));
            }
            Value::Bool(_) => return Ok(name.clone()),
            Value::Object(members) => members,
            _ => {
                return Err(format!(
                    "`{name}` is `true`, or an object of what is wanted of it"
                ));
            }
        };
        let arguments = match members.get(ARGUMENTS) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(arguments)) => {
                let arguments = arguments.iter().map(|(name, value)| {
                    let known = self.argument(field, name)?;
                    literal::spelled(self.schema, &known.ty, value)
                        .map(|value| format!("{name}: {value}"))
                        .ok_or_else(|| format!("`{name}` of `{}` cannot be written so", field.name))
                });
                arguments.collect::<Result<_, _>>()?
            }
            Some(_) => return Err(format!("`{ARGUMENTS}` of `{name}` is an object")),
        };
        let wants_more = members.keys().any(|name| name != ARGUMENTS);
        let inner = match (self.is_composite(field), wants_more) {
            (true, true) => format!(" {}", self.object(ty, members, depth + 1)?),
            (true, false) => format!(" {}", Selection::of(self.schema, ty, 1, self.room).text()),
            (false, false) => String::new(),
            (false, true) => return Err(has_no_fields(field)),
        };
        Ok(format!("{name}{}{inner}", in_parentheses(arguments)))
    }

    fn known(&self, ty: &str, name: &str) -> Result<&Field, String> {
        self.schema.field(ty, name).ok_or_else(|| {
            let known = self.schema.fields(ty).unwrap_or_default();
            let known = known.iter().map(|field| field.name.as_str());
            format!("{ty} has no field `{name}`{}", instead(name, known))
        })
    }

    fn argument<'b>(
        &self,
        field: &'b Field,
        name: &str,
    ) -> Result<&'b super::model::Argument, String> {
        let mut arguments = field.arguments.iter();
        let found = arguments.find(|argument| argument.name == name);
        found.ok_or_else(|| {
            let known = field
                .arguments
                .iter()
                .map(|argument| argument.name.as_str());
            format!(
                "`{}` takes no argument `{name}`{}",
                field.name,
                instead(name, known)
            )
        })
    }

    /// The type of a fragment's fields.
    fn condition<'b>(&self, ty: &'b str, on: Option<&'b str>) -> Result<&'b str, String> {
        match on {
            None => Ok(ty),
            Some(on) if is_name(on) && self.schema.is_composite(on) => Ok(on),
            Some(on) => {
                let types = self.schema.types.keys().map(String::as_str);
                Err(format!("there is no type {on:?}{}", instead(on, types)))
            }
        }
    }

    fn is_composite(&self, field: &Field) -> bool {
        self.schema.is_composite(field.ty.name())
    }

    fn wants_fields(&self, field: &Field) -> String {
        let (name, ty) = (&field.name, field.ty.name());
        let leaves = self.example(ty);
        format!("`{name}` is a {ty}: say what of it, such as {name} {leaves}")
    }

    fn empty(&self, ty: &str) -> String {
        let leaves = self.example(ty);
        format!("nothing of {ty} is chosen; such as {leaves}")
    }

    fn example(&self, ty: &str) -> String {
        let room = Room {
            leaves: EXAMPLE,
            ..*self.room
        };
        Selection::of(self.schema, ty, 1, &room).text()
    }

    fn has_no_variables(&self, directives: &ast::DirectiveList) -> Result<(), String> {
        let mut arguments = directives.iter().flat_map(|one| &one.arguments);
        match arguments.any(|argument| has_variable(&argument.value)) {
            true => Err(no_variables()),
            false => Ok(()),
        }
    }
}

fn has_variable(value: &ast::Value) -> bool {
    match value {
        ast::Value::Variable(_) => true,
        ast::Value::List(items) => items.iter().any(|item| has_variable(item)),
        ast::Value::Object(members) => members.iter().any(|(_, value)| has_variable(value)),
        _ => false,
    }
}

fn no_variables() -> String {
    "variables cannot stand here: write the values, or use `graphql`".into()
}

fn has_no_fields(field: &Field) -> String {
    format!(
        "`{}` is a {}, which has no fields",
        field.name,
        field.ty.name()
    )
}

fn in_parentheses(arguments: Vec<String>) -> String {
    match arguments.is_empty() {
        true => String::new(),
        false => format!("({})", arguments.join(", ")),
    }
}

/// The nearest names, or else the first few.
fn instead<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let quoted = |names: Vec<&str>| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let near = nearest_few(name, known.clone(), 3);
    if !near.is_empty() {
        return format!("; did you mean {}?", quoted(near));
    }
    let all = known.clone().count();
    match (all, all.saturating_sub(TOLD)) {
        (0, _) => String::new(),
        (_, 0) => format!("; it has {}", quoted(known.collect())),
        (_, more) => format!(
            "; it has {} and {more} more",
            quoted(known.take(TOLD).collect())
        ),
    }
}
